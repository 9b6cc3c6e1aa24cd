"""Until when the first record that a query needs is still there, and how sure that is. Pure.

Kafka deletes whole segments, the oldest first (UnifiedLog.deleteOldSegments, 4.3): when the newest record of a segment is older
than `retention.ms`, the active segment included, or while what would be left is at least `retention.bytes`. So a record never
goes before its own time is over, and stays until its whole segment may go: `not_before` is the promise to act by, `expected`
the best single guess.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from statistics import median

from streamops.kafka import TopicRetention
from streamops.retention.growth import LONGEST, EndSample, time_to_grow, written_at

CHECK_INTERVAL = timedelta(minutes=5)
"""`log.retention.check.interval.ms` by default: how long what may be deleted can be left. A broker does not tell it."""


class Basis(StrEnum):
    """What a forecast rests on."""

    NOTHING_TO_LOSE = "nothing-to-lose"
    """No record waits for the query."""
    KEPT = "kept"
    """Nothing deletes the records: no limit, or a topic that is only compacted."""
    TIME = "time"
    """The time of the record and `retention.ms`."""
    SIZE = "size"
    """`retention.bytes`, by how much the partition was seen to keep and how fast it grows."""
    MOVEMENT = "movement"
    """The earliest offset's own movement, where the settings are not known."""
    HEADROOM = "headroom"
    """The query reads, and what is deleted closes in on it (`pace`)."""
    KEEPS_PACE = "keeps-pace"
    """The query reads at least as fast as anything is deleted behind it (`pace`)."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When the first record that is needed in a partition is deleted."""

    basis: Basis
    not_before: datetime | None = None
    """The earliest moment; None where none is known."""
    expected: datetime | None = None
    not_after: datetime | None = None
    """The latest moment, as far as the segments' size is known; None where it is not."""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a forecast is made of: one partition, and what waits in it."""

    start: int
    """The first offset that is needed."""
    earliest: int
    latest: int
    record_time: datetime | None = None
    """Of the first record that is needed; None where nobody may say."""
    retention: TopicRetention | None = None
    samples: Sequence[EndSample] = ()
    """Both ends over time, oldest first, the present one last."""


def forecast(waiting: Waiting, *, now: datetime) -> Forecast:
    """The forecast for one partition: of the limits that apply, the one that strikes first."""
    if waiting.start >= waiting.latest:
        return Forecast(basis=Basis.NOTHING_TO_LOSE, reason="no record waits for the query")
    retention = waiting.retention
    if retention is None:
        return _by_movement(waiting, now)
    if not retention.is_deleting or (retention.time is None and retention.size is None):
        why = "the topic has no limit of time or size" if retention.is_deleting else "the topic is compacted only"
        return Forecast(basis=Basis.KEPT, reason=why)
    found = [_by_time(waiting, retention, now), _by_size(waiting, retention, now)]
    known = [one for one in found if one and one.expected]
    if known:
        return min(known, key=lambda one: one.expected or now)
    return next((one for one in found if one), Forecast(basis=Basis.UNKNOWN, reason="too little is known"))


def jumps(samples: Sequence[EndSample]) -> list[int]:
    """By how many offsets the earliest one moved, each time that it did."""
    return [later.earliest - sooner.earliest for sooner, later in pairwise(samples) if later.earliest > sooner.earliest]


def kept_after_deletions(samples: Sequence[EndSample]) -> list[int]:
    """How many offsets were left right after each deletion."""
    return [later.latest - later.earliest for sooner, later in pairwise(samples) if later.earliest > sooner.earliest]


def _by_time(waiting: Waiting, retention: TopicRetention, now: datetime) -> Forecast | None:
    """The segment goes when its last record is old enough; the record itself is at most as young as that one."""
    if retention.time is None:
        return None
    first = waiting.record_time or written_at(waiting.samples, waiting.start)
    if first is None:
        return Forecast(basis=Basis.UNKNOWN, reason="the time of the first record that is needed is not known")
    # Producers do write the year 9999; no date lies behind that.
    first = min(first, now + LONGEST)
    # A stamp from the future keeps its segment all the longer; nothing is promised by it.
    not_before = min(first, now) + retention.time
    last = _last_of_segment(waiting, retention, now)
    longest = last or (first + retention.segment_time)
    return Forecast(
        basis=Basis.TIME,
        not_before=not_before,
        expected=max(not_before, (last or first) + retention.time) + CHECK_INTERVAL / 2,
        not_after=max(not_before, longest + retention.time) + CHECK_INTERVAL,
        reason="the first record that is needed reaches the retention time of its topic",
    )


def _by_size(waiting: Waiting, retention: TopicRetention, now: datetime) -> Forecast | None:
    """A segment goes when so much is written behind it that the partition keeps what it always kept without it."""
    if retention.size is None:
        return None
    kept, end = kept_after_deletions(waiting.samples), _segment_end(waiting)
    if not kept or end is None:
        return Forecast(basis=Basis.UNKNOWN, reason="the partition was not yet seen to delete by size")
    behind = waiting.latest - waiting.start
    not_before = time_to_grow(waiting.samples, min(kept) - behind, now=now)
    expected = time_to_grow(waiting.samples, min(kept) - (waiting.latest - end), now=now)
    not_after = time_to_grow(waiting.samples, max(kept) - (waiting.latest - end), now=now)
    if not_before is None or expected is None:
        return Forecast(basis=Basis.KEPT, reason="nothing is written, so nothing is pushed out by size")
    return Forecast(
        basis=Basis.SIZE,
        not_before=now + not_before,
        expected=now + expected + CHECK_INTERVAL / 2,
        not_after=None if not_after is None else now + not_after + CHECK_INTERVAL,
        reason=f"the partition keeps about {min(kept)} offsets by its limit of size",
    )


def _by_movement(waiting: Waiting, now: datetime) -> Forecast:
    """Without settings: the earliest offset goes on as it went."""
    samples = waiting.samples
    moved = samples[-1].earliest - samples[0].earliest if samples else 0
    took = samples[-1].at - samples[0].at if samples else timedelta(0)
    if moved <= 0 or took <= timedelta(0):
        return Forecast(
            basis=Basis.UNKNOWN, reason="the topic's settings are not known, and its earliest offset did not move"
        )
    steps = jumps(samples)
    left = waiting.start - waiting.earliest
    if left / moved > LONGEST / took:
        return Forecast(basis=Basis.MOVEMENT, not_before=now + LONGEST, reason="its pace leaves months")
    pace = took / moved
    return Forecast(
        basis=Basis.MOVEMENT,
        not_before=now + max(timedelta(0), pace * (left - max(steps))),
        expected=now + max(timedelta(0), pace * left),
        not_after=now + pace * (left + max(steps)) + CHECK_INTERVAL,
        reason="the earliest offset reaches it at the pace that it was seen to have",
    )


def _segment_end(waiting: Waiting) -> int | None:
    """Behind the last offset of the segment that holds the record: the log begins with a segment, and they are much alike."""
    steps = jumps(waiting.samples)
    if not steps:
        return None
    length = round(median(steps))
    return waiting.earliest + ((waiting.start - waiting.earliest) // length + 1) * length


def _last_of_segment(waiting: Waiting, retention: TopicRetention, now: datetime) -> datetime | None:
    """When the last record of that segment is or will be written; None where too little was seen."""
    end = _segment_end(waiting)
    if end is None:
        return None
    if end <= waiting.latest:
        return written_at(waiting.samples, end - 1)
    growth = time_to_grow(waiting.samples, end - waiting.latest, now=now)
    if growth is None:
        return written_at(waiting.samples, waiting.latest - 1)
    return now + min(growth, retention.segment_time)
