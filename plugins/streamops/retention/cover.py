"""What is needed against what is there: covered, lost, or without meaning. Offsets only; how long it stays is `forecast`'s.

Two answers of a broker are not believed at once, because they come about by themselves for a moment: an end offset below
the one that was read (a new leader that has not caught up, see the retries of Spark's KafkaOffsetReaderAdmin) and a topic or
partition that is not there (metadata that has not spread). They count when the look before has found the same.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from streamops.kafka import BrokerFacts, PartitionFacts, TopicFacts
from streamops.retention.needs import PartitionNeed, SourceNeeds

SECOND_LOOK = timedelta(seconds=3)
"""Between the two looks that an odd answer of a broker needs before it counts."""


class PartitionState(StrEnum):
    """What became of what a query needs in one partition, the harmless first."""

    COVERED = "covered"
    """Everything is there."""
    NEW = "new"
    """The query has not read it yet: it begins at the earliest offset, whatever `startingOffsets` says."""
    UNKNOWN = "unknown"
    """The broker or the checkpoint did not say, or said something that counts only when it is said twice."""
    PARTLY_LOST = "partly-lost"
    """The first records that are needed are deleted."""
    LOST = "lost"
    """All records that were needed are deleted, and no others are there."""
    UNSUBSCRIBED = "unsubscribed"
    """The checkpoint has the topic, the query no longer reads it."""
    GONE = "gone"
    """The partition or its topic is deleted."""
    RESET = "reset"
    """It ends before the offset that the query has reached: created again, or put back from a copy."""
    RECREATED = "recreated"
    """Another topic of the same name, grown past the offset already: Spark would go on in it and notice nothing."""

    @property
    def is_lossy(self) -> bool:
        """Whether a start could not read what it needs."""
        return self not in (PartitionState.COVERED, PartitionState.NEW, PartitionState.UNKNOWN)

    @property
    def is_expired(self) -> bool:
        """Whether records alone are gone, and the topic is as it was."""
        return self in (PartitionState.PARTLY_LOST, PartitionState.LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRange:
    """Offsets from `first` on, up to but without `end`."""

    first: int
    end: int

    @property
    def offsets(self) -> int:
        """How many. At most so many records: compaction and transactions leave offsets without one."""
        return self.end - self.first

    def __str__(self) -> str:
        """`[500, 800)`"""
        return f"[{self.first}, {self.end})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCoverage:
    """One partition."""

    topic: str
    partition: int
    standing: PartitionState
    start: int | None = None
    """The first offset that is needed; None where that can't be told, or the query has not read the partition yet."""
    end: int | None = None
    """Behind the batch in flight; None where no batch is."""
    earliest: int | None = None
    latest: int | None = None
    lost: OffsetRange | None = None
    """What is needed and not there any more, where that can be counted."""
    suspected: PartitionState | None = None
    """Beside `unknown`: what it is if the next look finds the same."""
    reason: str = ""
    """In words, for everything but `covered`."""

    @property
    def lag(self) -> int | None:
        """Offsets that are not read yet. With compaction or transactions it may never reach 0."""
        if self.start is None or self.latest is None:
            return None
        return max(0, self.latest - self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """All partitions of a query's Kafka sources."""

    at: datetime
    partitions: tuple[PartitionCoverage, ...]
    pending_batch: int | None = None
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    """By name: what the topics are now that the query reads or is to read, as far as the cluster tells."""

    @property
    def standing(self) -> PartitionState:
        """The worst of all partitions; covered where there is none."""
        order = list(PartitionState)
        return max((known.standing for known in self.partitions), key=order.index, default=PartitionState.COVERED)

    @property
    def lag(self) -> int | None:
        """Of all partitions together; None where one of them is not known."""
        lags = [known.lag for known in self.partitions if known.standing is not PartitionState.NEW]
        return None if None in lags else sum(lag for lag in lags if lag is not None)

    @property
    def lost_offsets(self) -> int:
        """How many offsets are known to be lost."""
        return sum(known.lost.offsets for known in self.partitions if known.lost)

    def partition(self, topic: str, number: int) -> PartitionCoverage | None:
        """One partition; None where it is not among them."""
        places = (known for known in self.partitions if (known.topic, known.partition) == (topic, number))
        return next(places, None)


def cover(
    sources: tuple[SourceNeeds, ...],
    broker: BrokerFacts,
    *,
    subscribed: Collection[str] | None = None,
    remembered: Mapping[str, str] | None = None,
    before: Coverage | None = None,
) -> Coverage:
    """Judge what a query needs.

    `subscribed` are the topics that its source names now, None where nobody has said. `remembered` are ids of topics, by
    name, as they were when the query read them last. `before` is the look before this one.
    """
    judge = _Judge(broker, subscribed, remembered or {}, before)
    partitions = [judge.partition(source, need) for source in sources for need in source.partitions]
    if not sources or any(judge.is_declared(source) for source in sources):
        partitions += judge.new_ones({(known.topic, known.partition) for known in partitions})
    pending = next((source.pending_batch for source in sources if source.pending_batch is not None), None)
    ordered = sorted(partitions, key=lambda known: (known.topic, known.partition))
    names = {need.topic for source in sources for need in source.partitions} if subscribed is None else subscribed
    return Coverage(at=broker.at, partitions=tuple(ordered), pending_batch=pending, topic_ids=broker.topic_ids(names))


class _Judge:
    def __init__(
        self,
        broker: BrokerFacts,
        subscribed: Collection[str] | None,
        remembered: Mapping[str, str],
        before: Coverage | None,
    ) -> None:
        self._broker = broker
        self._subscribed = subscribed
        self._remembered = remembered
        self._before = before

    def is_declared(self, source: SourceNeeds) -> bool:
        """Whether the declaration speaks of this source: a job may read more than it declares, with a reader of its own."""
        return self._subscribed is None or any(need.topic in self._subscribed for need in source.partitions)

    def partition(self, source: SourceNeeds, need: PartitionNeed) -> PartitionCoverage:
        topic = self._broker.topic(need.topic)
        if not self.is_declared(source):
            reason = "the declared source names none of this source's topics: which cluster it reads is not known"
            return self._found(need, PartitionState.UNKNOWN, reason)
        if self._subscribed is not None and need.topic not in self._subscribed:
            reason = "the source no longer names the topic, and Spark takes its partitions for deleted"
            return self._found(need, PartitionState.UNSUBSCRIBED, reason)
        if topic.exists is None:
            return self._found(need, PartitionState.UNKNOWN, topic.trouble)
        facts = topic.partition(need.partition)
        if facts is None:
            what = "the topic is" if not topic.exists else "the partition is"
            return self._at_second_look(need, PartitionState.GONE, f"{what} not there any more")
        if facts.earliest is None or facts.latest is None:
            return self._found(need, PartitionState.UNKNOWN, facts.trouble, facts)
        return self._offsets(source, need, topic, facts, facts.earliest, facts.latest)

    def _offsets(
        self,
        source: SourceNeeds,
        need: PartitionNeed,
        topic: TopicFacts,
        facts: PartitionFacts,
        earliest: int,
        latest: int,
    ) -> PartitionCoverage:
        reached = need.start if need.end is None else need.end
        if latest < reached:
            return self._at_second_look(
                need,
                PartitionState.RESET,
                f"it ends at {latest}, the query has reached {reached}{self._other_id(topic)}",
                facts,
            )
        if changed := self._other_id(topic):
            return self._found(
                need, PartitionState.RECREATED, f"offset {reached} is one of another topic{changed}", facts
            )
        if source.trouble:
            return self._found(need, PartitionState.UNKNOWN, source.trouble, facts)
        if earliest <= need.start:
            return self._found(need, PartitionState.COVERED, "", facts)
        lost = OffsetRange(first=need.start, end=earliest)
        what = "before the first batch that reads the partition" if need.is_new else "that are needed"
        return PartitionCoverage(
            topic=need.topic,
            partition=need.partition,
            standing=PartitionState.LOST if earliest == latest else PartitionState.PARTLY_LOST,
            start=need.start,
            end=need.end,
            earliest=earliest,
            latest=latest,
            lost=lost,
            reason=f"{lost.offsets} offsets {lost} {what} are deleted",
        )

    def new_ones(self, known: Collection[tuple[str, int]]) -> Iterator[PartitionCoverage]:
        """Partitions of the topics that are read which no batch has read yet."""
        topics = {topic for topic, _ in known} if self._subscribed is None else set(self._subscribed)
        for topic in (self._broker.topic(name) for name in sorted(topics)):
            for facts in topic.partitions:
                if (topic.topic, facts.partition) not in known:
                    yield self._new(topic.topic, facts)

    def _new(self, topic: str, facts: PartitionFacts) -> PartitionCoverage:
        if facts.earliest is None:
            lost, reason = None, f"no batch has read it yet; {facts.trouble}"
        elif facts.earliest == 0:
            lost, reason = None, "no batch has read it yet: the next start begins it at 0"
        else:
            lost = OffsetRange(first=0, end=facts.earliest)
            reason = f"no batch has read it yet, and the offsets {lost} are deleted"
        standing = (
            PartitionState.UNKNOWN
            if facts.earliest is None
            else PartitionState.PARTLY_LOST
            if lost
            else PartitionState.NEW
        )
        return PartitionCoverage(
            topic=topic,
            partition=facts.partition,
            standing=standing,
            earliest=facts.earliest,
            latest=facts.latest,
            lost=lost,
            reason=reason,
        )

    def _other_id(self, topic: TopicFacts) -> str:
        """What the ids tell of a topic that was deleted and created again; empty where it is the same or nobody knows."""
        known = self._remembered.get(topic.topic, "")
        if not known or not topic.topic_id or known == topic.topic_id:
            return ""
        return f" (the topic was created anew: its id was {known}, now it is {topic.topic_id})"

    def _at_second_look(
        self, need: PartitionNeed, standing: PartitionState, reason: str, facts: PartitionFacts | None = None
    ) -> PartitionCoverage:
        before = self._before.partition(need.topic, need.partition) if self._before else None
        if before and standing in (before.standing, before.suspected):
            return self._found(need, standing, reason, facts)
        return self._found(
            need, PartitionState.UNKNOWN, f"{reason}: a second look has to confirm that", facts, standing
        )

    @staticmethod
    def _found(
        need: PartitionNeed,
        standing: PartitionState,
        reason: str,
        facts: PartitionFacts | None = None,
        suspected: PartitionState | None = None,
    ) -> PartitionCoverage:
        return PartitionCoverage(
            topic=need.topic,
            partition=need.partition,
            standing=standing,
            start=need.start,
            end=need.end,
            earliest=facts.earliest if facts else None,
            latest=facts.latest if facts else None,
            suspected=suspected,
            reason=reason,
        )
