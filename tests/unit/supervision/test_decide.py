"""The table of decisions, row by row in its own order. Each row says why.

Figures are the default timings: beat 5 s, halt 30 s, claim 30 s, takeover 75 s, stop 120 s, start 300 s.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.facts import BrokenFile, CheckpointFacts
from streamops.checkpoint.offsets import OffsetEntry
from streamops.control.drivers import DriverTraces
from streamops.control.records import (
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
)
from streamops.diagnosis.restart_plan import Safety
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.policy import RestartPolicy
from streamops.launch import DriverState
from streamops.spec import StreamSpec
from streamops.spec.sinks import SinkGuarantee
from streamops.spec.stream import Timings
from streamops.spec.wire import spec_text
from streamops.supervision.decide import decide
from streamops.supervision.decision import RESTING, Action
from streamops.supervision.observation import Observation, Reachability
from support.checkpoints import OTHER_QUERY_ID, QUERY_ID
from support.clock import START
from support.observations import (
    NOW,
    a_beat,
    a_checkpoint,
    an_exit,
    observed,
    seen,
    unreadable_traces,
)
from support.records import a_claim, a_handle, a_record, a_state, a_submit, an_end, token_of
from support.specs import CHECKPOINT, a_stream

NOBODY: frozenset[str] = frozenset()
RUNNING, BROKEN, ENDED, UNKNOWN = DriverState.RUNNING, DriverState.BROKEN, DriverState.ENDED, DriverState.UNKNOWN
GONE = DriverState.GONE

CLAIMED = a_state(a_claim(1))
SUBMITTED = a_state(a_claim(1), a_submit(1))
SUPERSEDED = a_state(a_claim(1), a_submit(1), a_claim(2))
"""Epoch 1 was submitted and its end is not proven; epoch 2 is claimed."""
BROKEN_CHECKPOINT = CheckpointFacts(
    address=CHECKPOINT,
    query_id=QUERY_ID,
    last_offset=4,
    last_commit=4,
    broken=(BrokenFile(file="offsets/4", reason="offsets/4 is empty"),),
)
LEFT_BEHIND = a_state(a_claim(1), a_claim(2))
"""Epoch 1 was never submitted as far as the log says."""


ELSEWHERE = "it was started on host host-2, this is host-1"

ORDERS = a_stream()


@dataclass(frozen=True, kw_only=True)
class Row:
    because: str
    sees: Observation
    expect: Action
    mine: frozenset[str] = NOBODY
    spec: StreamSpec = ORDERS
    epoch: int | None = None
    outcome: Outcome | None = None


def rows(*table: Row):
    """A table whose rows are named by their reasons."""
    return pytest.mark.parametrize("row", table, ids=[row.because for row in table])


def check(row: Row):
    decision = decide(row.sees, row.spec, mine=row.mine)
    assert decision.action is row.expect, decision.reason
    assert decision.reason
    if row.epoch is not None:
        assert decision.epoch == row.epoch
    if row.outcome is not None:
        assert decision.outcome is row.outcome
    return decision


# Whose log it is


@rows(
    Row(
        because="nothing lives and the log is another stream's: not even a park record is written there",
        sees=observed(a_state(a_claim(1, stream="payments"), an_end(1))),
        expect=Action.BLOCKED,
    ),
    Row(
        because="another stream's driver lives: it is not ours to keep, kill or record",
        sees=observed(
            (state := a_state(a_claim(1, stream="payments"), a_submit(1))), seen(state, status=BROKEN, still=1000)
        ),
        expect=Action.BLOCKED,
    ),
    Row(
        because="another stream's claim was left behind: it is not ours to take over",
        sees=observed((state := a_state(a_claim(1, stream="payments"))), seen(state, watched=1000)),
        expect=Action.BLOCKED,
    ),
    Row(
        because="the registry knows another stream on this checkpoint",
        sees=observed(a_state(), conflicts=("orders: checkpoint belongs to stream payments",)),
        expect=Action.BLOCKED,
    ),
)
def test_a_checkpoint_of_somebody_else_is_left_alone(row):
    assert check(row).needs_attention


@rows(
    Row(
        because="the log is empty, drivers of ours were here: it was deleted",
        sees=observed(a_state(), epochs_ahead=3),
        expect=Action.BLOCKED,
    ),
    Row(
        because="an older copy was put back: the end of its newest epoch is proven, and yet nothing is written",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=ENDED), epochs_ahead=4),
        expect=Action.BLOCKED,
    ),
    Row(
        because="an older copy was put back while a person was stopping the stream",
        sees=observed(a_state(StopRequested(epoch=0)), epochs_ahead=1),
        expect=Action.BLOCKED,
    ),
    Row(
        because="the epochs that were seen are adopted: the next claim goes above them",
        sees=observed(a_state(Adopted(stream="orders", position=Position(), epochs_seen=7))),
        expect=Action.CLAIM,
        epoch=8,
    ),
)
def test_nothing_is_written_to_a_log_that_is_not_whole(row):
    check(row)


# A driver that was superseded


@rows(
    Row(
        because="its end is proven: that is recorded before the newer one is submitted",
        sees=observed(SUPERSEDED, seen(SUPERSEDED, 1, status=ENDED), seen(SUPERSEDED, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.RECORD_END,
        epoch=1,
        outcome=Outcome.LEASE_LOST,
    ),
    Row(
        because="it lives, so it is killed first, healthy or not",
        sees=observed(SUPERSEDED, seen(SUPERSEDED, 1, status=RUNNING, traces=(a_beat(),)), seen(SUPERSEDED, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.KILL,
        epoch=1,
    ),
    Row(
        because="some of its processes live",
        sees=observed(SUPERSEDED, seen(SUPERSEDED, 1, status=BROKEN), seen(SUPERSEDED, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.KILL,
        epoch=1,
    ),
    Row(
        because="it can't be seen and its beat moves: unreachable is not dead",
        sees=observed(SUPERSEDED, seen(SUPERSEDED, 1, status=UNKNOWN, still=10), seen(SUPERSEDED, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.KEEP,
        epoch=1,
    ),
    Row(
        because="it can't be seen and its beat stands still: one sign of two, a person must give the other",
        sees=observed(SUPERSEDED, seen(SUPERSEDED, 1, status=UNKNOWN, still=1000), seen(SUPERSEDED, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.WAIT,
        epoch=1,
    ),
    Row(
        because="the manager says gone and its beat moves: the manager is wrong, or it was gone a moment ago",
        sees=observed(SUPERSEDED, seen(SUPERSEDED, 1, status=GONE, traces=(a_beat(),), still=74), seen(SUPERSEDED, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.KEEP,
        epoch=1,
    ),
    Row(
        because="the manager says gone and its beat stood still for the takeover time: two signs",
        sees=observed(SUPERSEDED, seen(SUPERSEDED, 1, status=GONE, traces=(a_beat(),), still=75), seen(SUPERSEDED, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.RECORD_END,
        epoch=1,
    ),
    Row(
        because="no submit is on record, yet a driver with its token lives",
        sees=observed(LEFT_BEHIND, seen(LEFT_BEHIND, 1, found=(a_handle("7:7"),)), seen(LEFT_BEHIND, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.KILL,
        epoch=1,
    ),
    Row(
        because="no trace of it: should it appear after all, it sees the newer claim and halts",
        sees=observed(LEFT_BEHIND, seen(LEFT_BEHIND, 1), seen(LEFT_BEHIND, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.RECORD_END,
        epoch=1,
        outcome=Outcome.NEVER_STARTED,
    ),
    Row(
        because="it beat somewhere: it may still write until it must have halted",
        sees=observed(LEFT_BEHIND, seen(LEFT_BEHIND, 1, traces=(a_beat(),), still=74), seen(LEFT_BEHIND, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.WAIT,
        epoch=1,
    ),
    Row(
        because="an unreadable beat is a beat",
        sees=observed(LEFT_BEHIND, seen(LEFT_BEHIND, 1, traces=(unreadable_traces(),)), seen(LEFT_BEHIND, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.WAIT,
        epoch=1,
    ),
    Row(
        because="its beat stood still for the takeover time and no process carries its token: two signs",
        sees=observed(LEFT_BEHIND, seen(LEFT_BEHIND, 1, traces=(a_beat(),), still=75), seen(LEFT_BEHIND, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.RECORD_END,
        epoch=1,
        outcome=Outcome.LEASE_LOST,
    ),
    Row(
        because="it beat where it would not be found from here: a still beat is one sign, whatever it wrote at its exit",
        sees=observed(
            LEFT_BEHIND, seen(LEFT_BEHIND, 1, traces=(an_exit(),), still=75, unseen=ELSEWHERE), seen(LEFT_BEHIND, 2)
        ),
        mine=frozenset({token_of(2)}),
        expect=Action.WAIT,
        epoch=1,
    ),
    Row(
        because="no trace of it, wherever it would be: should it appear after all, it sees the newer claim and halts",
        sees=observed(LEFT_BEHIND, seen(LEFT_BEHIND, 1, still=75), seen(LEFT_BEHIND, 2)),
        mine=frozenset({token_of(2)}),
        expect=Action.RECORD_END,
        epoch=1,
        outcome=Outcome.NEVER_STARTED,
    ),
)
def test_nothing_is_submitted_before_a_superseded_driver_is_gone(row):
    check(row)


def test_what_settles_a_driver_that_would_not_be_found_from_here_is_named():
    sees = observed(LEFT_BEHIND, seen(LEFT_BEHIND, 1, traces=(a_beat(),), still=75, unseen=ELSEWHERE))

    decision = decide(sees, a_stream(), mine=NOBODY)

    assert decision.needs_attention
    assert ELSEWHERE in decision.reason
    assert "let a supervisor look from where it can be seen" in decision.reason
    assert "`streamops start orders --confirm-dead 1 --reason …`" in decision.reason


def test_a_kill_of_a_driver_without_a_recorded_submit_names_those_that_were_found():
    handle = a_handle("7:7")
    sees = observed(LEFT_BEHIND, seen(LEFT_BEHIND, 1, found=(handle,)), seen(LEFT_BEHIND, 2))

    assert decide(sees, a_stream(), mine=NOBODY).handles == (handle,)


# A claim without a submit

STOP_AFTER_CLAIM = a_state(a_claim(1), StopRequested(epoch=1))
MAINTENANCE_AFTER_CLAIM = a_state(a_claim(1), MaintenanceBegun(until=NOW + timedelta(hours=1)))


@rows(
    Row(
        because="my own claim, every older driver proven gone: now it is submitted",
        sees=observed(CLAIMED, seen(CLAIMED)),
        mine=frozenset({token_of(1)}),
        expect=Action.SUBMIT,
        epoch=1,
    ),
    Row(
        because="another supervisor's claim is fresh: it may submit at any moment",
        sees=observed(CLAIMED, seen(CLAIMED, watched=29)),
        expect=Action.WAIT,
        epoch=1,
    ),
    Row(
        because="another's claim was left behind: the epoch is never submitted by anybody else, the next one is claimed",
        sees=observed(CLAIMED, seen(CLAIMED, watched=30)),
        expect=Action.CLAIM,
        epoch=2,
    ),
    Row(
        because="left behind, and the checkpoint could only fail now: the next claim is a start like any other",
        sees=observed(CLAIMED, seen(CLAIMED, watched=30), checkpoint=BROKEN_CHECKPOINT),
        expect=Action.PARK,
    ),
    Row(
        because="left behind by an orphan of ours that commits batches: that is no foreign writer",
        sees=observed(
            CLAIMED, seen(CLAIMED, watched=30, traces=(a_beat(),), found=(a_handle("7:7"),)), checkpoint=a_checkpoint(3)
        ),
        expect=Action.CLAIM,
        epoch=2,
    ),
    Row(
        because="left behind, but a stop was asked for: nothing is claimed",
        sees=observed(STOP_AFTER_CLAIM, seen(STOP_AFTER_CLAIM, watched=1000)),
        expect=Action.STOPPED,
    ),
    Row(
        because="mine, but a stop was asked for meanwhile: I know that it never started",
        sees=observed(STOP_AFTER_CLAIM, seen(STOP_AFTER_CLAIM)),
        mine=frozenset({token_of(1)}),
        expect=Action.RECORD_END,
        outcome=Outcome.NEVER_STARTED,
    ),
    Row(
        because="left behind, but the checkpoint is somebody's for a while",
        sees=observed(MAINTENANCE_AFTER_CLAIM, seen(MAINTENANCE_AFTER_CLAIM, watched=1000)),
        expect=Action.WAIT,
    ),
    Row(
        because="left behind, a stop was asked for, and a driver beat where it would not be found: it may not have stopped yet",
        sees=observed(
            STOP_AFTER_CLAIM, seen(STOP_AFTER_CLAIM, watched=1000, traces=(a_beat(),), still=74, unseen=ELSEWHERE)
        ),
        expect=Action.WAIT,
    ),
    Row(
        because="… and its beat has stood still since: it stands as it was asked to, and a person is told what isn't known",
        sees=observed(
            STOP_AFTER_CLAIM, seen(STOP_AFTER_CLAIM, watched=1000, traces=(a_beat(),), still=75, unseen=ELSEWHERE)
        ),
        expect=Action.STOPPED,
    ),
)
def test_an_epoch_is_submitted_at_most_once_and_only_by_whoever_claimed_it(row):
    check(row)


# The newest driver

RESTART_ASKED = a_state(a_claim(1), a_submit(1), RestartRequested(epoch=1))
STOP_ASKED = a_state(a_claim(1), a_submit(1), StopRequested(epoch=1))
KILLED_ALREADY = a_state(a_claim(1), a_submit(1), KillBegun(epoch=1))
MAINTENANCE_ASKED = a_state(a_claim(1), a_submit(1), MaintenanceBegun(until=NOW + timedelta(hours=1)))
STOP_ASKED_AT = STOP_ASKED.desired.at


@rows(
    Row(
        because="it runs and beats",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=RUNNING, traces=(a_beat(),), still=5)),
        expect=Action.KEEP,
    ),
    Row(
        because="it starts: no beat yet, within the start time",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=RUNNING, still=300)),
        expect=Action.KEEP,
    ),
    Row(
        because="no beat within the start time",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=RUNNING, still=301)),
        expect=Action.KILL,
    ),
    Row(
        because="the beat stands still as long as a takeover takes: not yet hung",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=RUNNING, traces=(a_beat(),), still=75)),
        expect=Action.KEEP,
    ),
    Row(
        because="the process lives and its beat stands still: two signs of a hung driver",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=RUNNING, traces=(a_beat(),), still=76)),
        expect=Action.KILL,
    ),
    Row(
        because="it has left its exit record and is given a moment to go",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=RUNNING, traces=(an_exit(),), still=30)),
        expect=Action.KEEP,
    ),
    Row(
        because="it has left its exit record and does not go",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=RUNNING, traces=(an_exit(),), still=31)),
        expect=Action.KILL,
    ),
    Row(
        because="its main process is gone, others live",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=BROKEN, traces=(a_beat(),))),
        expect=Action.KILL,
    ),
    Row(
        because="it can't be seen, its beat moves: it is kept",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=UNKNOWN, traces=(a_beat(),), still=74)),
        expect=Action.KEEP,
    ),
    Row(
        because="it can't be seen, its beat stands still: unknown is an answer",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=UNKNOWN, traces=(a_beat(),), still=75)),
        expect=Action.WAIT,
    ),
    Row(
        because="a stop was asked for and its grace is not over",
        sees=observed(
            STOP_ASKED,
            seen(STOP_ASKED, status=RUNNING, traces=(a_beat(),)),
            now=STOP_ASKED_AT + timedelta(seconds=120),
        ),
        expect=Action.KEEP,
    ),
    Row(
        because="a stop was asked for and its grace is over",
        sees=observed(
            STOP_ASKED,
            seen(STOP_ASKED, status=RUNNING, traces=(a_beat(),)),
            now=STOP_ASKED_AT + timedelta(seconds=121),
        ),
        expect=Action.KILL,
    ),
    Row(
        because="a stop with a stamp from the future counts as asked just now",
        sees=observed(
            STOP_ASKED,
            seen(STOP_ASKED, status=RUNNING, traces=(a_beat(),)),
            now=STOP_ASKED_AT - timedelta(days=1),
        ),
        expect=Action.KEEP,
    ),
    Row(
        because="maintenance is a stop too, with the same grace",
        sees=observed(MAINTENANCE_ASKED, seen(MAINTENANCE_ASKED, status=RUNNING, traces=(a_beat(),))),
        expect=Action.KILL,
    ),
)
def test_the_newest_driver_is_kept_while_it_shows_life(row):
    check(row)


@rows(
    Row(
        because="its own word comes first",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=ENDED, traces=(an_exit(outcome=Outcome.FAILED),))),
        expect=Action.RECORD_END,
        outcome=Outcome.FAILED,
    ),
    Row(
        because="even for one that was being killed",
        sees=observed(KILLED_ALREADY, seen(KILLED_ALREADY, status=ENDED, traces=(an_exit(outcome=Outcome.STOPPED),))),
        expect=Action.RECORD_END,
        outcome=Outcome.STOPPED,
    ),
    Row(
        because="no word, a stop was asked for",
        sees=observed(STOP_ASKED, seen(STOP_ASKED, status=ENDED, traces=(a_beat(),))),
        expect=Action.RECORD_END,
        outcome=Outcome.STOPPED,
    ),
    Row(
        because="no word, a supervisor had begun to kill it",
        sees=observed(KILLED_ALREADY, seen(KILLED_ALREADY, status=ENDED, traces=(a_beat(),))),
        expect=Action.RECORD_END,
        outcome=Outcome.KILLED,
    ),
    Row(
        because="no word, nobody did anything to it",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=ENDED, traces=(a_beat(),))),
        expect=Action.RECORD_END,
        outcome=Outcome.DIED,
    ),
    Row(
        because="it ended before its first beat",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=ENDED)),
        expect=Action.RECORD_END,
        outcome=Outcome.LAUNCH_FAILED,
    ),
    Row(
        because="an unreadable beat is a beat: it did start",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=ENDED, traces=(unreadable_traces(),))),
        expect=Action.RECORD_END,
        outcome=Outcome.DIED,
    ),
    Row(
        because="a second instance that found the epoch taken does not speak for the first",
        sees=observed(
            SUBMITTED,
            seen(
                SUBMITTED,
                status=ENDED,
                traces=(an_exit(outcome=Outcome.FAILED), an_exit(outcome=Outcome.LEASE_LOST, instance="f" * 16)),
            ),
        ),
        expect=Action.RECORD_END,
        outcome=Outcome.FAILED,
    ),
)
def test_a_proven_end_is_recorded_with_the_best_known_outcome(row):
    check(row)


@rows(
    Row(
        because="the manager says gone: one sign of two",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=GONE, traces=(a_beat(),), still=74, status_for=20)),
        expect=Action.WAIT,
    ),
    Row(
        because="the manager says gone and the beat stood still for the takeover time: two",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=GONE, traces=(a_beat(),), still=75)),
        expect=Action.RECORD_END,
        outcome=Outcome.DIED,
    ),
    Row(
        because="the manager has said gone for long and the beat goes on: the driver is kept",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=GONE, traces=(a_beat(),), still=4, status_for=31)),
        expect=Action.KEEP,
    ),
    Row(
        because="an exit record is a reason and no proof: the manager's word still needs the second sign",
        sees=observed(SUBMITTED, seen(SUBMITTED, status=GONE, traces=(an_exit(),), still=10)),
        expect=Action.WAIT,
    ),
)
def test_a_managers_word_alone_ends_no_driver(row):
    check(row)


def test_a_driver_that_beats_although_its_manager_calls_it_gone_is_told_to_a_person():
    sees = observed(SUBMITTED, seen(SUBMITTED, status=GONE, traces=(a_beat(),), still=4, status_for=31))

    assert decide(sees, ORDERS, mine=NOBODY).needs_attention


def asked(body, *, waited, **changes):
    """A running driver and a request so many seconds ago."""
    state = a_state(a_claim(1), a_submit(1), body)
    now = a_record(body, 2).at + timedelta(seconds=waited)
    return observed(state, seen(state, status=RUNNING, traces=(a_beat(),), still=1), now=now, **changes)


@rows(
    Row(
        because="a restart was asked for: the driver is given the grace",
        sees=asked(RestartRequested(epoch=1), waited=120),
        expect=Action.KEEP,
    ),
    Row(
        because="a restart was asked for, and the grace is over",
        sees=asked(RestartRequested(epoch=1), waited=121),
        expect=Action.KILL,
    ),
    Row(
        because="a forced restart gives no grace",
        sees=asked(RestartRequested(epoch=1, force=True), waited=0),
        expect=Action.KILL,
    ),
    Row(
        because="nor does a forced stop",
        sees=asked(StopRequested(epoch=1, force=True), waited=0),
        expect=Action.KILL,
    ),
    Row(
        because="a request of an epoch before this one has been done",
        sees=asked(RestartRequested(epoch=0, force=True), waited=900),
        expect=Action.KEEP,
    ),
    Row(
        because="a request stamped by a clock that is an hour ahead: the grace counts from when it was seen",
        sees=asked(StopRequested(epoch=1), waited=-3600, unchanged_for=120),
        expect=Action.KEEP,
    ),
    Row(
        because="and it ends although that clock is still ahead",
        sees=asked(StopRequested(epoch=1), waited=-3600, unchanged_for=121),
        expect=Action.KILL,
    ),
)
def test_a_driver_that_is_asked_to_end_is_given_the_grace_and_no_more(row):
    check(row)


@rows(
    Row(
        because="killed for a restart: what was asked for is no failure",
        sees=observed(
            (state := a_state(a_claim(1), a_submit(1), RestartRequested(epoch=1, force=True), KillBegun(epoch=1))),
            seen(state, status=ENDED, traces=(a_beat(),)),
        ),
        expect=Action.RECORD_END,
        outcome=Outcome.STOPPED,
    ),
    Row(
        because="its successor is claimed at once, although nobody waited out a back-off",
        sees=observed(
            (state := a_state(a_claim(1), a_submit(1), RestartRequested(epoch=1), an_end(1, Outcome.STOPPED))),
            now=a_record(Parked(), 3).at,
        ),
        expect=Action.CLAIM,
        epoch=2,
    ),
    Row(
        because="a person's restart does not wait out the back-off of a failure",
        sees=observed(
            (state := a_state(a_claim(1), a_submit(1), RestartRequested(epoch=1), an_end(1, Outcome.FAILED))),
            now=a_record(Parked(), 3).at,
        ),
        expect=Action.CLAIM,
    ),
    Row(
        because="nor when it is asked for during that back-off",
        sees=observed(
            (state := a_state(a_claim(1), a_submit(1), an_end(1, Outcome.FAILED), RestartRequested(epoch=1))),
            now=a_record(Parked(), 3).at,
        ),
        expect=Action.CLAIM,
        epoch=2,
    ),
    Row(
        because="nor the wait after an end that was no failure",
        sees=observed(
            (state := a_state(a_claim(1), a_submit(1), an_end(1, Outcome.LEASE_LOST), RestartRequested(epoch=1))),
            now=a_record(Parked(), 3).at,
        ),
        expect=Action.CLAIM,
    ),
    Row(
        because="but it does not lift the limits",
        sees=observed(
            (state := a_state(a_claim(1), a_submit(1), RestartRequested(epoch=1), an_end(1, Outcome.FAILED))),
        ),
        spec=a_stream(restart=RestartPolicy(budget_per_hour=0)),
        expect=Action.PARK,
    ),
    Row(
        because="nor does one that is asked for during the back-off",
        sees=observed(
            (state := a_state(a_claim(1), a_submit(1), an_end(1, Outcome.FAILED), RestartRequested(epoch=1))),
        ),
        spec=a_stream(restart=RestartPolicy(budget_per_hour=0)),
        expect=Action.PARK,
    ),
)
def test_a_restart_replaces_the_driver_without_a_pause(row):
    check(row)


def test_an_end_carries_the_drivers_last_sign():
    sees = observed(SUBMITTED, seen(SUBMITTED, status=ENDED, traces=(a_beat(),)))

    assert decide(sees, ORDERS, mine=NOBODY).last_sign_at == NOW


# The end of an older driver came to light after the claim


def test_a_claim_is_not_submitted_while_the_policy_says_wait():
    """It was submitted without a record, has ended meanwhile, and that was a failure: reported, not blindly tried again."""
    state = a_state(a_claim(1), a_claim(2), an_end(1, Outcome.FAILED))
    sees = observed(state, seen(state, 2), now=a_record(Parked(), 2).at)

    decision = decide(sees, ORDERS, mine=frozenset({token_of(2)}))

    assert (decision.action, decision.epoch, decision.outcome) == (Action.RECORD_END, 2, Outcome.NEVER_STARTED)


def test_a_claim_that_was_made_in_spite_of_a_failure_is_submitted():
    """A person asked for the restart, and the claim has answered that."""
    state = a_state(a_claim(1), a_submit(1), RestartRequested(epoch=1), an_end(1, Outcome.FAILED), a_claim(2))
    sees = observed(state, seen(state, 2), now=a_record(Parked(), 4).at)

    assert decide(sees, ORDERS, mine=frozenset({token_of(2)})).action is Action.SUBMIT


# A start is considered: nothing lives

NEW = a_state()
ENDED_AT_4 = a_state(a_claim(1, position=Position(query_id=QUERY_ID, offset=3, commit=3)), an_end(1, commit=4))
STOPPED = a_state(a_claim(1), an_end(1, Outcome.STOPPED), StopRequested(epoch=1))
KNOWN_AT_4 = a_state(Adopted(stream="orders", position=Position(query_id=QUERY_ID, offset=4, commit=4)))
ACCEPTED_AT_4 = a_state(
    Adopted(stream="orders", position=Position(query_id=QUERY_ID, offset=4, commit=4)), Released(accepts_unsafe=True)
)
FRUITLESS = a_state(a_claim(1), an_end(1))
THRASHING = a_state(*(body for epoch in range(1, 7) for body in (a_claim(epoch), an_end(epoch))))
EXACTLY_ONCE = a_stream(guarantee=SinkGuarantee.EXACTLY_ONCE_OR_NOTHING)
LAST_AT = FRUITLESS.failures[-1].at


@rows(
    Row(because="a new stream is claimed", sees=observed(NEW), expect=Action.CLAIM, epoch=1),
    Row(
        because="parked, until a person releases it",
        sees=observed(a_state(Parked())),
        expect=Action.PARKED,
    ),
    Row(
        because="released",
        sees=observed(a_state(Parked(), Released())),
        expect=Action.CLAIM,
    ),
    Row(because="stopped by a person", sees=observed(STOPPED), expect=Action.STOPPED),
    Row(
        because="started again",
        sees=observed(a_state(StopRequested(epoch=0), StartRequested())),
        expect=Action.CLAIM,
    ),
    Row(
        because="parked and stopped: parked is the one that needs a person",
        sees=observed(a_state(StopRequested(epoch=0), Parked())),
        expect=Action.PARKED,
    ),
    Row(
        because="maintenance goes on",
        sees=observed(a_state(MaintenanceBegun(until=NOW + timedelta(seconds=1)))),
        expect=Action.WAIT,
    ),
    Row(
        because="maintenance was forgotten: its time is over",
        sees=observed(a_state(MaintenanceBegun(until=NOW))),
        expect=Action.END_MAINTENANCE,
    ),
    Row(
        because="maintenance was ended",
        sees=observed(a_state(MaintenanceBegun(until=NOW + timedelta(days=1)), MaintenanceEnded())),
        expect=Action.CLAIM,
    ),
    Row(
        because="history without a log of ours: somebody else may run it",
        sees=observed(NEW, checkpoint=a_checkpoint(4)),
        expect=Action.PARK,
    ),
    Row(
        because="adopted: the history is known",
        sees=observed(KNOWN_AT_4, checkpoint=a_checkpoint(4)),
        expect=Action.CLAIM,
    ),
    Row(
        because="a batch was committed since: a foreign writer",
        sees=observed(KNOWN_AT_4, checkpoint=a_checkpoint(5)),
        expect=Action.PARK,
    ),
    Row(
        because="a batch was planned since: a foreign writer",
        sees=observed(KNOWN_AT_4, checkpoint=a_checkpoint(5, 4)),
        expect=Action.PARK,
    ),
    Row(
        because="another query's id: a foreign writer",
        sees=observed(KNOWN_AT_4, checkpoint=a_checkpoint(4, query_id=OTHER_QUERY_ID)),
        expect=Action.PARK,
    ),
    Row(
        because="a person accepts what is there",
        sees=observed(ACCEPTED_AT_4, checkpoint=a_checkpoint(5)),
        expect=Action.CLAIM,
    ),
    Row(
        because="the acceptance holds for one start only",
        sees=observed(
            a_state(
                Adopted(stream="orders", position=Position(query_id=QUERY_ID, offset=4, commit=4)),
                Released(accepts_unsafe=True),
                a_claim(1, position=Position(query_id=QUERY_ID, offset=4, commit=4)),
                an_end(1, Outcome.STOPPED, commit=4),
            ),
            checkpoint=a_checkpoint(5),
        ),
        expect=Action.PARK,
    ),
    Row(
        because="behind its own past: Delta would drop the re-used batch ids in silence",
        sees=observed(KNOWN_AT_4, checkpoint=a_checkpoint(3)),
        expect=Action.PARK,
    ),
    Row(
        because="the checkpoint is gone although the log knows its batches",
        sees=observed(KNOWN_AT_4, checkpoint=a_checkpoint(-1, query_id=None)),
        expect=Action.PARK,
    ),
    Row(
        because="a driver that had committed batches is replaced at once",
        sees=observed(ENDED_AT_4, checkpoint=a_checkpoint(4)),
        expect=Action.CLAIM,
        epoch=2,
    ),
    Row(
        because="a fruitless failure waits",
        sees=observed(FRUITLESS, now=LAST_AT + timedelta(seconds=14)),
        expect=Action.WAIT,
    ),
    Row(
        because="and is tried again when the wait is over",
        sees=observed(FRUITLESS, now=LAST_AT + timedelta(seconds=15)),
        expect=Action.CLAIM,
    ),
    Row(
        because="too many fruitless failures in a row",
        sees=observed(THRASHING, now=NOW + timedelta(days=1)),
        expect=Action.PARK,
    ),
    Row(
        because="no restarts are allowed at all",
        sees=observed(FRUITLESS),
        spec=a_stream(restart=RestartPolicy(budget_per_hour=0, thrash_limit=0)),
        expect=Action.PARK,
    ),
    Row(
        because="a start that can only fail",
        sees=observed(KNOWN_AT_4, checkpoint=BROKEN_CHECKPOINT),
        expect=Action.PARK,
    ),
    Row(
        because="a batch in flight and an idempotent sink: it runs again",
        sees=observed(
            a_state(Adopted(stream="orders", position=Position(query_id=QUERY_ID, offset=4, commit=3))),
            checkpoint=a_checkpoint(4, 3),
        ),
        expect=Action.CLAIM,
    ),
    Row(
        because="a batch in flight and a sink that can't bear it twice",
        sees=observed(
            a_state(Adopted(stream="orders", position=Position(query_id=QUERY_ID, offset=4, commit=3))),
            checkpoint=a_checkpoint(4, 3),
        ),
        spec=EXACTLY_ONCE,
        expect=Action.PARK,
    ),
    Row(
        because="commits ahead of offsets, although a person accepts: that is what the acceptance is for",
        sees=observed(ACCEPTED_AT_4, checkpoint=a_checkpoint(4, 5)),
        expect=Action.CLAIM,
    ),
    Row(
        because="the stream's own checkpoint is fine, a companion's is broken",
        sees=observed(KNOWN_AT_4, checkpoint=a_checkpoint(4), companions=(BROKEN_CHECKPOINT,)),
        expect=Action.PARK,
    ),
)
def test_a_start_is_considered_only_when_nothing_speaks_against_it(row):
    check(row)


def last_sign(minutes_before_the_batch):
    """An ended driver whose last sign came so many minutes before batch 4 was planned."""
    planned = NOW - timedelta(minutes=30)
    end = an_end(1, commit=4)
    sign = planned - timedelta(minutes=minutes_before_the_batch)
    state = a_state(
        a_claim(1, position=Position(query_id=QUERY_ID, offset=3, commit=3)), replace(end, last_sign_at=sign)
    )
    checkpoint = replace(
        a_checkpoint(4), newest=OffsetEntry(batch=4, version="v1", planned_at=planned, sources=('{"orders":{"0":1}}',))
    )
    return observed(state, checkpoint=checkpoint)


@rows(
    Row(because="it beat after it had planned its last batch", sees=last_sign(-1), expect=Action.CLAIM),
    Row(because="it may have planned one more before it had to halt", sees=last_sign(1), expect=Action.CLAIM),
    Row(because="the batch is newer than a driver of ours can be", sees=last_sign(2), expect=Action.PARK),
)
def test_a_batch_newer_than_our_last_beat_was_written_by_somebody_else(row):
    check(row)


def failed_for(failure_class, remedy, answers, minutes=10):
    """A driver that failed some minutes ago, and whether what it needs answers now."""
    end = replace(an_end(1, Outcome.FAILED), failure_class=str(failure_class), remedy=str(remedy))
    dependency = Reachability(target="broker:9092", is_reachable=answers, evidence="tried")
    return observed(a_state(a_claim(1), end), dependency=dependency, now=START + timedelta(minutes=minutes))


WAIT_FOR_SOURCE = (FailureClass.SOURCE_UNAVAILABLE, Remedy.WAIT_FOR_SOURCE)


@rows(
    Row(
        because="the broker is still away: a start would only cost budget",
        sees=failed_for(*WAIT_FOR_SOURCE, answers=False),
        expect=Action.WAIT,
    ),
    Row(
        because="it is tried all the same: the probe looks from another place than the driver",
        sees=failed_for(*WAIT_FOR_SOURCE, answers=False, minutes=21),
        expect=Action.CLAIM,
    ),
    Row(because="it is back", sees=failed_for(*WAIT_FOR_SOURCE, answers=True), expect=Action.CLAIM),
    Row(
        because="nobody can tell from here: the back-off alone counts",
        sees=failed_for(*WAIT_FOR_SOURCE, answers=None),
        expect=Action.CLAIM,
    ),
    Row(
        because="a disk that was full may have room again",
        sees=failed_for(FailureClass.DISK_FULL, Remedy.RETRY_FEW, answers=None),
        expect=Action.CLAIM,
    ),
    Row(
        because="what can only fail again is parked",
        sees=failed_for(FailureClass.STATE_INCOMPATIBLE, Remedy.NEVER, answers=None),
        expect=Action.PARK,
    ),
)
def test_the_class_of_the_failure_decides(row):
    check(row)


def test_a_stream_that_waits_for_its_source_says_for_which_and_what_was_tried():
    decision = decide(failed_for(*WAIT_FOR_SOURCE, answers=False), ORDERS, mine=NOBODY)

    assert "broker:9092" in decision.reason
    assert "tried" in decision.reason


@pytest.mark.parametrize(
    ("outcome", "because"),
    [
        (Outcome.LEASE_LOST, "its claim was the newest: whatever it met, the next one will meet it too"),
        (Outcome.STOPPED, "nobody of ours asked: whoever sent the SIGTERM may send it again"),
    ],
    ids=["lease-lost", "stopped-by-a-stranger"],
)
def test_even_an_end_that_costs_no_budget_is_followed_by_a_pause(outcome, because):
    state = a_state(a_claim(1), a_submit(1), an_end(1, outcome))
    ended_at = a_record(Parked(), 2).at

    at_once = decide(observed(state, now=ended_at), a_stream(), mine=NOBODY)
    later = decide(observed(state, now=ended_at + timedelta(minutes=5)), a_stream(), mine=NOBODY)

    assert at_once.action is Action.WAIT, because
    assert later.action is Action.CLAIM


def test_the_pause_after_ends_that_nobody_asked_for_grows_and_then_calls_a_person():
    rounds = [
        body for epoch in range(1, 8) for body in (a_claim(epoch), a_submit(epoch), an_end(epoch, Outcome.STOPPED))
    ]
    state = a_state(*rounds)
    ended_at = state.newest.ended.at

    decision = decide(observed(state, now=ended_at), a_stream(), mine=NOBODY)

    assert (decision.action, decision.until) == (Action.WAIT, ended_at + timedelta(minutes=5))
    assert decision.needs_attention


def test_a_driver_is_judged_by_the_timings_that_it_was_given():
    """The YAML was changed since: the driver halts as late as it was told to."""
    patient = Timings(halt=timedelta(minutes=5), takeover=timedelta(minutes=11), stop=timedelta(minutes=20))
    state = a_state(replace(a_claim(1), spec=spec_text(a_stream(timings=patient))), a_submit(1), a_claim(2))

    hung = decide(
        observed(state, seen(state, status=DriverState.UNKNOWN, traces=(a_beat(),), still=500)), ORDERS, mine=NOBODY
    )

    assert (hung.action, hung.needs_attention) == (Action.KEEP, False)


def test_whoever_claimed_has_as_long_for_the_submit_as_the_claim_says():
    """A supervisor with a shorter time would claim over the head of one that is about to submit."""
    slow = a_stream(timings=Timings(claim=timedelta(minutes=2)))
    state = a_state(replace(a_claim(1), spec=spec_text(slow)))

    at_first, later = (
        decide(observed(state, seen(state, watched=watched)), ORDERS, mine=NOBODY) for watched in (119, 120)
    )

    assert (at_first.action, later.action) == (Action.WAIT, Action.CLAIM)


@pytest.mark.parametrize(
    ("asked_ago", "watched", "action"),
    [
        pytest.param(600, 10, Action.KEEP, id="its clock is ten minutes behind"),
        pytest.param(600, 121, Action.KILL, id="watched for the grace"),
        pytest.param(60, 600, Action.KEEP, id="its clock is ahead"),
        pytest.param(3700, 0, Action.KILL, id="no clock is that far behind: observers come and go"),
    ],
)
def test_the_stamp_of_another_host_takes_no_grace_away(asked_ago, watched, action):
    state = a_state(a_claim(1), a_submit(1), StopRequested(epoch=1))
    now = state.desired.at + timedelta(seconds=asked_ago)
    facts = seen(state, status=DriverState.RUNNING, traces=(a_beat(),))

    sees = observed(state, facts, now=now, host="another", wish_watched=watched)

    assert decide(sees, ORDERS, mine=NOBODY).action is action


def test_a_claim_left_open_below_an_adoption_is_followed_by_the_next_free_epoch():
    """Or the same number would be appended, and ignored, for ever."""
    state = a_state(a_claim(1), Adopted(stream="orders", position=Position(), epochs_seen=7))
    facts = seen(state, traces=(a_beat(),), watched=1000)

    decision = decide(observed(state, facts), ORDERS, mine=NOBODY)

    assert (decision.action, decision.epoch) == (Action.CLAIM, 8)
    assert state.next_epoch == 8


def test_a_batch_of_an_epoch_that_was_adopted_is_no_strangers():
    """The newest end that the log knows tells nothing of drivers that came after it."""
    sign = NOW - timedelta(hours=2)
    position = Position(query_id=QUERY_ID, offset=9, commit=9)
    state = a_state(
        a_claim(1, position=Position(query_id=QUERY_ID, offset=3, commit=3)),
        replace(an_end(1, commit=4), last_sign_at=sign),
        Adopted(stream="orders", position=position, epochs_seen=7),
    )
    newest = OffsetEntry(batch=9, version="v1", planned_at=NOW - timedelta(hours=1), sources=('{"orders":{"0":1}}',))

    decision = decide(observed(state, checkpoint=replace(a_checkpoint(9), newest=newest)), ORDERS, mine=NOBODY)

    assert (decision.action, decision.epoch) == (Action.CLAIM, 8)


@pytest.mark.parametrize(
    ("is_readable", "action"),
    [
        pytest.param(True, Action.KILL, id="its folder is there and empty"),
        pytest.param(False, Action.KEEP, id="what it wrote can't be read: another version may have"),
    ],
)
def test_a_driver_that_hangs_between_its_folder_and_its_first_beat_is_hung(is_readable, action):
    traces = DriverTraces(epoch=1, instance="0123456789abcdef", heartbeat=None, exit=None, is_readable=is_readable)
    facts = seen(SUBMITTED, status=RUNNING, traces=(traces,), still=301)

    assert decide(observed(SUBMITTED, facts), ORDERS, mine=NOBODY).action is action


def test_a_wait_says_when_it_ends():
    decision = decide(observed(FRUITLESS, now=LAST_AT), a_stream(), mine=NOBODY)

    assert decision.until == LAST_AT + timedelta(seconds=15)


def test_a_claim_carries_the_plan_that_it_rests_on():
    decision = decide(observed(KNOWN_AT_4, checkpoint=a_checkpoint(4)), a_stream(), mine=NOBODY)

    assert decision.plan.safety is Safety.SAFE
    assert decision.plan.next_batch == 5


def test_a_person_is_told_how_to_vouch_for_a_driver_that_nobody_sees():
    sees = observed(SUBMITTED, seen(SUBMITTED, status=UNKNOWN, still=1000))

    decision = decide(sees, a_stream(), mine=NOBODY)

    assert decision.needs_attention
    assert "--confirm-dead 1" in decision.reason


# Laws


STATUSES = st.sampled_from([None, *DriverState])
TRACES = st.sampled_from([(), (a_beat(),), (an_exit(),), (unreadable_traces(),)])
SECONDS = st.sampled_from([0, 1, 30, 31, 74, 75, 76, 301, 10_000])


@st.composite
def any_epochs(draw):
    """Two open epochs in any condition."""
    is_first_submitted, is_second_submitted = draw(st.booleans()), draw(st.booleans())
    bodies = [a_claim(1)] + [a_submit(1)] * is_first_submitted + [a_claim(2)] + [a_submit(2)] * is_second_submitted
    bodies += draw(st.sampled_from([[], [StopRequested(epoch=2)]]))
    state = a_state(*bodies)
    facts = [
        seen(
            state,
            number,
            status=draw(st.sampled_from(list(DriverState))) if is_submitted else None,
            traces=draw(TRACES),
            found=draw(st.sampled_from([(), (a_handle("9:9"),)])) if not is_submitted else (),
            still=draw(SECONDS),
            watched=draw(SECONDS),
        )
        for number, is_submitted in ((1, is_first_submitted), (2, is_second_submitted))
    ]
    return observed(state, *facts)


@given(any_epochs(), st.booleans())
def test_nothing_is_submitted_or_claimed_while_an_older_epoch_is_open(sees, is_mine):
    decision = decide(sees, a_stream(), mine=frozenset({token_of(2)}) if is_mine else NOBODY)

    assert decision.action not in (Action.SUBMIT, Action.CLAIM)


@given(any_epochs())
def test_an_end_is_recorded_only_for_a_driver_that_is_proven_gone_or_must_have_halted(sees):
    decision = decide(sees, a_stream(), mine=NOBODY)

    if decision.action is Action.RECORD_END:
        facts = next(facts for facts in sees.epochs if facts.epoch.number == decision.epoch)
        is_proven = facts.status is not None and facts.status.state is DriverState.ENDED
        has_two_signs = (
            facts.status is not None
            and facts.status.state is DriverState.GONE
            and facts.stood_still >= timedelta(seconds=75)
        )
        was_never_seen = facts.status is None and not facts.found and not facts.traces
        must_have_halted = facts.status is None and not facts.found and facts.stood_still >= timedelta(seconds=75)
        assert is_proven or has_two_signs or was_never_seen or must_have_halted


@given(any_epochs())
def test_a_driver_that_cannot_be_seen_is_never_killed(sees):
    decision = decide(sees, a_stream(), mine=NOBODY)

    if decision.action is Action.KILL:
        facts = next(facts for facts in sees.epochs if facts.epoch.number == decision.epoch)
        assert facts.found or facts.status.state in (DriverState.RUNNING, DriverState.BROKEN)
        assert decision.handles


@given(any_epochs())
def test_the_same_look_gives_the_same_decision(sees):
    first, second = decide(sees, ORDERS, mine=NOBODY), decide(sees, ORDERS, mine=NOBODY)

    assert first == second
    assert (first.action in RESTING) == (second.action in RESTING)
