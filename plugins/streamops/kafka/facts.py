"""What a cluster said of some topics at one moment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRetention:
    """How long a topic keeps its records: topic settings, or the broker's defaults where the topic has none."""

    is_deleting: bool
    """Whether `cleanup.policy` has `delete`; without it time and size delete nothing."""
    is_compacting: bool
    """Whether it has `compact`: then offsets without records are no loss."""
    time: timedelta | None
    """`retention.ms`; None for no limit (-1)."""
    size: int | None
    """`retention.bytes` of one partition; None for no limit (-1)."""
    segment_time: timedelta
    """`segment.ms`: a segment is closed when its first record is so old and another one comes."""
    segment_size: int
    """`segment.bytes`. Records are deleted by whole segments, see `UnifiedLog.deleteOldSegments` (Kafka 4.3)."""
    tombstone_time: timedelta
    """`delete.retention.ms`: how long a compacted topic keeps the mark of a deleted key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """What a partition holds: offsets from `earliest` to `latest`, which is the next one to be written."""

    partition: int
    earliest: int | None = None
    latest: int | None = None
    stable: int | None = None
    """Where the oldest open transaction begins, or `latest`: readers of committed records come no further. None where it was not
    asked for."""
    trouble: str = ""
    """Why one of them is not known; empty where all that were asked for are."""

    @property
    def readable(self) -> int | None:
        """The end for the reader on whose behalf the cluster was asked."""
        return self.latest if self.stable is None else self.stable

    @property
    def is_held_back(self) -> bool:
        """Whether an open transaction keeps that reader from the last records."""
        return self.readable != self.latest


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """A topic."""

    topic: str
    exists: bool | None
    """None where the cluster did not say."""
    topic_id: str = ""
    """Of this very topic: one that is deleted and created again has another. Empty where the cluster does not tell."""
    partitions: tuple[PartitionFacts, ...] = ()
    """In order."""
    retention: TopicRetention | None = None
    trouble: str = ""
    """Why it is not known whether the topic exists."""
    retention_trouble: str = ""
    """Why the retention is not known: most often a missing right to DESCRIBE_CONFIGS."""

    def partition(self, number: int) -> PartitionFacts | None:
        """One partition; None where there is none of that number."""
        return next((known for known in self.partitions if known.partition == number), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFacts:
    """The answer of a cluster."""

    bootstrap: str
    at: datetime
    topics: tuple[TopicFacts, ...]
    """One for each that was asked for."""

    def topic(self, name: str) -> TopicFacts:
        """One topic; one of which nothing is known where it was not asked for."""
        found = next((known for known in self.topics if known.topic == name), None)
        return found or TopicFacts(topic=name, exists=None, trouble="not asked for")

    def topic_ids(self, names: Iterable[str]) -> Mapping[str, str]:
        """The ids of these topics by name, as far as the cluster tells."""
        topics = [self.topic(name) for name in names]
        return {topic.topic: topic.topic_id for topic in topics if topic.topic_id}
