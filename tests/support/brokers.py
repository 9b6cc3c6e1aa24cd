"""A Kafka cluster in memory, for what is judged from its answers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from streamops.clock import Clock
from streamops.kafka import BrokerFacts, PartitionFacts, TopicFacts, TopicRetention
from streamops.kafka.broker import RecordPlace, RecordTime, TimeOffset

A_WEEK = TopicRetention(
    is_deleting=True,
    is_compacting=False,
    time=timedelta(days=7),
    size=None,
    segment_time=timedelta(days=7),
    segment_size=1 << 30,
    tombstone_time=timedelta(days=1),
)


@dataclass
class FakeBroker:
    """Says what it is told to."""

    clock: Clock
    topics: dict[str, TopicFacts] = field(default_factory=dict)
    times: dict[tuple[str, int], datetime] = field(default_factory=dict)
    """Of the first record that is asked for in a partition."""
    offsets: dict[tuple[str, int, datetime], int] = field(default_factory=dict)
    """Of the first record as young as a moment, by topic, partition and moment."""
    scans: list[frozenset[str]] = field(default_factory=list)
    probed: list[RecordPlace] = field(default_factory=list)
    trouble: str = ""
    """Why it is away."""

    def has(
        self, topic: str, *ends: tuple[int, int], retention: TopicRetention | None = A_WEEK, topic_id: str = ""
    ) -> None:
        """A topic with these partitions, from 0 on; the cluster answers."""
        self.trouble = ""
        partitions = tuple(
            PartitionFacts(partition=number, earliest=earliest, latest=latest)
            for number, (earliest, latest) in enumerate(ends)
        )
        self.topics[topic] = TopicFacts(
            topic=topic, exists=True, topic_id=topic_id, partitions=partitions, retention=retention
        )

    def scan(self, topics: Collection[str], *, committed: bool = False) -> BrokerFacts:
        self.scans.append(frozenset(topics))
        known = [self.topics.get(name) or TopicFacts(topic=name, exists=False) for name in sorted(topics)]
        if self.trouble:
            known = [TopicFacts(topic=facts.topic, exists=None, trouble=self.trouble) for facts in known]
        return BrokerFacts(bootstrap="broker:9092", at=self.clock.now(), topics=tuple(known))

    def record_times(self, places: Collection[RecordPlace]) -> Mapping[RecordPlace, RecordTime]:
        self.probed += places
        return {
            place: RecordTime(at=self.times.get((place.topic, place.partition)), trouble="nobody may say")
            for place in places
        }

    def offsets_at(self, partitions: Collection[tuple[str, int]], at: datetime) -> Mapping[tuple[str, int], TimeOffset]:
        return {
            place: TimeOffset(offset=None, trouble=self.trouble)
            if self.trouble
            else TimeOffset(offset=self.offsets.get((*place, at)))
            for place in partitions
        }

    def moves(self, topic: str, number: int, *, latest: int) -> None:
        """A partition ends elsewhere from now on."""
        facts = self.topics[topic]
        partitions = tuple(replace(one, latest=latest) if one.partition == number else one for one in facts.partitions)
        self.topics[topic] = replace(facts, partitions=partitions)
