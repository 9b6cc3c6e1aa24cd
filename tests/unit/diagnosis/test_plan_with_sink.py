"""What a sink that knows batches makes of a start."""

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.diagnosis.restart_plan import Safety
from streamops.places.sink import MissingSink, SinkView, UnreadSink
from streamops.storage import join
from support import plans
from support.base_checkpoint import ADDRESS, INPUT, entry, files, source_entry, stored
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


IN_FLIGHT_ALONE = {
    "the entry below was put back": files(commits_4=None, offsets_3=entry(3, source='{"logOffset":1}')),
    "the entry below is a copy": files(commits_4=None, offsets_3=entry(2)),
    "its input has another id": PENDING | {"sources/0/4": source_entry(4).replace(b'Id":4', b'Id":5')},
}


@pytest.mark.parametrize("because", IN_FLIGHT_ALONE)
def test_what_the_batch_in_flight_would_read_counts_only_where_the_sink_does_not_have_it(because):
    """Tried on 4.2.0: Delta's sink and the file sink run no task of a batch that they have."""
    found = IN_FLIGHT_ALONE[because]

    assert plan_of(found, still(delta_sink(3))).safety in (Safety.UNSAFE, Safety.BLOCKED)
    assert plan_of(found, still(delta_sink(4))).safety is Safety.SAFE
    assert plan_of(found, still(file_sink(*range(5)))).safety is Safety.SAFE
    by_application = delta_sink(4, writers=(), applications=("orders-job",))
    assert plan_of(found, still(by_application)).safety in (Safety.UNSAFE, Safety.BLOCKED)


def kafka_in_flight(*ends):
    """Batch 4 is in flight; the ends of batches 3 and 4."""
    return files(commits_4=None, **{f"offsets_{batch}": entry(batch, source=end) for batch, end in enumerate(ends, 3)})


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(('{"t":{"0":100}}', '{"t":{"0":20}}'), id="lower"),
        pytest.param(('{"t":{"0":100,"1":50}}', '{"t":{"0":110}}'), id="a partition is gone"),
    ],
)
def test_where_the_entry_itself_is_wrong_the_batch_behind_a_dropped_one_repeats(ends):
    found = kafka_in_flight(*ends)

    assert plan_of(found, still(delta_sink(3))).safety is Safety.FUTILE
    assert plan_of(found, still(delta_sink(4))).safety in (Safety.UNSAFE, Safety.BLOCKED)


def test_a_range_that_lacks_a_partition_fails_though_nothing_of_it_was_read():
    """KafkaOffsetReader asks no offset before it tells of lost data; a batch that is dropped is never read."""
    found = kafka_in_flight('{"t":{"0":100,"1":0}}', '{"t":{"0":110}}')

    assert plan_of(found, still(delta_sink(3))).safety is Safety.FUTILE
    assert plan_of(found, still(delta_sink(4))).safety is Safety.SAFE


def test_an_entry_that_is_written_down_for_the_batch_behind_a_dropped_one_counts():
    found = PENDING | {"sources/0/5": source_entry(5).replace(b'Id":5', b'Id":7')}

    assert plan_of(found, still(delta_sink(4))).safety is Safety.UNSAFE


def test_input_of_a_dropped_batch_that_is_gone_counts_unless_the_next_batch_takes_it():
    storage = stored(PENDING)
    storage.delete(join(INPUT, "4.json"))
    snapshot = inspect_checkpoint(storage, ADDRESS)
    assert plans.plan_of(snapshot, sink=still(delta_sink(3))).safety is Safety.UNSAFE
    assert plans.plan_of(snapshot, sink=still(delta_sink(4))).safety is Safety.SAFE

    storage.write(join(ADDRESS, "sources/0/5"), source_entry(5))
    snapshot = inspect_checkpoint(storage, ADDRESS)
    assert plans.plan_of(snapshot, sink=still(delta_sink(4))).safety is Safety.UNSAFE


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
