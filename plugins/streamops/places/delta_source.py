"""A checkpoint's Delta offsets beside the table that they were taken from."""

from dataclasses import dataclass
from enum import StrEnum

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.offsets import OffsetEntry
from streamops.checkpoint.source_offsets import DeltaOffset
from streamops.deltalog import DeltaTableFacts, PendingVersions, RemovedFile


class Fit(StrEnum):
    """How what a start reads lies in the table."""

    IN = "in"
    NOT_READ = "not-read"
    """No source of the checkpoint has read a Delta table, or none so far."""
    ANOTHER_TABLE = "another-table"
    REMOVED = "removed"
    """Commits that a start reads were cleaned up."""
    BEYOND = "beyond"
    """The table has not come so far, or has gone back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSourceFacts:
    """One answer."""

    fit: Fit
    version: int = -1
    """Of the table: what is missing, or lies beyond; -1 where nothing is."""
    reads_snapshot: bool = False
    """Whether a start reads the table as it was at its first version, before it reads commits."""
    first_needed: int = -1
    """The lowest version that a start reads; -1 where that is not known."""
    is_waiting: bool = False
    """Whether the table has anything that no committed batch has read."""
    unread: DeltaOffset | None = None
    """Where the commits begin of which that is true; None where none are, and within an initial snapshot."""
    in_flight: DeltaOffset | None = None
    """Where a batch in flight ends; None where none is."""


def delta_source(facts: CheckpointFacts, table: DeltaTableFacts) -> DeltaSourceFacts:
    """Whether a start finds the versions that it reads: from the end of the batch before the newest to that of the newest.

    That range is planned again even where the newest batch is committed (Spark 4.2.0 with delta-spark 4.4.0). The end of a
    version is written as the begin of the next one, which need not be there yet.
    """
    ends = _offsets(facts.newest)
    if not ends:
        return DeltaSourceFacts(fit=Fit.NOT_READ)
    end = _of_table(ends, table)
    if end is None:
        return DeltaSourceFacts(fit=Fit.ANOTHER_TABLE)
    if end.table_version > table.version + 1:
        return DeltaSourceFacts(fit=Fit.BEYOND, version=end.table_version)
    is_first_batch = facts.newest is not None and facts.newest.batch == 0
    start = _of_table(_offsets(facts.previous), table) or (None if is_first_batch else end)
    first_needed, reads_snapshot = _needed(start, end)
    earliest = table.version + 1 if table.earliest_commit is None else table.earliest_commit
    if first_needed < earliest:
        return DeltaSourceFacts(fit=Fit.REMOVED, version=first_needed, reads_snapshot=reads_snapshot)
    begin = start if facts.has_pending_batch else end
    is_waiting = begin is None or begin.is_starting_version or begin.table_version <= table.version
    return DeltaSourceFacts(
        fit=Fit.IN,
        reads_snapshot=reads_snapshot,
        first_needed=first_needed,
        is_waiting=is_waiting,
        unread=begin if begin and is_waiting and not begin.is_starting_version else None,
        in_flight=end if facts.has_pending_batch else None,
    )


def has_read(entry: OffsetEntry | None, table: DeltaTableFacts) -> bool:
    """Whether an entry has an offset of this table."""
    return _of_table(_offsets(entry), table) is not None


def _of_table(offsets: list[DeltaOffset], table: DeltaTableFacts) -> DeltaOffset | None:
    return next((offset for offset in offsets if offset.table_id == table.table_id), None)


def _needed(start: DeltaOffset | None, end: DeltaOffset) -> tuple[int, bool]:
    """The lowest version of the range, and whether it is read as a snapshot.

    The first batch has no start: its range begins with the snapshot of the version below its end (DeltaSource.getBatch, 4.4), or
    at a `startingVersion` that nobody knows here, but that lies no higher.
    """
    if start is not None:
        return start.table_version, start.is_starting_version
    if end.is_starting_version or end.index >= 0:
        return end.table_version, end.is_starting_version
    return max(end.table_version - 1, 0), True


def needed_files(source: DeltaSourceFacts, pending: PendingVersions) -> tuple[RemovedFile, ...]:
    """Data files that the query still has to read, and that the table has given up since, the next first.

    Of the version in which it goes on it has read those up to its offset's index.
    """
    begin = source.unread
    if begin is None:
        return ()
    place = (begin.table_version, begin.index)
    return tuple(file for file in pending.removed if (file.version, file.index) > place)


def is_in_flight(source: DeltaSourceFacts, file: RemovedFile) -> bool:
    """Whether the batch in flight reads a file that is needed: it ends behind it."""
    end = source.in_flight
    return end is not None and (file.version, file.index) <= (end.table_version, end.index)


def _offsets(entry: OffsetEntry | None) -> list[DeltaOffset]:
    return [offset for offset in entry.offsets if isinstance(offset, DeltaOffset)] if entry else []
