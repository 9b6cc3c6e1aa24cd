"""Who did what, when, why, and with what outcome: the control log in the words of whoever asks. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from streamops.control.records import (
    Acknowledged,
    ActBegun,
    ActEnded,
    Adopted,
    Body,
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
    VerdictChanged,
)
from streamops.failures.classify import cause_of
from streamops.formatting import counted
from streamops.operations.log_tail import UnreadableRecord

Entries = Sequence[Record | UnreadableRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """What the teller of one kind of record adds to who, when and why."""

    what: str
    outcome: str = ""
    took: timedelta | None = None
    epoch: int | None = None
    failure_class: str = ""
    error: str = ""
    is_act: bool = False


def tell_record(body: Body, around: "RecordContext") -> HistoryLine | None:
    """The telling of one record; None for one that is told with an earlier one."""
    teller = _TELLERS.get(type(body))
    return teller(body, around) if teller else HistoryLine(what=body.kind)


class RecordContext:
    """The records before and behind one record."""

    def __init__(self, records: Entries, index: int) -> None:
        self._records = records
        self._index = index

    def first_behind(self, *kinds: type, when: Callable[[Any], bool] = lambda body: True) -> Record | None:
        """The first later record of one of these kinds."""
        return next(_matching(islice(self._records, self._index + 1, None), kinds, when), None)

    def last_before(self, *kinds: type, when: Callable[[Any], bool] = lambda body: True) -> Record | None:
        """The last earlier record of one of these kinds."""
        return next(_matching(reversed(self._records[: self._index]), kinds, when), None)

    def until(self, later: Record) -> timedelta:
        """From this record to a later one; clocks of two hosts may say less than nothing, which is nothing."""
        return self.between(self._records[self._index], later)

    def since(self, earlier: Record) -> timedelta:
        """From an earlier record to this one."""
        return self.between(earlier, self._records[self._index])

    @staticmethod
    def between(earlier: Record | UnreadableRecord, later: Record | UnreadableRecord) -> timedelta:
        """Nothing where one of them has no time."""
        if isinstance(earlier, UnreadableRecord) or isinstance(later, UnreadableRecord):
            return timedelta(0)
        return max(timedelta(0), later.at - earlier.at)


def _matching(
    records: Iterable[Record | UnreadableRecord], kinds: tuple[type, ...], when: Callable[[Any], bool]
) -> Iterator[Record]:
    for record in records:
        if isinstance(record, Record) and isinstance(record.body, kinds) and when(record.body):
            yield record


def _of_epoch(epoch: int) -> Callable[[Any], bool]:
    return lambda body: bool(body.epoch == epoch)


def _claimed(body: Claimed, around: RecordContext) -> HistoryLine:
    accepted = ", unsafe start accepted" if body.accepts_unsafe else ""
    lost = f", {counted(body.given_up, 'Kafka offset')} passed over" if body.given_up else ""
    what = f"start of epoch {body.epoch}{accepted}{lost}{_not_ours(body, around)}"
    came = around.first_behind(Submitted, DriverEnded, when=_of_epoch(body.epoch))
    if came is None:
        return HistoryLine(what=what, outcome="not submitted yet", epoch=body.epoch)
    outcome = "submitted" if isinstance(came.body, Submitted) else "never submitted"
    return HistoryLine(what=what, outcome=outcome, took=around.until(came), epoch=body.epoch)


def _not_ours(body: Claimed, around: RecordContext) -> str:
    """Batches between what the driver before had committed and what this one found."""
    before = around.last_before(
        DriverEnded, Adopted, when=lambda ended: getattr(ended, "epoch", body.epoch) >= body.epoch - 1
    )
    known = before.body.position if before and isinstance(before.body, DriverEnded | Adopted) else None
    if known is None or body.position.commit <= known.commit:
        return ""
    return f", behind {_batches(known.commit, body.position.commit)} by somebody else"


def _submitted(body: Submitted, around: RecordContext) -> HistoryLine | None:
    if around.last_before(Claimed, when=_of_epoch(body.epoch)):
        return None
    return HistoryLine(what=f"submit of epoch {body.epoch}", epoch=body.epoch)


def _kill_begun(body: KillBegun, around: RecordContext) -> HistoryLine:
    gone = around.first_behind(DriverEnded, when=_of_epoch(body.epoch))
    return HistoryLine(
        what=f"kill of epoch {body.epoch}",
        outcome="gone" if gone else "not proven gone",
        took=around.until(gone) if gone else None,
        epoch=body.epoch,
    )


def _driver_ended(body: DriverEnded, around: RecordContext) -> HistoryLine:
    claim = around.last_before(Claimed, when=_of_epoch(body.epoch))
    begun = around.last_before(Submitted, when=_of_epoch(body.epoch))
    lines = [str(body.outcome)]
    if body.failure_class and body.failure_class != body.outcome:
        lines.append(body.failure_class)
    if claim and isinstance(claim.body, Claimed):
        lines += _batches_by_query(claim.body.position, body.position)
    is_act = body.outcome is Outcome.CONFIRMED_DEAD
    return HistoryLine(
        what=f"epoch {body.epoch} {'called dead' if is_act else 'ended'}",
        outcome=", ".join(lines),
        took=around.since(begun) if begun else None,
        epoch=body.epoch,
        failure_class=body.failure_class,
        error=cause_of(body.outcome, body.text, body.error_classes),
        is_act=is_act,
    )


def _batches_by_query(before: Position, after: Position) -> list[str]:
    """Each query counts its own batches: with several in one driver each is named."""
    own = _batches(before.commit, after.commit)
    if not after.companions:
        return [own]
    begun = [companion.commit for companion in before.companions]
    begun += [-1] * (len(after.companions) - len(begun))
    others = (
        f"companion {number}: {_batches(commit, companion.commit)}"
        for number, (commit, companion) in enumerate(zip(begun, after.companions, strict=False))
    )
    return [f"its own query: {own}", *others]


def _batches(before: int, after: int) -> str:
    if after <= before:
        return "no batch committed"
    return f"batch {after} committed" if after == before + 1 else f"batches {before + 1} to {after} committed"


def _stop_requested(body: StopRequested, around: RecordContext) -> HistoryLine:
    what = "stop, forced" if body.force else "stop"
    if body.epoch == 0 or around.last_before(DriverEnded, when=_of_epoch(body.epoch)):
        return HistoryLine(what=what, outcome="no driver lived", is_act=True)
    end = around.first_behind(DriverEnded, StartRequested, when=lambda b: getattr(b, "epoch", body.epoch) == body.epoch)
    if end is None:
        return HistoryLine(what=what, outcome=f"epoch {body.epoch} not ended yet", epoch=body.epoch, is_act=True)
    taken_back = isinstance(end.body, StartRequested)
    outcome = f"taken back by {end.by.actor}" if taken_back else f"epoch {body.epoch} ended"
    return HistoryLine(what=what, outcome=outcome, took=around.until(end), epoch=body.epoch, is_act=True)


def _restart_requested(body: RestartRequested, around: RecordContext) -> HistoryLine:
    what = f"restart{', forced' if body.force else ''}{', stuck' if body.is_stuck else ''}"
    of_epoch = _of_epoch(body.epoch)
    end = around.last_before(DriverEnded, when=of_epoch) or around.first_behind(DriverEnded, when=of_epoch)
    waits_for = f"epoch {body.epoch} ended, no driver since" if end else f"epoch {body.epoch} not ended yet"
    return replace(_with_driver(what, around, otherwise=waits_for, above=body.epoch), is_act=not body.is_stuck)


def _with_driver(what: str, around: RecordContext, *, otherwise: str = "", above: int = 0) -> HistoryLine:
    """An act that a driver follows, unless something else comes first."""
    came = around.first_behind(
        Submitted, StopRequested, Parked, when=lambda body: not isinstance(body, Submitted) or body.epoch > above
    )
    if came is None:
        return HistoryLine(what=what, outcome=otherwise or "no driver since", is_act=True)
    epoch = None
    match came.body:
        case Submitted():
            outcome, epoch = f"epoch {came.body.epoch} submitted", came.body.epoch
        case Parked():
            outcome = f"parked again: {came.reason}"
        case _:
            outcome = f"stopped by {came.by.actor}"
    return HistoryLine(what=what, outcome=outcome, took=around.until(came), epoch=epoch, is_act=True)


def _released(body: Released, around: RecordContext) -> HistoryLine:
    accepted = ", unsafe start accepted" if body.accepts_unsafe else ""
    if body.accepts_expired:
        accepted = ", loss of expired records accepted"
    return _with_driver(f"release{accepted}", around)


def _parked(body: Parked, around: RecordContext) -> HistoryLine:
    release = around.first_behind(Released)
    outcome = f"released by {release.by.actor}" if release else "not released yet"
    return HistoryLine(what="parked", outcome=outcome, took=around.until(release) if release else None)


def _maintenance_begun(body: MaintenanceBegun, around: RecordContext) -> HistoryLine:
    end = around.first_behind(MaintenanceEnded)
    what = f"{f'{body.run} run' if body.run else 'maintenance'} until {body.until.isoformat(timespec='seconds')}"
    return HistoryLine(
        what=what, outcome="ended" if end else "not ended yet", took=around.until(end) if end else None, is_act=True
    )


def _act_begun(body: ActBegun, around: RecordContext) -> HistoryLine:
    end = around.first_behind(ActEnded, when=lambda ended: bool(ended.plan == body.plan))
    outcome = end.body.outcome if end and isinstance(end.body, ActEnded) else "not ended yet"
    return HistoryLine(
        what=f"{body.act}, plan {body.plan}", outcome=outcome, took=around.until(end) if end else None, is_act=True
    )


def _act_ended(body: ActEnded, around: RecordContext) -> HistoryLine | None:
    if around.last_before(ActBegun, when=lambda begun: bool(begun.plan == body.plan)):
        return None
    return HistoryLine(what=f"end of {body.act}, plan {body.plan}", outcome=body.outcome, is_act=True)


def _verdict_changed(body: VerdictChanged, around: RecordContext) -> HistoryLine:
    before = f", {body.before} before" if body.before else ""
    return HistoryLine(what=f"checkpoint judged {body.after}{before}", outcome=", ".join(body.rules))


_TELLERS: dict[type, Callable[[Any, RecordContext], HistoryLine | None]] = {
    Adopted: lambda body, around: _with_driver("adopt", around),
    Claimed: _claimed,
    Submitted: _submitted,
    KillBegun: _kill_begun,
    DriverEnded: _driver_ended,
    StopRequested: _stop_requested,
    StartRequested: lambda body, around: _with_driver("start", around),
    RestartRequested: _restart_requested,
    MaintenanceBegun: _maintenance_begun,
    MaintenanceEnded: lambda body, around: (
        None if around.last_before(MaintenanceBegun) else HistoryLine(what="end of maintenance", is_act=True)
    ),
    Parked: _parked,
    Released: _released,
    Acknowledged: lambda body, around: HistoryLine(
        what=f"unsafe starts up to epoch {body.epoch} acknowledged", is_act=True
    ),
    ActBegun: _act_begun,
    ActEnded: _act_ended,
    VerdictChanged: _verdict_changed,
    UnknownBody: lambda body, around: HistoryLine(what=f"{body.kind}, a record of a newer version"),
}


READ_LIMIT = 2000
"""Records that one answer reads at most, whatever is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One thing that was done, or that happened."""

    number: int
    """Of its record in the control log."""
    what: str
    at: datetime | None = None
    """None for a record that can't be read."""
    actor: str = ""
    host: str = ""
    why: str = ""
    outcome: str = ""
    took: timedelta | None = None
    """From the record until the outcome was on record, by the clocks of those who wrote them."""
    epoch: int | None = None
    failure_class: str = ""
    error: str = ""
    """First line of what an ended driver left."""
    is_act: bool = False
    """Whether somebody asked for it, rather than a supervisor doing its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The newest entries, oldest first."""

    stream: str
    entries: tuple[HistoryEntry, ...]
    is_whole: bool
    """False when older entries may exist that were not read."""


def newest_history(
    stream: str, backwards: Iterable[Record | UnreadableRecord], *, limit: int, acts_only: bool = False
) -> History:
    """The last entries of a log that is read from its end; no more records are taken than these need."""
    read: list[Record | UnreadableRecord] = []
    source = islice(backwards, READ_LIMIT)
    entries: tuple[HistoryEntry, ...] = ()
    # Twice the limit at first, since a start, like an act, is two records and one entry; then as many again.
    while len(entries) <= limit and (block := list(islice(source, max(2 * limit, 50, len(read))))):
        read.extend(block)
        entries = tuple(entry for entry in tell(read[::-1]) if entry.is_act or not acts_only)
    reaches_the_first = not read or read[-1].number == 0
    return History(stream=stream, entries=entries[-limit:], is_whole=reaches_the_first and len(entries) <= limit)


def tell(records: Entries) -> Iterator[HistoryEntry]:
    """The entries of consecutive records, in order. What belongs to an entry before it is told there."""
    for index, record in enumerate(records):
        if isinstance(record, UnreadableRecord):
            yield HistoryEntry(number=record.number, what="unreadable record", why=record.trouble)
            continue
        around = RecordContext(records, index)
        if telling := tell_record(record.body, around):
            yield HistoryEntry(
                number=record.number,
                at=record.at,
                actor=record.by.actor,
                host=record.by.host,
                why=record.reason,
                what=telling.what,
                outcome=telling.outcome,
                took=telling.took,
                epoch=telling.epoch,
                failure_class=telling.failure_class,
                error=telling.error,
                is_act=telling.is_act,
            )
