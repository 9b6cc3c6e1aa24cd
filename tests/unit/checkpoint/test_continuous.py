"""Logs of a continuous query, as Spark 4.2.0 writes them: no headers, and an epoch for each interval.

It goes on from its newest commit. A query by batches fails on them with a NullPointerException (tried on a copy).
"""

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.checkpoint.source_offsets import KafkaOffset, KafkaPosition
from streamops.diagnosis.restart_plan import Safety
from support.base_checkpoint import ADDRESS, files, stored
from support.plans import plan_of


def written(**changed):
    epochs = {f"offsets_{epoch}": b'v1\n\n{"in":{"0":%d,"1":16}}' % (28 + epoch) for epoch in range(5)}
    return inspect_checkpoint(stored(files(**(epochs | changed))), ADDRESS)


def test_its_positions_are_read():
    facts = written().facts

    assert facts.looks_continuous
    assert facts.newest.offsets == (
        KafkaOffset(
            positions=(
                KafkaPosition(topic="in", partition=0, next_offset=32),
                KafkaPosition(topic="in", partition=1, next_offset=16),
            )
        ),
    )


@pytest.mark.parametrize(
    ("is_continuous", "safety"),
    [
        pytest.param(True, Safety.SAFE, id="the trigger is declared"),
        pytest.param(None, Safety.UNKNOWN, id="nobody says with which trigger the next start is made"),
        pytest.param(False, Safety.FUTILE, id="by batches"),
    ],
)
def test_whether_a_start_works_is_up_to_its_trigger(is_continuous, safety):
    assert plan_of(written(), is_continuous=is_continuous).safety is safety


def test_a_start_by_batches_fails_with_the_words_of_spark():
    error = plan_of(written(), is_continuous=False).expected_error

    assert error == "WatermarkTracker.currentWatermark()"


def test_an_epoch_that_was_marked_and_not_committed_runs_again():
    plan = plan_of(written(commits_4=None).facts, is_continuous=True)

    assert (plan.safety, plan.reruns) == (Safety.SAFE_IF_IDEMPOTENT, (4,))


def test_one_blank_header_among_others_is_damage():
    """An edited entry of a query by batches."""
    facts = inspect_checkpoint(stored(files(offsets_4=b'v1\n\n{"in":{"0":5}}')), ADDRESS).facts

    assert not facts.looks_continuous
    assert [broken.file for broken in facts.broken] == ["offsets/4"]
    assert plan_of(facts).safety is Safety.FUTILE


def test_other_damage_of_its_entries_stays_damage():
    plan = plan_of(written(offsets_4=b""), is_continuous=True)

    assert (plan.safety, plan.expected_error) == (Safety.FUTILE, "Incomplete log file")
