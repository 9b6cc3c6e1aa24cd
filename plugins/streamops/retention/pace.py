"""What becomes of a deadline while the query reads on: it gains, or what is deleted closes in on it. Pure.

A record that waits has its deadline; a query that reads is past it long before. So a living query loses nothing while it keeps
pace, and where it does not, after headroom = distance to the earliest offset / (pace of the deletions - its own pace).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.retention.forecast import Basis, Forecast, Waiting, jumps
from streamops.retention.growth import DAY, LONGEST, EndSample, offsets_per_second
from streamops.retention.past import PlaceSample

STANDSTILL = timedelta(minutes=15)
"""A query whose place has not moved for so long does not read: it is dead, or in a batch that decides nothing yet."""
RECENT = timedelta(hours=1)
"""What its pace is taken from: several batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Of a query that reads, and of what is behind it; offsets a second."""

    reads: float
    closes: float
    """How fast the earliest offset may come: as it did on the last day, or as fast as records are written now, whichever
    is more. What is written now is deleted at that pace one day."""
    is_at_head: bool
    """Whether all that waits was written within the last quarter of an hour."""

    @property
    def keeps(self) -> bool:
        """Whether nothing closes in."""
        return self.is_at_head or self.reads >= self.closes


def pace_of(starts: Sequence[PlaceSample], ends: Sequence[EndSample]) -> Pace | None:
    """The pace by earlier looks, the present one last; None where the query was not seen to read."""
    if len(starts) < 2 or len(ends) < 2:
        return None
    last = starts[-1]
    recent = [sample for sample in starts if sample.at >= last.at - RECENT]
    lately = next(sample for sample in starts if sample.at >= last.at - STANDSTILL)
    if len(recent) < 2 or lately.start >= last.start:
        return None
    took = (last.at - recent[0].at).total_seconds()
    written = offsets_per_second(ends, lambda sample: sample.latest, within=RECENT)
    deleted = offsets_per_second(ends, lambda sample: sample.earliest, within=DAY)
    return Pace(
        reads=(last.start - recent[0].start) / took,
        closes=max(written, deleted),
        is_at_head=ends[-1].latest - last.start <= written * STANDSTILL.total_seconds(),
    )


def with_pace(foretold: Forecast, waiting: Waiting, pace: Pace, *, now: datetime, margin: timedelta) -> Forecast:
    """The forecast for a query that reads.

    `margin`: where the record that waits is deleted so soon, and is nearer to that than to the moment at which it was
    written, the moment stays in the answer: a burst is enough to lose it.
    """
    if foretold.basis in (Basis.NOTHING_TO_LOSE, Basis.KEPT):
        return foretold
    told = f"it reads {_a_minute(pace.reads)} offsets a minute, and {_a_minute(pace.closes)} may be deleted"
    if pace.keeps:
        near = _near_the_edge(foretold, waiting, now, margin)
        return Forecast(basis=Basis.KEEPS_PACE, not_before=near, expected=near and foretold.expected, reason=told)
    closing, left = pace.closes - pace.reads, waiting.start - waiting.earliest
    step = max(jumps(waiting.samples), default=0)
    soonest, expected = now + _until(left - step, closing), now + _until(left, closing)
    # What waits now is there until its own time is over, whatever the paces are.
    own = foretold.not_before or now
    return Forecast(
        basis=Basis.HEADROOM,
        not_before=max(soonest, own),
        expected=max(expected, foretold.expected or now),
        reason=f"what is deleted closes in on the query: {told}",
    )


def _near_the_edge(foretold: Forecast, waiting: Waiting, now: datetime, margin: timedelta) -> datetime | None:
    if foretold.not_before is None or waiting.record_time is None:
        return None
    left = foretold.not_before - now
    return foretold.not_before if left < min(margin, now - waiting.record_time) else None


def _until(offsets: int, closing: float) -> timedelta:
    seconds = max(0, offsets) / closing
    return min(LONGEST, timedelta(seconds=min(seconds, LONGEST.total_seconds())))


def _a_minute(pace: float) -> str:
    return f"{60 * pace:.0f}"
