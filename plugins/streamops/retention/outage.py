"""Whether topics keep their records for as long as a stream may be away. Pure.

A limit of time says so itself. How long a limit of size lasts depends on what is written: that is known only where looks have
seen the partition delete, and by what they saw. Where they have not, nothing is said.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import pairwise

from streamops.kafka import TopicFacts, TopicRetention
from streamops.retention.forecast import kept_after_deletions
from streamops.retention.growth import EndSample

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
