"""A range as people write it."""

from datetime import datetime, timedelta

from streamops.backfill import AskedRange, OffsetBound, TimeBound
from streamops.backfill.asked import Bound
from streamops.control.backfill_plan import Offsets
from streamops.errors import SettingsError

EXPECTED = """a time with its zone such as 2026-11-28T14:00+01:00, or offsets such as '{"orders":{"0":100,"1":90}}'"""


def range_of(begin: str, end: str, *, slack: timedelta) -> AskedRange:
    """From two texts. SettingsError for what is no end of a range, ValueError for a negative slack."""
    return AskedRange(begin=_bound(begin, "from"), end=_bound(end, "to"), slack=slack)


def _bound(text: str, name: str) -> Bound:
    """A time with zone, or offsets as Spark's Kafka source writes them."""
    try:
        if text.lstrip().startswith("{"):
            return OffsetBound(offsets=Offsets.from_kafka(text))
        return TimeBound(at=datetime.fromisoformat(text.strip()))
    except ValueError as error:
        raise SettingsError(f"{name}: found {text!r}, expected {EXPECTED} ({error})") from error
