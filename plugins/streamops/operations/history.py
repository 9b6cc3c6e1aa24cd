"""Who did what, when, why, and with what outcome: the control log in the words of whoever asks. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from streamops.control.records import Record
from streamops.operations.history_tellers import Entries, RecordContext, tell_record
from streamops.operations.log_tail import UnreadableRecord

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
