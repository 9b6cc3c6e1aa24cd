"""What the records mean: state is a pure fold over them, so audit trail and state cannot disagree.

The fold is total. A record that contradicts the state before it (an epoch that is not the next one, a second submit of
an epoch) changes nothing and is counted: writers decide on a fold and append at its next number, so only a damaged or
hand-edited log holds such a record, and it must not stop the stream that runs. Texts of any length are kept as the records of
today may hold them: older versions wrote longer ones, and the state must fit into a snapshot.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from streamops.control.kafka_offsets import topics_after
from streamops.control.records import (
    Acknowledged,
    Adopted,
    Claimed,
    ClaimMode,
    DriverEnded,
    KillBegun,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Position,
    Record,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
    Submitted,
    UnknownBody,
    VerdictChanged,
)
from streamops.control.state import (
    CLASSES_IN_ACCOUNT,
    MAX_FAILURES_KEPT,
    UNSAFE_STARTS_KEPT,
    Desire,
    EndWish,
    Epoch,
    Failure,
    LogState,
    Maintenance,
    Note,
    UnsafeStart,
)
from streamops.control.texts import COMPOSED_LIMIT, FAILURE_LIMIT, shortened, shortened_classes

UNASKED_ENDS = frozenset({Outcome.LEASE_LOST, Outcome.STOPPED})
"""Ends that are no failures, and that need a brake all the same where nobody asked for them."""

FAILURES = frozenset({Outcome.FAILED, Outcome.DIED, Outcome.KILLED, Outcome.LAUNCH_FAILED, Outcome.FINISHED})
"""Ends that count as a failure of a live stream. Even a clean end does: a live query is not meant to end by itself."""


def fold(records: Iterable[Record], state: LogState | None = None) -> LogState:
    """The state after these records, which follow directly on `state`."""
    return reduce(_apply, records, state or LogState())


def _apply(state: LogState, record: Record) -> LogState:
    note = Note(at=record.at, by=record.by, reason=shortened(record.reason, COMPOSED_LIMIT))
    counted = replace(state, next_number=record.number + 1, last_nonce=record.nonce)
    if isinstance(record.body, UnknownBody):
        return replace(counted, unknown_records=state.unknown_records + 1)
    rule = _RULES.get(type(record.body))
    if rule is None:
        return counted
    changed = rule(counted, record.body, note)
    return replace(counted, contradictions=state.contradictions + 1) if changed is None else changed


def _adopted(state: LogState, body: Adopted, note: Note) -> LogState | None:
    if body.from_stream and (body.from_stream != state.stream or state.open_epochs):
        return None
    return replace(
        state,
        stream=body.stream if body.from_stream else state.stream or body.stream,
        position=body.position,
        parked=None,
        epochs_seen=max(state.epochs_seen, body.epochs_seen),
        topics=topics_after(state.topics, body),
    )


def _claimed(state: LogState, body: Claimed, note: Note) -> LogState | None:
    if body.epoch != state.next_epoch:
        return None
    return replace(
        state,
        stream=state.stream or body.stream,
        newest=Epoch(claim=body, claimed=note, record=state.next_number - 1),
        older_open=state.open_epochs,
        position=body.position,
        accepts_unsafe=False,
        carried_acceptance=body.accepts_unsafe,
        replacement=None,
        topics=topics_after(state.topics, body),
    )


def _submitted(state: LogState, body: Submitted, note: Note) -> LogState | None:
    newest = state.newest
    if newest is None or newest.number != body.epoch or newest.submission or not newest.is_open:
        return None
    submitted = replace(newest, submission=body, submitted=note)
    started = replace(state, newest=submitted, accepts_unsafe=False, carried_acceptance=False)
    if not newest.claim.is_unsafe:
        return started
    unsafe = UnsafeStart(epoch=body.epoch, at=note.at, foretold=newest.claimed.reason, given_up=newest.claim.given_up)
    return replace(started, unsafe_starts=(*state.unsafe_starts, unsafe)[-UNSAFE_STARTS_KEPT:])


def _kill_begun(state: LogState, body: KillBegun, note: Note) -> LogState | None:
    if not any(epoch.number == body.epoch for epoch in state.open_epochs):
        return None
    return _with_epoch(state, body.epoch, lambda epoch: replace(epoch, kill=note, foreign_batch=body.foreign_batch))


def _driver_ended(state: LogState, body: DriverEnded, note: Note) -> LogState | None:
    epoch = next((epoch for epoch in state.open_epochs if epoch.number == body.epoch), None)
    if epoch is None:
        return None
    body = replace(body, text=shortened(body.text, FAILURE_LIMIT), error_classes=shortened_classes(body.error_classes))
    ended = replace(epoch, end=body, ended=note)
    changed = _with_epoch(state, body.epoch, lambda _: ended)
    counted = (
        replace(changed, failures=(), unasked_ends=())
        if _has_done_its_work(ended)
        else _counted(changed, _failure(ended, body, note, record=state.next_number - 1), is_asked=bool(state.end_wish))
    )
    is_older = state.newest is None or state.newest.number != body.epoch
    was_never = body.outcome in _NEVER_RAN and epoch.submission is None
    # The end of a run has asked its last driver to go, and for no other one.
    is_last_of_run = not is_older and epoch.claim.mode is not ClaimMode.LIVE and state.maintenance is None
    return replace(
        counted,
        replacement=None if is_last_of_run else counted.replacement,
        position=_never_back(state.position, body.position),
        carried_acceptance=state.carried_acceptance and (is_older or was_never),
    )


def _has_done_its_work(epoch: Epoch) -> bool:
    """A bounded run is meant to end by itself; a live query is not."""
    is_finished = epoch.end is not None and epoch.end.outcome is Outcome.FINISHED
    return is_finished and epoch.claim.mode is not ClaimMode.LIVE


_NEVER_RAN = frozenset({Outcome.NEVER_STARTED, Outcome.LAUNCH_FAILED})


def _counted(state: LogState, end: Failure, *, is_asked: bool) -> LogState:
    """The account of ends with one more."""
    if end.outcome in FAILURES:
        failures = (*state.failures, end)[-MAX_FAILURES_KEPT:]
        return replace(state, failures=failures, unasked_ends=())
    is_newest = state.newest is not None and state.newest.number == end.epoch
    if not is_newest or end.outcome not in UNASKED_ENDS:
        return state
    if is_asked or end.has_progressed:
        return replace(state, unasked_ends=())
    return replace(state, unasked_ends=(*state.unasked_ends, end)[-MAX_FAILURES_KEPT:])


def _failure(epoch: Epoch, body: DriverEnded, note: Note, *, record: int) -> Failure:
    last_sign = min(note.at, body.last_sign_at) if body.last_sign_at else None
    ran = (last_sign - (epoch.submitted or epoch.claimed).at).total_seconds() if last_sign else 0.0
    return Failure(
        epoch=body.epoch,
        at=note.at,
        outcome=body.outcome,
        has_progressed=epoch.has_progressed,
        error_classes=shortened_classes(body.error_classes, CLASSES_IN_ACCOUNT),
        failure_class=body.failure_class,
        remedy=body.remedy,
        record=record,
        ran_seconds=max(0.0, ran),
    )


def _never_back(known: Position | None, found: Position) -> Position:
    """A checkpoint that was put back is still behind what the log has seen; only a claim or an adoption settles that."""
    is_behind = known and found.query_id in ("", known.query_id) and found.offset < known.offset
    return known if known and is_behind else found


def _with_epoch(state: LogState, number: int, change: Callable[[Epoch], Epoch]) -> LogState:
    """The state with one open epoch changed; an older one that has ended is no longer kept."""
    older = tuple(change(epoch) if epoch.number == number else epoch for epoch in state.older_open)
    newest = state.newest
    if newest and newest.number == number:
        newest = change(newest)
    return replace(state, newest=newest, older_open=tuple(epoch for epoch in older if epoch.is_open))


def _stop_requested(state: LogState, body: StopRequested, note: Note) -> LogState | None:
    return replace(state, desire=Desire.STOPPED, desired=note, is_stop_forced=body.force)


def _start_requested(state: LogState, body: StartRequested, note: Note) -> LogState | None:
    return replace(state, desire=Desire.RUNNING, desired=note, is_stop_forced=False, unasked_ends=())


def _restart_requested(state: LogState, body: RestartRequested, note: Note) -> LogState | None:
    """Of a driver that has ended, a supervisor wants nothing more; a person wants the next one without further waiting."""
    if state.newest is None or body.epoch < state.newest.number or (body.is_stuck and not state.newest.is_open):
        return state
    return replace(state, replacement=EndWish(note=note, force=body.force, is_stuck=body.is_stuck))


def _maintenance_begun(state: LogState, body: MaintenanceBegun, note: Note) -> LogState | None:
    maintenance = Maintenance(
        until=body.until,
        note=note,
        record=state.next_number - 1,
        run=body.run,
        estimated_seconds=body.estimated_seconds,
        is_once=body.is_once,
    )
    return replace(state, maintenance=maintenance)


def _maintenance_ended(state: LogState, body: MaintenanceEnded, note: Note) -> LogState | None:
    """A driver of its run that still lives is to end: what comes next is another one, or none."""
    newest = state.newest
    is_left = state.maintenance is not None and state.maintenance.is_time_of(newest) and newest and newest.is_open
    return replace(state, maintenance=None, replacement=EndWish(note=note) if is_left else state.replacement)


def _parked(state: LogState, body: Parked, note: Note) -> LogState | None:
    return replace(state, parked=note)


def _released(state: LogState, body: Released, note: Note) -> LogState | None:
    released = replace(state, parked=None, failures=(), unasked_ends=())
    return replace(
        released,
        accepts_unsafe=body.accepts_unsafe,
        accepts_expired=body.accepts_expired,
        carried_acceptance=False,
        topics=topics_after(state.topics, body),
    )


def _acknowledged(state: LogState, body: Acknowledged, note: Note) -> LogState | None:
    return replace(state, unsafe_starts=tuple(one for one in state.unsafe_starts if one.epoch > body.epoch))


def _verdict_changed(state: LogState, body: VerdictChanged, note: Note) -> LogState | None:
    return replace(state, verdict=body.after)


# Acts leave no trace in the state yet: they are there for the audit trail.
_RULES: dict[type, Callable[[LogState, Any, Note], LogState | None]] = {
    Adopted: _adopted,
    Claimed: _claimed,
    Submitted: _submitted,
    KillBegun: _kill_begun,
    DriverEnded: _driver_ended,
    StopRequested: _stop_requested,
    StartRequested: _start_requested,
    RestartRequested: _restart_requested,
    MaintenanceBegun: _maintenance_begun,
    MaintenanceEnded: _maintenance_ended,
    Parked: _parked,
    Released: _released,
    Acknowledged: _acknowledged,
    VerdictChanged: _verdict_changed,
}
