"""A range as people write it."""

import re
from datetime import datetime, timedelta

from streamops.backfill import OffsetBound, PatternBound, RequestedRange, TimeBound, VersionBound
from streamops.backfill.asked import Bound
from streamops.control.kafka_offsets import Offsets
from streamops.errors import SettingsError

EXPECTED = (
    """a time with its zone such as 2026-11-28T14:00+01:00, offsets such as '{"orders":{"0":100,"1":90}}', a version of a Delta"""
    """ table such as v12, or files of a folder such as 'files:2026/11/*.json'"""
)
FILES = "files:"
_VERSION = re.compile(r"v(\d{1,18})", re.ASCII)


def range_of(begin: str, end: str, *, slack: timedelta) -> RequestedRange:
    """From two texts, the second of which may be left out for files. SettingsError for what is no end of a range.

    ValueError for a negative slack.
    """
    if begin.startswith(FILES) and not end:
        end = begin
    return RequestedRange(begin=_bound(begin, "from"), end=_bound(end, "to"), slack=slack)


def _bound(text: str, name: str) -> Bound:
    """A time with zone, offsets as Spark's Kafka source writes them, a version, or files by a pattern."""
    try:
        if text.lstrip().startswith("{"):
            return OffsetBound(offsets=Offsets.from_kafka(text))
        if version := _VERSION.fullmatch(text.strip()):
            return VersionBound(version=int(version[1]))
        if text.startswith(FILES):
            return PatternBound(pattern=text.removeprefix(FILES))
        return TimeBound(at=datetime.fromisoformat(text.strip()))
    except ValueError as error:
        raise SettingsError(f"{name}: found {text!r}, expected {EXPECTED} ({error})") from error
