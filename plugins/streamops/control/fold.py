"""What the records mean: state is a pure fold over them, so audit trail and state cannot disagree.

The fold is total. A record that contradicts the state before it (an epoch that is not the next one, a second submit of
an epoch) changes nothing and is counted: writers decide on a fold and append at its next number, so only a damaged or
hand-edited log holds such a record, and it must not stop the stream that runs.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import reduce
from typing import Any

from streamops.control.records import (
    Adopted,
    Author,
    Claimed,
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
)

UNASKED_ENDS = frozenset({Outcome.LEASE_LOST, Outcome.STOPPED})
"""Ends that are no failures, and that need a brake all the same where nobody asked for them."""

FAILURES = frozenset({Outcome.FAILED, Outcome.DIED, Outcome.KILLED, Outcome.LAUNCH_FAILED, Outcome.FINISHED})
"""Ends that count as a failure of a live stream. Even a clean end does: a live query is not meant to end by itself."""

MAX_FAILURES_KEPT = 1000
"""Enough for any budget an hour; the rest is in the log for whoever asks."""


class Desire(StrEnum):
    """What the stream is meant to do."""

    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Who did something, when and why."""

    at: datetime
    by: Author
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One claim and what became of it."""

    claim: Claimed
    claimed: Note
    record: int
    """Number of the claim's record: where the driver begins to read."""
    submission: Submitted | None = None
    submitted: Note | None = None
    kill: Note | None = None
    """Who began to kill the driver, and why."""
    end: DriverEnded | None = None
    ended: Note | None = None

    @property
    def number(self) -> int:
        """The epoch's number, 1, 2, 3 …"""
        return self.claim.epoch

    @property
    def is_open(self) -> bool:
        """Whether a driver of this epoch may still live: nobody has proven its end."""
        return self.end is None

    @property
    def has_progressed(self) -> bool:
        """Whether batches were committed between the claim and the proven end."""
        return self.end is not None and self.end.position.commit > self.claim.position.commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An end that counts, against the restart budget or in a row."""

    epoch: int
    at: datetime
    outcome: Outcome
    has_progressed: bool
    error_classes: tuple[str, ...]
    failure_class: str = ""
    remedy: str = ""
    record: int = 0
    """Number of the record that says so."""
    ran_seconds: float = 0.0
    """From submit to the last thing that the driver wrote; never negative, 0 where it wrote nothing.

    The record of the end may be much younger: a supervisor that was away must not make a crash loop look healthy.
    """

    @property
    def ran(self) -> timedelta:
        """How long the driver lived."""
        return timedelta(seconds=self.ran_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Until then the live query yields."""

    until: datetime
    note: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class EndWish:
    """Somebody wants the newest driver to end: for good, for a while, or to make room for another."""

    note: Note
    force: bool = False
    is_stuck: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """What the log says about one checkpoint."""

    next_number: int = 0
    last_nonce: str = ""
    """Of the last record: a log that was deleted and begun anew has another there."""
    stream: str = ""
    newest: Epoch | None = None
    older_open: tuple[Epoch, ...] = ()
    """Epochs below the newest whose end nobody has proven."""
    desire: Desire = Desire.RUNNING
    desired: Note | None = None
    is_stop_forced: bool = False
    """Whether whoever asked for the standstill wants no grace for the driver."""
    replacement: EndWish | None = None
    """Asked for and not yet done: the next claim does it."""
    epochs_seen: int = 0
    """The highest epoch that an adoption found traces of."""
    parked: Note | None = None
    maintenance: Maintenance | None = None
    failures: tuple[Failure, ...] = ()
    """Since the last release, oldest first, at most MAX_FAILURES_KEPT."""
    unasked_ends: tuple[Failure, ...] = ()
    """In a row: ends that are no failures, that nobody asked for, and that brought no batch."""
    position: Position | None = None
    """The checkpoint as it stood at the newest record that says."""
    accepts_unsafe: bool = False
    """Whether a person's release lets the next start pass although its plan is not safe."""
    unknown_records: int = 0
    contradictions: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no log."""
        return self.next_number == 0

    @property
    def open_epochs(self) -> tuple[Epoch, ...]:
        """Epochs whose driver may still live, the newest last."""
        newest = (self.newest,) if self.newest and self.newest.is_open else ()
        return self.older_open + newest

    @property
    def end_wish(self) -> EndWish | None:
        """Who wants the newest driver to end, if anybody: for good, for another driver, or for a while."""
        if self.desire is Desire.STOPPED and self.desired:
            return EndWish(note=self.desired, force=self.is_stop_forced)
        if self.replacement:
            return self.replacement
        return EndWish(note=self.maintenance.note) if self.maintenance else None

    @property
    def carried_acceptance(self) -> bool:
        """Whether the newest claim carries a person's acceptance of an unsafe start and no submit of it is on record."""
        newest = self.newest
        return newest is not None and newest.submission is None and newest.is_open and newest.claim.accepts_unsafe

    @property
    def next_epoch(self) -> int:
        """The number of the next claim."""
        return max(self.newest.number if self.newest else 0, self.epochs_seen) + 1


def fold(records: Iterable[Record], state: LogState | None = None) -> LogState:
    """The state after these records, which follow directly on `state`."""
    return reduce(_apply, records, state or LogState())


def _apply(state: LogState, record: Record) -> LogState:
    note = Note(at=record.at, by=record.by, reason=record.reason)
    counted = replace(state, next_number=record.number + 1, last_nonce=record.nonce)
    if isinstance(record.body, UnknownBody):
        return replace(counted, unknown_records=state.unknown_records + 1)
    rule = _RULES.get(type(record.body))
    if rule is None:
        return counted
    changed = rule(counted, record.body, note)
    return replace(counted, contradictions=state.contradictions + 1) if changed is None else changed


def _adopted(state: LogState, body: Adopted, note: Note) -> LogState | None:
    return replace(
        state,
        stream=state.stream or body.stream,
        position=body.position,
        parked=None,
        epochs_seen=max(state.epochs_seen, body.epochs_seen),
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
        replacement=None,
    )


def _submitted(state: LogState, body: Submitted, note: Note) -> LogState | None:
    newest = state.newest
    if newest is None or newest.number != body.epoch or newest.submission or not newest.is_open:
        return None
    return replace(state, newest=replace(newest, submission=body, submitted=note), accepts_unsafe=False)


def _kill_begun(state: LogState, body: KillBegun, note: Note) -> LogState | None:
    if not any(epoch.number == body.epoch for epoch in state.open_epochs):
        return None
    return _with_epoch(state, body.epoch, lambda epoch: replace(epoch, kill=note))


def _driver_ended(state: LogState, body: DriverEnded, note: Note) -> LogState | None:
    epoch = next((epoch for epoch in state.open_epochs if epoch.number == body.epoch), None)
    if epoch is None:
        return None
    ended = replace(epoch, end=body, ended=note)
    changed = _with_epoch(state, body.epoch, lambda _: ended)
    counted = _counted(
        changed, _failure(ended, body, note, record=state.next_number - 1), is_asked=bool(state.end_wish)
    )
    # Nobody has made use of an acceptance whose driver never was, unless a newer claim has taken it over.
    was_never = body.outcome in _NEVER_RAN and epoch.submission is None and state.newest == epoch
    return replace(
        counted,
        position=_never_back(state.position, body.position),
        accepts_unsafe=state.accepts_unsafe or (was_never and epoch.claim.accepts_unsafe),
    )


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
        error_classes=body.error_classes,
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
    if state.newest is None or body.epoch < state.newest.number or not state.newest.is_open:
        return state
    return replace(state, replacement=EndWish(note=note, force=body.force, is_stuck=body.is_stuck))


def _maintenance_begun(state: LogState, body: MaintenanceBegun, note: Note) -> LogState | None:
    return replace(state, maintenance=Maintenance(until=body.until, note=note))


def _maintenance_ended(state: LogState, body: MaintenanceEnded, note: Note) -> LogState | None:
    return replace(state, maintenance=None)


def _parked(state: LogState, body: Parked, note: Note) -> LogState | None:
    return replace(state, parked=note)


def _released(state: LogState, body: Released, note: Note) -> LogState | None:
    return replace(state, parked=None, failures=(), unasked_ends=(), accepts_unsafe=body.accepts_unsafe)


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
}
