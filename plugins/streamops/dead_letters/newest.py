"""From which time on a table must be read for its newest rows, by the statistics of its files."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTimes:
    """A data file, as the table's log tells of it."""

    records: int
    first: datetime | None
    """The time of its oldest row; None where the log does not tell."""


def bound_for(files: Iterable[FileTimes], *, wanted: int) -> datetime | None:
    """A time from which on there are so many rows at least; None where the whole table must be read for them.

    All rows of a file whose oldest is not before the bound count. So the newest rows that were asked for lie behind it, in
    these files and in those that overlap them.
    """
    total = 0
    for file in sorted((file for file in files if file.first), key=_first, reverse=True):
        total += file.records
        if total >= wanted:
            return file.first
    return None


def _first(file: FileTimes) -> datetime:
    if file.first is None:
        raise AssertionError("a file without times was to be sorted by them")
    return file.first
