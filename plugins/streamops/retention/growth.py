"""How fast a partition grows, by what was seen of it. Pure."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

DAY = timedelta(days=1)
LONGEST = timedelta(days=60)
"""Nothing is foretold beyond."""
RECENT = timedelta(hours=2)
"""What the pace is taken from where no whole day was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSample:
    """Both ends of a partition at one moment."""

    at: datetime
    earliest: int
    latest: int


def time_to_grow(samples: Sequence[EndSample], offsets: int, *, now: datetime) -> timedelta | None:
    """How long until so many more offsets are written; None where that does not happen within LONGEST.

    With a day and more on record the coming day is taken to be like the last one, hour by hour; with less, all time is like
    the last two hours.
    """
    if offsets <= 0:
        return timedelta(0)
    if len(samples) < 2:
        return None
    if samples[-1].at - samples[0].at >= DAY:
        return _like_the_last_day(samples, offsets)
    recent = [sample for sample in samples if sample.at >= samples[-1].at - RECENT]
    first, last = (recent if len(recent) > 1 else samples)[0], samples[-1]
    grown, took = last.latest - first.latest, last.at - first.at
    if grown <= 0 or took <= timedelta(0) or offsets / grown > LONGEST / took:
        return None
    return took * (offsets / grown)


def offsets_per_second(samples: Sequence[EndSample], end: Callable[[EndSample], int], *, within: timedelta) -> float:
    """How fast one end of a partition moved lately; 0 where too little was seen."""
    if not samples:
        return 0.0
    recent = [sample for sample in samples if sample.at >= samples[-1].at - within]
    first, last = (recent if len(recent) > 1 else samples)[0], samples[-1]
    took = (last.at - first.at).total_seconds()
    return (end(last) - end(first)) / took if took > 0 else 0.0


def written_at(samples: Sequence[EndSample], offset: int) -> datetime | None:
    """When an offset was written, as far as it was watched: the moment at which the log ended right behind it.

    None for one from before the first sample, and for one that is still to come.
    """
    if not samples or offset < samples[0].latest or offset >= samples[-1].latest:
        return None
    behind = bisect_right(samples, offset, key=lambda sample: sample.latest)
    before, after = samples[behind - 1], samples[behind]
    share = (offset + 1 - before.latest) / (after.latest - before.latest)
    return before.at + share * (after.at - before.at)


def _like_the_last_day(samples: Sequence[EndSample], offsets: int) -> timedelta | None:
    last = samples[-1]
    begin = last.at - DAY
    a_day = last.latest - round(_latest_at(samples, begin))
    if a_day <= 0:
        return None
    days, left = divmod(offsets, a_day)
    goal = _latest_at(samples, begin) + left
    low, high = begin, last.at
    # Twenty halvings of a day are a tenth of a second.
    for _ in range(20):
        middle = low + (high - low) / 2
        low, high = (middle, high) if _latest_at(samples, middle) < goal else (low, middle)
    return days * DAY + (high - begin) if days < LONGEST.days else None


def _latest_at(samples: Sequence[EndSample], moment: datetime) -> float:
    """The end of the log at a moment, between two samples on the line that joins them."""
    behind = bisect_right(samples, moment, key=lambda sample: sample.at)
    if behind == 0:
        return float(samples[0].latest)
    if behind == len(samples):
        return float(samples[-1].latest)
    before, after = samples[behind - 1], samples[behind]
    share = (moment - before.at) / (after.at - before.at)
    return before.latest + share * (after.latest - before.latest)
