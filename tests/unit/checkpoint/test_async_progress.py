"""Logs with the holes that async progress tracking leaves, SPARK-39591: a start goes on from the next lower entry.

Seen on real Spark, see the recordings `async-*` and `kafka-async-killed`.
"""

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.control.records import Position
from streamops.diagnosis.restart_plan import Safety, SourceRange
from streamops.storage import join
from support.base_checkpoint import ADDRESS, BASE_ID, INPUT, files, stored
from support.plans import plan_of

IN_FLIGHT = files(offsets_1=None, offsets_3=None, commits_1=None, commits_3=None, commits_4=None)
"""Offsets 0, 2 and 4, commits 0 and 2."""


def planned(found, storage=None):
    snapshot = inspect_checkpoint(storage or stored(found), ADDRESS)
    return plan_of(snapshot, tracks_progress_async=True)


def test_the_entry_below_the_newest_is_the_next_lower_one():
    facts = inspect_checkpoint(stored(IN_FLIGHT), ADDRESS).facts

    assert (facts.previous_batch, facts.previous.batch, facts.has_previous_offset) == (2, 2, False)


def test_the_batch_in_flight_runs_again_from_there():
    plan = planned(IN_FLIGHT)

    assert (plan.safety, plan.reruns) == (Safety.SAFE_IF_IDEMPOTENT, (4,))
    assert plan.ranges == (SourceRange(start='{"logOffset":2}', end='{"logOffset":4}'),)


def test_input_that_was_read_and_cleaned_up_before_is_not_missed():
    storage = stored(IN_FLIGHT)
    for batch in (0, 1, 2):
        storage.delete(join(INPUT, f"{batch}.json"))

    assert inspect_checkpoint(storage, ADDRESS).lost_inputs == ()


def test_input_between_the_two_entries_is_missed():
    storage = stored(IN_FLIGHT)
    storage.delete(join(INPUT, "3.json"))

    assert inspect_checkpoint(storage, ADDRESS).lost_inputs == (f"{INPUT}/3.json",)


def test_a_start_fails_where_that_entry_can_not_be_read():
    plan = planned(IN_FLIGHT | {"offsets/2": b""})

    assert (plan.safety, plan.expected_error) == (Safety.FUTILE, "Incomplete log file")
    assert plan.summary.startswith("offsets/2 can't be read")


def test_an_entry_that_was_lost_besides_sends_the_start_further_down():
    """Tried on 4.2.0: offsets 0, 2 and 4, commits 0, 2, 3 and 4."""
    found = files(offsets_1=None, offsets_3=None, commits_1=None)

    assert inspect_checkpoint(stored(found), ADDRESS).facts.previous_batch == 2
    assert planned(found | {"offsets/2": b""}).safety is Safety.FUTILE


def test_a_hole_below_the_newest_entry_alone_is_no_sign_of_async_tracking():
    """Nothing but the newest file of input is asked for then: where its batch began is lost."""
    storage = stored(files(offsets_3=None, commits_4=None))
    storage.delete(join(INPUT, "0.json"))
    storage.delete(join(INPUT, "4.json"))

    snapshot = inspect_checkpoint(storage, ADDRESS)

    assert (snapshot.facts.previous_batch, snapshot.facts.previous) == (3, None)
    assert snapshot.lost_inputs == (f"{INPUT}/4.json",)


@pytest.mark.parametrize("is_on", [True, False], ids=["async", "not async"])
def test_batches_that_ran_and_are_in_no_log_are_no_lost_entries_with_async_tracking_alone(is_on):
    """The control log knows them from the driver's beats; the trial of J16 was parked for it as restored from an older copy."""
    known = Position(query_id=BASE_ID, offset=7, commit=7)
    snapshot = inspect_checkpoint(stored(files()), ADDRESS)

    plan = plan_of(snapshot, known=known, tracks_progress_async=is_on)

    assert plan.safety is (Safety.SAFE_IF_IDEMPOTENT if is_on else Safety.UNSAFE)
    assert plan_of(snapshot.facts, known=known, tracks_progress_async=is_on).safety is plan.safety
