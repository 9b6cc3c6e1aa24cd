"""What a log means: one row for each record in each situation that matters, then the laws."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamops.control.fold import FAILURES, fold
from streamops.control.records import (
    Acknowledged,
    ActBegun,
    ActEnded,
    Adopted,
    KillBegun,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Position,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
    Submitted,
    TopicSeen,
    UnknownBody,
    VerdictChanged,
)
from streamops.control.state import MAX_FAILURES_KEPT, Desire, LogState, UnsafeStart
from support.clock import START
from support.records import a_claim, a_handle, a_log, a_record, a_state, a_submit, an_end, lawful_logs, logs

UNTIL = datetime(2026, 3, 2, tzinfo=UTC)


def seen(**ids):
    return tuple(TopicSeen(topic=topic, id=known) for topic, known in ids.items())


def a_start(epoch, **ids):
    return replace(a_claim(epoch), topics=seen(**ids))


def an_unsafe_claim(epoch):
    return replace(a_claim(epoch), accepts_unsafe=True, is_unsafe=True, given_up=7)


def open_numbers(state):
    return [epoch.number for epoch in state.open_epochs]


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        pytest.param([], {"is_empty": True, "next_epoch": 1, "desire": Desire.RUNNING}, id="nothing: meant to run"),
        pytest.param([a_claim(1)], {"stream": "orders", "next_epoch": 2}, id="a claim names the stream"),
        pytest.param([a_claim(1, stream="a"), a_claim(2, stream="b")], {"stream": "a"}, id="the first owner stays"),
        pytest.param(
            [Adopted(stream="orders", position=Position(offset=4, commit=4))],
            {"stream": "orders", "position": Position(offset=4, commit=4)},
            id="an adoption knows the position",
        ),
        pytest.param([Parked(), Adopted(stream="o", position=Position())], {"parked": None}, id="an adoption un-parks"),
        pytest.param([StopRequested(epoch=0)], {"desire": Desire.STOPPED}, id="stop"),
        pytest.param([StopRequested(epoch=0), StartRequested()], {"desire": Desire.RUNNING}, id="stop, start"),
        pytest.param([Parked(), StartRequested()], {"desire": Desire.RUNNING}, id="a start does not release"),
        pytest.param([Parked(), Released()], {"parked": None, "accepts_unsafe": False}, id="released"),
        pytest.param([Released(accepts_unsafe=True)], {"accepts_unsafe": True}, id="released with a blank cheque"),
        pytest.param(
            [Released(accepts_unsafe=True), a_claim(1)],
            {"accepts_unsafe": False},
            id="the cheque is good for one start",
        ),
        pytest.param(
            [Released(accepts_unsafe=True), Released()], {"accepts_unsafe": False}, id="a later release takes it back"
        ),
        pytest.param([a_claim(1), an_end(1), Released()], {"failures": ()}, id="a release forgets the failures"),
        pytest.param([an_unsafe_claim(1)], {"unsafe_starts": ()}, id="an unsafe claim that nobody has submitted"),
        pytest.param([a_claim(1), a_submit(1)], {"unsafe_starts": ()}, id="a safe start"),
        pytest.param(
            [an_unsafe_claim(1), a_submit(1), an_end(1), an_unsafe_claim(2), a_submit(2), Acknowledged(epoch=1)],
            {
                "unsafe_starts": (
                    UnsafeStart(epoch=2, at=START + timedelta(seconds=4), foretold="reason 3", given_up=7),
                )
            },
            id="an unsafe start that nobody has acknowledged",
        ),
        pytest.param(
            [MaintenanceBegun(until=UNTIL), MaintenanceEnded()], {"maintenance": None}, id="maintenance is over"
        ),
        pytest.param(
            [UnknownBody(kind="x")], {"unknown_records": 1, "contradictions": 0}, id="unknown kinds are counted"
        ),
        pytest.param(
            [ActBegun(act="a", plan="p")], {"contradictions": 0, "unknown_records": 0}, id="acts are noted only"
        ),
        pytest.param(
            [ActEnded(act="a", plan="p", outcome="o")],
            {"contradictions": 0, "unknown_records": 0},
            id="so are their ends",
        ),
        pytest.param(
            [VerdictChanged(after="critical", rules=("missing-offsets",))],
            {"verdict": "critical", "next_epoch": 1, "is_empty": False, "contradictions": 0, "unknown_records": 0},
            id="a verdict is remembered",
        ),
        pytest.param(
            [VerdictChanged(after="critical"), VerdictChanged(before="critical", after="ok")],
            {"verdict": "ok"},
            id="the newest verdict counts",
        ),
        pytest.param([a_start(1, orders="a")], {"topics": seen(orders="a")}, id="a start remembers its topics"),
        pytest.param(
            [a_start(1, orders="a", returns="r"), a_start(2, orders="b", clicks="c")],
            {"topics": seen(clicks="c", orders="b", returns="r")},
            id="the newest id of each topic counts, and they are in order",
        ),
        pytest.param(
            [a_start(1, orders="a"), a_start(2)],
            {"topics": seen(orders="a")},
            id="a start that could not ask keeps the older ones",
        ),
        pytest.param(
            [a_start(1, orders="a", returns="r"), Released(accepts_unsafe=True), a_start(2, orders="b")],
            {"topics": seen(orders="b")},
            id="what a person accepted is begun anew",
        ),
        pytest.param(
            [a_start(1, orders="a"), Released()], {"topics": seen(orders="a")}, id="a plain release accepts no topic"
        ),
        pytest.param(
            [a_start(1, orders="a"), Adopted(stream="o", position=Position())],
            {"topics": ()},
            id="an adoption forgets the topics",
        ),
        pytest.param(
            [a_start(1, orders="a"), a_start(3, orders="b")],
            {"topics": seen(orders="a"), "contradictions": 1},
            id="a claim that contradicts brings no topic",
        ),
    ],
)
def test_what_records_mean(bodies, expected):
    state = a_state(*bodies)

    assert {name: getattr(state, name) for name in expected} == expected


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param([a_claim(2)], id="a first claim that is not epoch 1"),
        pytest.param([a_claim(1), a_claim(1)], id="the same epoch twice"),
        pytest.param([a_claim(1), a_claim(3)], id="an epoch left out"),
        pytest.param([a_submit(1)], id="a submit without a claim"),
        pytest.param([a_claim(1), a_submit(2)], id="a submit of another epoch"),
        pytest.param([a_claim(1), a_submit(1), a_submit(1)], id="a second submit"),
        pytest.param([a_claim(1), a_claim(2), a_submit(1)], id="a submit of a superseded epoch"),
        pytest.param([a_claim(1), an_end(1), a_submit(1)], id="a submit after the end"),
        pytest.param([an_end(1)], id="an end without a claim"),
        pytest.param([a_claim(1), an_end(1), an_end(1)], id="a second end"),
        pytest.param([a_claim(1), an_end(2)], id="an end of another epoch"),
        pytest.param([a_claim(1), an_end(1), KillBegun(epoch=1)], id="a kill of one that has ended"),
    ],
)
def test_a_record_that_contradicts_the_log_changes_nothing_and_is_counted(bodies):
    before, after = a_state(*bodies[:-1]), a_state(*bodies)

    assert after.contradictions == 1
    assert (after.newest, after.older_open, after.failures) == (before.newest, before.older_open, before.failures)
    assert after.next_number == len(bodies)


def test_a_claim_opens_an_epoch_and_a_newer_one_does_not_close_it():
    assert open_numbers(a_state(a_claim(1), a_claim(2), a_claim(3))) == [1, 2, 3]


def test_an_older_epoch_can_end_while_the_newer_one_is_open():
    state = a_state(a_claim(1), a_submit(1), a_claim(2), an_end(1))

    assert open_numbers(state) == [2]


def test_the_first_submit_wins():
    other = Submitted(epoch=1, handle=a_handle("999:9"))

    assert a_state(a_claim(1), a_submit(1), other).newest.submission == a_submit(1)


def test_an_epoch_knows_the_number_of_its_claim():
    assert a_state(StopRequested(epoch=0), StartRequested(), a_claim(1)).newest.record == 2


def test_a_kill_is_noted_with_who_and_why():
    (newest,) = a_state(a_claim(1), a_submit(1), KillBegun(epoch=1)).open_epochs

    assert (newest.kill.by.actor, newest.kill.reason) == ("supervise", "reason 2")


@pytest.mark.parametrize("outcome", Outcome)
def test_only_ends_that_are_the_streams_own_fault_count_as_failures(outcome):
    """A lost lease, a stop, a claim that was never used and a person's word cost no restart budget."""
    state = a_state(a_claim(1), an_end(1, outcome))

    assert bool(state.failures) == (outcome in FAILURES)
    assert (outcome in FAILURES) == (
        outcome not in {Outcome.STOPPED, Outcome.LEASE_LOST, Outcome.NEVER_STARTED, Outcome.CONFIRMED_DEAD}
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(-1, 0, True, id="its first batch"),
        pytest.param(4, 5, True, id="one batch"),
        pytest.param(4, 4, False, id="none"),
        pytest.param(4, 3, False, id="the checkpoint moved back"),
    ],
)
def test_a_driver_has_progressed_when_commits_moved_between_its_claim_and_its_end(before, after, expected):
    state = a_state(a_claim(1, position=Position(offset=before, commit=before)), an_end(1, commit=after))

    assert state.failures[0].has_progressed is expected


def test_the_position_is_the_one_of_the_newest_record_that_tells():
    state = a_state(a_claim(1, position=Position(offset=1, commit=1)), an_end(1, commit=7), StopRequested(epoch=1))

    assert state.position == Position(offset=7, commit=7)


def test_the_log_remembers_the_newest_failures_only():
    bodies = [body for epoch in range(1, MAX_FAILURES_KEPT + 11) for body in (a_claim(epoch), an_end(epoch))]

    failures = a_state(*bodies).failures

    assert [failure.epoch for failure in failures] == list(range(11, MAX_FAILURES_KEPT + 11))


def test_a_stop_is_noted_with_who_and_why():
    note = a_state(StopRequested(epoch=0)).desired

    assert (note.by.actor, note.reason) == ("supervise", "reason 0")


@pytest.mark.parametrize(
    ("bodies", "is_asked"),
    [
        pytest.param([a_claim(1), RestartRequested(epoch=1)], True, id="of the newest driver"),
        pytest.param([a_claim(1), RestartRequested(epoch=1), a_claim(2)], False, id="the next claim does it"),
        pytest.param([a_claim(1), a_claim(2), RestartRequested(epoch=1)], False, id="a newer one has begun since"),
        pytest.param([a_claim(1), an_end(1), RestartRequested(epoch=1)], True, id="the next driver need not wait"),
        pytest.param([a_claim(1), an_end(1), RestartRequested(epoch=1, is_stuck=True)], False, id="it moves no more"),
        pytest.param([a_claim(1), RestartRequested(epoch=1), an_end(1)], True, id="its end is the first half"),
        pytest.param([RestartRequested(epoch=0)], False, id="nothing was ever claimed"),
    ],
)
def test_a_restart_is_asked_for_until_the_next_claim(bodies, is_asked):
    assert (a_state(*bodies).replacement is not None) is is_asked


def test_a_start_takes_a_forced_stop_back():
    assert a_state(StopRequested(epoch=0, force=True)).is_stop_forced
    assert not a_state(StopRequested(epoch=0, force=True), StartRequested()).is_stop_forced


def test_epochs_that_an_adoption_has_seen_are_not_used_again():
    adopted = Adopted(stream="orders", position=Position(), epochs_seen=7)

    assert a_state(adopted).next_epoch == 8
    assert a_state(adopted, a_claim(8)).newest.number == 8


def test_a_failure_keeps_its_class_and_how_long_the_driver_lived():
    end = replace(an_end(1, Outcome.FAILED), failure_class="data-loss", remedy="never")

    signed = replace(end, last_sign_at=a_record(a_submit(1), 3).at)

    failure = a_state(a_claim(1), a_submit(1), a_submit(1), signed).failures[-1]

    assert (failure.failure_class, failure.remedy, failure.ran) == ("data-loss", "never", timedelta(seconds=2))


@pytest.mark.parametrize(
    ("sign", "ran"),
    [
        pytest.param(None, timedelta(0), id="it never wrote a thing"),
        pytest.param(timedelta(0), timedelta(0), id="its clock is behind"),
        pytest.param(timedelta(days=3), timedelta(seconds=1), id="its clock is ahead: no longer than to the record"),
    ],
)
def test_a_driver_lived_until_its_last_sign_however_late_its_end_was_recorded(sign, ran):
    """A supervisor that was away for a day would otherwise forgive a crash loop."""
    end = replace(an_end(1, Outcome.FAILED), last_sign_at=None if sign is None else START + sign)

    assert a_state(a_claim(1), a_submit(1), end).failures[-1].ran == ran


@pytest.mark.parametrize(
    ("bodies", "count"),
    [
        pytest.param([an_end(1, Outcome.STOPPED)], 1, id="stopped by nobody of ours"),
        pytest.param([an_end(1, Outcome.LEASE_LOST)], 1, id="halted by itself"),
        pytest.param([StopRequested(epoch=1), an_end(1, Outcome.STOPPED)], 0, id="asked to stop"),
        pytest.param([RestartRequested(epoch=1), an_end(1, Outcome.STOPPED)], 0, id="asked to make room"),
        pytest.param([an_end(1, Outcome.STOPPED, commit=4)], 0, id="it had committed a batch"),
        pytest.param([an_end(1, Outcome.DIED)], 0, id="a failure has an account of its own"),
        pytest.param([an_end(1, Outcome.STOPPED), StartRequested()], 0, id="a person starts it"),
        pytest.param([an_end(1, Outcome.STOPPED), Released()], 0, id="released"),
        pytest.param(
            [an_end(1, Outcome.STOPPED), a_claim(2), a_submit(2), an_end(2, Outcome.LEASE_LOST)], 2, id="again"
        ),
        pytest.param(
            [an_end(1, Outcome.STOPPED), a_claim(2), a_submit(2), an_end(2, Outcome.STOPPED, commit=4)],
            0,
            id="until one commits",
        ),
    ],
)
def test_ends_that_nobody_asked_for_are_counted_in_a_row(bodies, count):
    assert len(a_state(a_claim(1), a_submit(1), *bodies).unasked_ends) == count


UNSAFE_CLAIM = replace(a_claim(1), accepts_unsafe=True)


@pytest.mark.parametrize(
    ("bodies", "is_left"),
    [
        pytest.param([an_end(1, Outcome.NEVER_STARTED)], True, id="never submitted"),
        pytest.param([an_end(1, Outcome.LAUNCH_FAILED)], True, id="the submit failed"),
        pytest.param([a_submit(1), an_end(1, Outcome.LAUNCH_FAILED)], False, id="submitted: used up"),
        pytest.param([an_end(1, Outcome.LEASE_LOST)], False, id="a driver of it was there, without a record"),
        pytest.param(
            [replace(a_claim(2), accepts_unsafe=True), an_end(1, Outcome.NEVER_STARTED)], True, id="passed on"
        ),
        pytest.param([an_end(1, Outcome.NEVER_STARTED), Released()], False, id="taken back"),
    ],
)
def test_an_acceptance_is_used_up_by_a_driver_and_not_by_a_claim(bodies, is_left):
    state = a_state(Released(accepts_unsafe=True), UNSAFE_CLAIM, *bodies)

    assert state.carried_acceptance is is_left
    assert not state.accepts_unsafe


def test_the_newest_maintenance_counts():
    later = UNTIL + timedelta(hours=1)

    assert a_state(MaintenanceBegun(until=UNTIL), MaintenanceBegun(until=later)).maintenance.until == later


# Laws


def states_of(records):
    state = LogState()
    for record in records:
        state = fold((record,), state)
        yield state


@settings(max_examples=50)
@given(logs)
def test_no_sequence_of_records_makes_it_fail(records):
    state = fold(records)

    assert state.next_number == len(records)
    assert state.is_empty == (not records)


@settings(max_examples=50)
@given(logs, st.integers(0, 25))
def test_folding_a_part_and_then_the_rest_is_folding_all(records, cut):
    assert fold(records[cut:], fold(records[:cut])) == fold(records)


@settings(max_examples=50)
@given(logs)
def test_epochs_never_decrease(records):
    numbers = [state.next_epoch for state in states_of(records)]

    assert numbers == sorted(numbers)


@settings(max_examples=50)
@given(logs)
def test_open_epochs_were_claimed_and_come_in_order_each_once(records):
    claimed: set[int] = set()
    for state in states_of(records):
        claimed |= {state.newest.number} if state.newest else set()
        assert set(open_numbers(state)) <= claimed
        assert open_numbers(state) == sorted(set(open_numbers(state)))


@settings(max_examples=50)
@given(logs)
def test_a_closed_epoch_never_reopens(records):
    ever_open: set[int] = set()
    closed: set[int] = set()
    for state in states_of(records):
        closed |= ever_open - set(open_numbers(state))
        ever_open |= set(open_numbers(state))
        assert closed.isdisjoint(open_numbers(state))


@settings(max_examples=50)
@given(logs)
def test_a_submission_is_never_replaced(records):
    submissions: dict[int, Submitted] = {}
    for state in states_of(records):
        for epoch in (*state.open_epochs, *([state.newest] if state.newest else [])):
            if epoch.submission:
                assert submissions.setdefault(epoch.number, epoch.submission) == epoch.submission


@given(lawful_logs())
def test_what_supervisors_write_holds_no_contradictions(records):
    assert fold(records).contradictions == 0


@settings(max_examples=50)
@given(logs, st.integers(1, 5))
def test_unknown_records_change_nothing_but_their_count(records, count):
    unknown = tuple(a_record(UnknownBody(kind="x"), len(records) + number) for number in range(count))

    before, after = fold(records), fold(records + unknown)

    assert after.unknown_records == before.unknown_records + count
    assert (after.newest, after.older_open, after.desire, after.parked, after.failures) == (
        before.newest,
        before.older_open,
        before.desire,
        before.parked,
        before.failures,
    )


@settings(max_examples=50)
@given(logs, st.integers(1, 5))
def test_verdicts_change_nothing_but_what_they_say(records, count):
    verdicts = tuple(
        a_record(VerdictChanged(after=f"verdict {number}"), len(records) + number) for number in range(count)
    )

    before, after = fold(records), fold(records + verdicts)

    assert after.verdict == f"verdict {count - 1}"
    assert replace(after, verdict="", next_number=0, last_nonce="") == replace(
        before, verdict="", next_number=0, last_nonce=""
    )


def test_a_long_log_keeps_a_state_of_bounded_size():
    bodies = [
        body for epoch in range(1, MAX_FAILURES_KEPT + 101) for body in (a_claim(epoch), a_submit(epoch), an_end(epoch))
    ]

    state = fold(a_log(*bodies))

    assert state.older_open == ()
    assert len(state.failures) == MAX_FAILURES_KEPT
