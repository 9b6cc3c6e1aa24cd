"""Whether the state of a query grows without end, by what earlier checks saw. Quiet where it only comes and goes.

A query without a watermark never lets go of a row; with one, state follows the input of a window's length. So a check is
compared with a whole day of others: most inputs have the rhythm of a day, and each quarter of it has to stand higher.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.diagnosis.expectations import Expectations
from streamops.diagnosis.sample import HealthSample
from streamops.diagnosis.watch import Watch
from streamops.verdict import Finding, Severity

DAY = timedelta(days=1)
QUARTERS = 4
GROWN = 1.2
"""Times as much as a day ago, at least: less may be the input's own growth."""
MANY_ROWS = 10_000
MUCH_MEMORY = 64 * 1024 * 1024
"""Bytes. Below both nothing is worth a warning, however it grows."""
AHEAD = timedelta(days=30)
"""How far a growth is carried forward."""


def unbounded_state(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """Rows or memory of state have gone up for a whole day: what is never removed ends in a full disk or memory."""
    told = growth_told(watch)
    if not told:
        return
    yield Finding(
        rule="unbounded-state",
        severity=Severity.WARNING,
        file="state",
        evidence=told,
        meaning="state that only grows makes each batch and each start slower, until memory or disk is full",
        repair="see to a watermark on each stateful operator, and that it moves; without one, aggregations, drop of duplicates"
        " and joins keep every key for ever. `streamops estimate state` tells what each operator keeps",
        not_when="while a window longer than the time since the start fills up, or where the number of keys has a limit that"
        " is not reached yet",
    )


def growth_told(watch: Watch) -> str:
    """How state has grown in the last day, in words; empty where it has not, or where that is not known."""
    rows = _growth(watch, watch.state_rows, lambda sample: sample.state_rows, least=MANY_ROWS)
    memory = _growth(watch, watch.state_memory, lambda sample: sample.state_memory, least=MUCH_MEMORY)
    told = [
        *((rows.in_words(lambda count: f"{count:,.0f} rows"),) if rows else ()),
        *((memory.in_words(lambda count: f"{count / (1 << 20):,.0f} MiB of memory"),) if memory else ()),
    ]
    return "; ".join(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Growth:
    """How a figure went up within a day."""

    before: int
    """A day ago."""
    now: int

    def in_words(self, told: Callable[[float], str]) -> str:
        ahead = self.now + (self.now - self.before) * (AHEAD / DAY)
        return (
            f"{told(self.now)}, {self.now / self.before - 1:.0%} more than a day ago,"
            f" {told(ahead)} in {AHEAD.days} days at this pace"
        )


def _growth(
    watch: Watch, now: int | None, earlier: Callable[[HealthSample], int | None], *, least: int
) -> _Growth | None:
    """The growth over the last day; None where it was not watched for so long, or has not gone up in each quarter of it."""
    if now is None or now < least:
        return None
    seen = [(sample.at, count) for sample in watch.before if (count := earlier(sample)) is not None]
    before = [count for at, count in seen if at <= watch.now - DAY]
    if not before or before[-1] <= 0 or now < GROWN * before[-1]:
        return None
    lows = _lows([*seen, (watch.now, now)], watch.now)
    is_rising = len(lows) == QUARTERS and all(low < high for low, high in pairwise(lows))
    return _Growth(before=before[-1], now=now) if is_rising else None


def _lows(seen: Sequence[tuple[datetime, int]], now: datetime) -> list[int]:
    """The lowest figure of each quarter of the last day that has one, the oldest first."""
    length = DAY / QUARTERS
    quarters = [
        [count for at, count in seen if now - (left + 1) * length < at <= now - left * length]
        for left in reversed(range(QUARTERS))
    ]
    return [min(quarter) for quarter in quarters if quarter]
