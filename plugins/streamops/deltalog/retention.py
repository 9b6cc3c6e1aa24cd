"""How long a Delta table keeps what a reader of its older versions needs, by its properties."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

LOG_RETENTION = "delta.logRetentionDuration"
FILE_RETENTION = "delta.deletedFileRetentionDuration"
LOG_CLEANUP = "delta.enableExpiredLogCleanup"

_PART = re.compile(r"([+-]?\d{1,12})\s+([a-z]+)", re.ASCII)
_UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}
"""Delta refuses months and years, which have no fixed length (DeltaConfigs.parseCalendarInterval, 4.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRetention:
    """What a table's properties say; the defaults are Delta's own (4.4)."""

    log: timedelta | None = timedelta(days=30)
    """Of commits, from their files' time on; None where the property is not understood."""
    cleans_log: bool = True
    """Whether writers remove older commits when they write a checkpoint of the log."""
    deleted_files: timedelta | None = timedelta(weeks=1)
    """Of data files that a commit has removed: VACUUM leaves younger ones. None where the property is not understood."""


def retention_of(properties: Mapping[str, str | None]) -> TableRetention:
    """What the properties of a table say, and the defaults for those that it has not."""
    own = TableRetention()
    log, files = properties.get(LOG_RETENTION), properties.get(FILE_RETENTION)
    cleans = (properties.get(LOG_CLEANUP) or "true").strip().lower()
    return TableRetention(
        log=own.log if log is None else interval(log),
        cleans_log=cleans != "false",
        deleted_files=own.deleted_files if files is None else interval(files),
    )


def interval(text: str) -> timedelta | None:
    """`interval 30 days`, `1 week 2 hours`; None for anything else, and for a negative one."""
    rest = text.strip().lower().removeprefix("interval").strip()
    found, total = _PART.findall(rest), timedelta(0)
    if not found or _PART.sub("", rest).strip():
        return None
    for count, unit in found:
        length = _UNITS.get(unit.removesuffix("s"))
        if length is None:
            return None
        try:
            total += int(count) * length
        except OverflowError:
            return None
    return total if total >= timedelta(0) else None
