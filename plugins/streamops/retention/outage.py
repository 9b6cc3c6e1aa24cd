"""How fast a query reads, and how long it may be down so that it loses nothing. Pure.

A record that waits has its deadline; a query that reads is past it long before. So a living query loses nothing while it keeps
pace, and where it does not, after headroom = distance to the earliest offset / (pace of the deletions - its own pace).

A limit of time says so itself. How long a limit of size lasts depends on what is written: that is known only where looks have
seen the partition delete, and by what they saw. Where they have not, nothing is said.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from streamops.kafka import TopicFacts, TopicRetention
from streamops.retention.forecast import Basis, Forecast, Waiting, jumps, kept_after_deletions
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
    told = (
        f"when it was last seen reading, it read {_a_minute(pace.reads)} offsets a minute, and Kafka may delete"
        f" {_a_minute(pace.closes)} a minute"
    )
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


_MILLISECOND = timedelta(milliseconds=1)

Ends = Callable[[str, int], Sequence[EndSample]]
"""Both ends of a partition over time, oldest first."""


def shortfalls(topics: Iterable[TopicFacts], *, ends: Ends, tolerated: timedelta, restart: timedelta) -> Iterator[str]:
    """For each topic that keeps its records too short: what it keeps, and what it would have to."""
    needed = tolerated + restart
    for topic in topics:
        if topic.retention is None or not topic.retention.is_deleting:
            continue
        for found, need in (_of_time(topic.retention, needed), _of_size(topic, topic.retention, ends, needed)):
            if found:
                yield (
                    f"{topic.topic}: an outage of {_told(tolerated)} is said to be tolerated, and {found}: the outage and"
                    f" the restart after it need {need}"
                )


def _of_time(retention: TopicRetention, needed: timedelta) -> tuple[str, str]:
    """What is kept and what is needed, in words; empty where it suffices."""
    kept = retention.time
    if kept is None or kept >= needed:
        return "", ""
    found = f"records are kept for {_told(kept)} (retention.ms {kept // _MILLISECOND})"
    return found, f"retention.ms {needed // _MILLISECOND}"


def _of_size(topic: TopicFacts, retention: TopicRetention, ends: Ends, needed: timedelta) -> tuple[str, str]:
    """The same, by the partition in which records lasted shortest."""
    if retention.size is None:
        return "", ""
    seen = [
        (lasted, facts.partition)
        for facts in topic.partitions
        for lasted in _lasted(ends(topic.topic, facts.partition))
        # What may have gone by its time says nothing of the size.
        if retention.time is None or lasted < retention.time
    ]
    lasted, partition = min(seen, default=(needed, 0))
    if lasted >= needed:
        return "", ""
    found = (
        f"partition {partition} was seen to delete records {_told(lasted)} after they were written (retention.bytes"
        f" {retention.size})"
    )
    size = _size_for(retention, ends(topic.topic, partition), needed)
    return found, f"retention.bytes {size} or so, while no more is written than now"


def _lasted(samples: Sequence[EndSample]) -> Iterator[timedelta]:
    """For each deletion: no longer than this the last record that it took was there, where it was seen to be written, too.

    Where nothing was left it was not by size, which leaves its limit at least.
    """
    for sooner, later in pairwise(samples):
        behind = bisect_right(samples, later.earliest - 1, key=lambda sample: sample.latest)
        if sooner.earliest < later.earliest < later.latest and behind > 0:
            yield later.at - samples[behind - 1].at


def _size_for(retention: TopicRetention, samples: Sequence[EndSample], needed: timedelta) -> int:
    """A limit of size that holds what is written in so long a time, by the busiest such time that was seen.

    Right after a deletion there is the limit and up to a segment more (UnifiedLog.deleteRetentionSizeBreachedSegments, 4.3).
    """
    kept = min(left for left in kept_after_deletions(samples) if left)
    window = min(needed, samples[-1].at - samples[0].at)
    most = max(
        last.latest - samples[max(0, bisect_right(samples, last.at - window, key=lambda sample: sample.at) - 1)].latest
        for last in samples
    )
    return math.ceil(((retention.size or 0) + retention.segment_size) * (most / kept) * (needed / window))


def _told(duration: timedelta) -> str:
    """`72 h`, `2.5 h`, `20 min`"""
    hours = duration / timedelta(hours=1)
    return f"{round(hours, 1):g} h" if hours >= 1 else f"{math.ceil(60 * hours)} min"
