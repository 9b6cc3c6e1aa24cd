"""Figures for people, fine enough to compare: a step of 40 ms beside one of three seconds, bytes in their order of size."""

from datetime import timedelta


def fine(duration: timedelta) -> str:
    """`58 ms`, `1.24 s`, `75 s`, `12 min`, `6 h`, `4 d`."""
    seconds = duration.total_seconds()
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    for unit, length, limit in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 2 * 86400)):
        if seconds < limit:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds / 86400:.3g} d"


def percent(share: float) -> str:
    """`3.4 %`; what is not nothing is never shown as 0.0 %."""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def size(number: float) -> str:
    """`812 B`, `1.5 KiB`, `20 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1024
    return f"{number:,.1f} TiB"
