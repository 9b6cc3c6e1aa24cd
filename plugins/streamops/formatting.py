"""How durations, moments and lists are said at a glance."""

from collections.abc import Sequence
from datetime import datetime, timedelta


def brief(duration: timedelta) -> str:
    """A duration at a glance: `7s`, `12m`, `3h`, `4d`."""
    seconds = int(duration.total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def moment(at: datetime) -> str:
    """`2026-03-01 12:00:15`, in UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S}"


def left(until: datetime | None, now: datetime) -> str:
    """How long it is until a moment, or since; empty for none."""
    if until is None:
        return ""
    return brief(until - now) if until > now else f"over since {brief(now - until)}"


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(texts: Sequence[str], most: int) -> str:
    """`a, b, c`, and ` …` after them where there are more than `most`."""
    return ", ".join(texts[:most]) + (" …" if len(texts) > most else "")
