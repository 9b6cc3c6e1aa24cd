"""How fast a topic grows, and when a query that reads faster has caught up. Pure."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from streamops.progress import ProgressEvent, ProgressHistory

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


BATCHES = 20
"""The last ones that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What a query was seen to get through."""

    records_per_second: float
    is_loaded: bool
    """Whether its batches left something behind, so that it is what it can do. Else it can do at least so much: a small
    batch costs nearly as much time as a large one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Until nothing waits any more."""

    duration: timedelta | None
    """None where it is not known, and for never."""
    is_never: bool = False
    """Whether more is written than it gets through."""
    reason: str = ""


def throughput_of(
    history: ProgressHistory, *, most: int | None = None, interval: timedelta = timedelta(0)
) -> Throughput | None:
    """The throughput of a driver's queries; None before a batch has read anything.

    `most`: records of one batch, Spark's `maxOffsetsPerTrigger`; `interval`: from one batch to the next, at least.
    """
    batches = [event for event in history.events if event.has_run and event.input_rows and event.duration][-BATCHES:]
    loaded = [event for event in batches if event.has_backlog]
    if not batches:
        return None
    seen = median(map(_speed, loaded)) if loaded else max(map(_speed, batches))
    limit = most / interval.total_seconds() if most and interval else seen
    return Throughput(records_per_second=min(seen, limit), is_loaded=bool(loaded) or limit < seen)


def catch_up(lag: int, throughput: Throughput | None, *, growth: float) -> CatchUp:
    """How long it takes from a start on, while `growth` more records a second are written."""
    if not lag:
        return CatchUp(duration=timedelta(0))
    if throughput is None:
        return CatchUp(duration=None, reason="how fast the query reads is not known: no batch of it was seen")
    reads = throughput.records_per_second
    told = f"it reads {reads:.0f} records a second and {growth:.0f} are written"
    if reads > growth:
        seconds = min(lag / (reads - growth), LONGEST.total_seconds())
        return CatchUp(duration=timedelta(seconds=round(seconds)), reason=told)
    if throughput.is_loaded:
        return CatchUp(duration=None, is_never=True, reason=f"{told}: as it is, it never catches up")
    return CatchUp(duration=None, reason=f"it was only seen to read {reads:.0f} records a second while nothing waited")


def _speed(event: ProgressEvent) -> float:
    return event.input_rows / max(0.001, event.duration.total_seconds() if event.duration else 0.0)
