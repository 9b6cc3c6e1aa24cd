"""What a sink that knows batches makes of a start."""

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.plan import Safety
from streamops.sink import MissingSink, SinkView, UnreadSink
from support import plans
from support.base_checkpoint import ADDRESS, files, stored
from support.sinks import TABLE, delta_sink, file_sink, still

PENDING = files(commits_4=None)


def plan_of(found, view):
    return plans.plan_of(inspect_checkpoint(stored(found), ADDRESS), sink=view)


@pytest.mark.parametrize(
    ("found", "sink", "safety"),
    [
        pytest.param(files(), delta_sink(4), Safety.SAFE, id="clean"),
        pytest.param(files(), delta_sink(5), Safety.UNSAFE, id="clean, and the next batch would be dropped"),
        pytest.param(files(), file_sink(*range(7)), Safety.UNSAFE, id="the same with files"),
        pytest.param(PENDING, delta_sink(4), Safety.SAFE, id="in flight, and written"),
        pytest.param(PENDING, delta_sink(3), Safety.SAFE, id="in flight, and not written"),
        pytest.param(PENDING, file_sink(*range(5)), Safety.SAFE, id="in flight, and written to files"),
        pytest.param(PENDING, delta_sink(5), Safety.UNSAFE, id="in flight, and the batch behind it would be dropped"),
        pytest.param(
            PENDING,
            delta_sink(4, writers=(), applications=("orders-job",)),
            Safety.SAFE_IF_IDEMPOTENT,
            id="in flight, and a foreachBatch may write elsewhere as well",
        ),
        pytest.param(PENDING, delta_sink(), Safety.SAFE_IF_IDEMPOTENT, id="in flight, and nothing is known"),
        pytest.param(PENDING, file_sink(), Safety.BLOCKED, id="in flight, and committed batches are not in the sink"),
        pytest.param(PENDING, MissingSink(address=TABLE), Safety.SAFE_IF_IDEMPOTENT, id="in flight, and no sink"),
        pytest.param(
            files(), UnreadSink(address=TABLE, reason="Permission denied"), Safety.SAFE, id="clean, and no sink is seen"
        ),
        pytest.param(files(offsets_3=None), delta_sink(9), Safety.FUTILE, id="no batch would run anyway"),
        pytest.param(files(offsets_4=None), delta_sink(4), Safety.UNSAFE, id="unsafe anyway"),
    ],
)
def test_the_safety_of_a_start(found, sink, safety):
    assert plan_of(found, still(sink)).safety is safety


def test_a_batch_that_the_sink_has_is_run_and_counts_for_nothing():
    plan = plan_of(PENDING, still(delta_sink(4)))

    assert (plan.next_batch, plan.reruns) == (4, (4,))
    assert plan.summary.endswith(
        "the sink has it, and drops it then: nothing is repeated, batch 5 is the next to count"
    )


def test_fresh_batches_that_would_be_dropped_are_told():
    assert "the sink has batch 9 of this query already" in plan_of(files(), still(delta_sink(9))).summary


def test_a_query_that_moves_on_is_not_ahead_of_itself():
    assert plan_of(files(), SinkView(before=delta_sink(3), latest=delta_sink(7))).safety is Safety.SAFE
