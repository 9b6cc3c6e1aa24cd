"""Durations as people write them: `500ms`, `10s`, `5m`, `2h`, `1d`."""

import re
from datetime import timedelta

EXPECTED = "a duration such as 500ms, 10s, 5m, 2h"

# Nine digits keep every unit inside of what timedelta can hold.
_DURATION = re.compile(r"(\d{1,9})(ms|s|m|h|d)")
_UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}


def parse_duration(value: object) -> timedelta:
    """The duration in a text; ValueError for anything else, a bare number included: it has no unit."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(EXPECTED)
    return int(match[1]) * _UNITS[match[2]]


def format_duration(duration: timedelta) -> str:
    """The duration in the largest unit that divides it: `90s`, not `1.5m`."""
    unit = next(
        unit for unit, length in _UNITS.items() if unit == "ms" or (duration and duration % length == timedelta(0))
    )
    return f"{duration // _UNITS[unit]}{unit}" if duration else "0s"
