"""A range of a Delta table in versions, by what its log still has, and in steps. Pure.

Versions are named with both ends belonging to the range; a time stands for the first version that was written then or later, and
that of the end does not belong to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from streamops.backfill.asked import (
    Bound,
    ExpiredVersions,
    RangeRefused,
    RequestedRange,
    StepsFound,
    TimeBound,
    VersionBound,
)
from streamops.control.backfill_places import TablePlace
from streamops.control.backfill_plan import Counted
from streamops.deltalog import RemovedFile
from streamops.deltalog.versions import VersionContent, WrittenVersion

MOST_VERSIONS = 1_000
"""Of a step, however few records they hold."""
_TOLERATING = frozenset({"ignorechanges", "ignoredeletes", "skipchangecommits", "readchangefeed"})
"""Options of Delta's source that say what becomes of versions that take rows away (DeltaOptions, delta-spark 4.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRange:
    """Versions `first` to `last`, both of them included, as far as they are there."""

    first: int
    last: int
    missing: ExpiredVersions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedTable:
    """A table as it is asked of: what its log has, and how the stream reads it."""

    table_id: str
    address: str
    written: tuple[WrittenVersion, ...]
    """The commits that are there."""
    options: Mapping[str, str]
    """Of the stream's source."""


def find_versions(
    asked: RequestedRange, table: RequestedTable, *, accepts_expired: bool
) -> VersionRange | RangeRefused:
    """Which versions a range stands for, and whether they are there.

    Order: an end that means nothing here, an empty range, versions that are not there yet, those that are there no more.
    """
    first, last = _first(asked.begin, table), _last(asked.end, table)
    if first is None or last is None:
        return RangeRefused(
            reasons=(f"the range {asked} names no versions of a Delta table",),
            way_out="name both ends as versions (v12) or as times with a zone",
        )
    if not table.written:
        return RangeRefused(reasons=(f"{table.address} has no commit",), way_out="look at the table's log")
    newest, earliest = table.written[-1].version, table.written[0].version
    if first > last:
        return RangeRefused(reasons=("the range is empty: no version belongs to it",), way_out="ask for another range")
    if last > newest:
        return RangeRefused(
            reasons=(f"version {last} is not there yet: the table is at version {newest}",),
            way_out="ask for a range that the table has",
        )
    missing = _missing(first, last, table)
    if missing is None:
        return VersionRange(first=first, last=last)
    if not accepts_expired or missing.first > first or missing.last >= last:
        return RangeRefused(
            reasons=("the log was cleaned up: commits of the range are removed",),
            way_out=f"begin at version {earliest} or later, or accept that they are missing"
            if missing.first == first and missing.last < last
            else "ask for a range that the log has as a whole",
            expired=(missing,),
        )
    return VersionRange(first=missing.last + 1, last=last, missing=missing)


def steps_of_versions(
    found: VersionRange,
    table: RequestedTable,
    contents: Sequence[VersionContent],
    removed: Sequence[RemovedFile],
    *,
    is_by_time: bool,
    records: int,
) -> StepsFound | RangeRefused:
    """The range in steps of at most so many records, or versions where the log does not tell of records.

    `contents` of each of its versions; `removed` are files that commits from its begin on have added and later ones removed.
    """
    if is_by_time and any(content.has_own_time for content in contents):
        return RangeRefused(
            reasons=("the table's commits say themselves when they were written, and that is not read here",),
            way_out="name the ends as versions, from DESCRIBE HISTORY",
        )
    vacuumed = sorted({file.version for file in removed if file.is_there is False and file.version <= found.last})
    if vacuumed:
        return RangeRefused(
            reasons=("data files of the range are deleted (VACUUM)",),
            way_out=f"begin behind version {vacuumed[-1]}, or restore the files",
            expired=tuple(
                ExpiredVersions(table=table.address, first=one, last=one, what="data files") for one in vacuumed
            ),
        )
    taking = [content.version for content in contents if content.removes_rows]
    if taking and not any(name.lower() in _TOLERATING for name in table.options):
        return RangeRefused(
            reasons=(f"version {taking[0]} takes rows away, and a stream ends with an error there",),
            way_out="declare skipChangeCommits or ignoreDeletes with the source, or leave the version out",
        )
    known = [content.records for content in contents if content.records is not None]
    counted_in = Counted.RECORDS if len(known) == len(contents) and any(known) else Counted.VERSIONS
    start = TablePlace(table_id=table.table_id, version=found.first, taken=0)
    return StepsFound(
        start=start,
        chunks=_steps(start, contents, counted_in, records=records),
        counted_in=counted_in,
        expired=(found.missing,) if found.missing else (),
        notes=tuple(_notes(found, taking)),
    )


def _steps(
    start: TablePlace, contents: Sequence[VersionContent], counted_in: Counted, *, records: int
) -> tuple[TablePlace, ...]:
    """Whole versions each: a step ends before a version that would make it too large, and has one at least."""
    ends: list[TablePlace] = []
    taken, began_at, began_with = 0, start.version, 0
    for content in contents:
        size = (content.records or 0) if counted_in is Counted.RECORDS else 1
        is_full = taken - began_with + size > records or content.version - began_at >= MOST_VERSIONS
        if is_full and content.version > began_at:
            ends.append(TablePlace(table_id=start.table_id, version=content.version, taken=taken))
            began_at, began_with = content.version, taken
        taken += size
    ends.append(TablePlace(table_id=start.table_id, version=contents[-1].version + 1, taken=taken))
    return tuple(ends)


def _first(bound: Bound, table: RequestedTable) -> int | None:
    if isinstance(bound, VersionBound):
        return bound.version
    return _at(bound.at, table) if isinstance(bound, TimeBound) else None


def _last(bound: Bound, table: RequestedTable) -> int | None:
    if isinstance(bound, VersionBound):
        return bound.version
    return _at(bound.at, table) - 1 if isinstance(bound, TimeBound) else None


def _at(moment: datetime, table: RequestedTable) -> int:
    """The first version that was written then or later; the next one where none was."""
    later = (one.version for one in table.written if one.written_at >= moment)
    return next(later, table.written[-1].version + 1 if table.written else 0)


def _missing(first: int, last: int, table: RequestedTable) -> ExpiredVersions | None:
    """From the first commit that is not there to the last. Whoever asks knows that the table has come to `last`."""
    there = [one.version for one in table.written if first <= one.version <= last]
    if len(there) == last - first + 1:
        return None
    known = set(there)
    lowest = next(version for version in range(first, last + 1) if version not in known)
    highest = next(version for version in range(last, first - 1, -1) if version not in known)
    return ExpiredVersions(table=table.address, first=lowest, last=highest, what="commits")


def _notes(found: VersionRange, taking: Sequence[int]) -> list[str]:
    notes = ["A version is read as it was committed; what later versions changed of its rows is not looked at."]
    if taking:
        notes.append(
            f"{len(taking)} versions of the range take rows away: the source's options say what becomes of them."
        )
    if found.missing:
        notes.append(f"Removed already, and missing by leave: {found.missing}.")
    return notes
