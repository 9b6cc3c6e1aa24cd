"""The broker port over confluent-kafka: one scan is four requests to a single broker, and one more for the last stable offsets.

Metadata once (ids, partitions, leaders), the two ends of all partitions, the settings of all topics: librdkafka groups the
partitions by leader, so a cluster of many brokers gets at most four requests each (seen with 2.16.1 by its own counters).
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from streamops.clock import Clock
from streamops.errors import SettingsError
from streamops.kafka.broker import (
    BrokerFacts,
    KafkaAccess,
    PartitionFacts,
    RecordPlace,
    RecordTime,
    TimeOffset,
    TopicFacts,
    TopicRetention,
    without_secrets,
)
from streamops.kafka.record_probe import probe_record_times

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient


_LONGEST = timedelta(days=365_000)
"""A thousand years: `segment.ms` may be Long.MAX_VALUE, and a date has to come out when it is added to now."""


def retention_of(config: Mapping[str, str]) -> TopicRetention:
    """The retention that they describe; ValueError naming the setting that is missing or no number."""
    policies = {policy.strip() for policy in _text(config, "cleanup.policy").split(",")}
    time, size = _number(config, "retention.ms"), _number(config, "retention.bytes")
    return TopicRetention(
        is_deleting="delete" in policies,
        is_compacting="compact" in policies,
        time=_milliseconds(time) if time >= 0 else None,
        size=size if size >= 0 else None,
        segment_time=_milliseconds(_number(config, "segment.ms")),
        segment_size=_number(config, "segment.bytes"),
        tombstone_time=_milliseconds(_number(config, "delete.retention.ms")),
    )


def _text(config: Mapping[str, str], name: str) -> str:
    value = config.get(name)
    if value is None:
        raise ValueError(f"the cluster does not tell {name}")
    return value


def _number(config: Mapping[str, str], name: str) -> int:
    text = _text(config, name)
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}, a whole number is expected") from None


def _milliseconds(number: int) -> timedelta:
    return timedelta(milliseconds=min(number, _LONGEST // timedelta(milliseconds=1)))


REQUEST_LIMIT = timedelta(seconds=5)
"""For one request: whoever looks must not hang on a broker that does. A scan of 10 000 partitions takes about a second.

It is two steps one after the other, and one more where a leader has just changed.
"""
_GRACE = timedelta(seconds=1)
"""Between the client's own limit and giving up on its answer."""

_STATISTICS_MS = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Ends = dict[tuple[str, int], "int | str"]
"""By partition: the offset, or why there is none."""


class ConfluentBroker:
    """One cluster. Raises SettingsError where confluent-kafka is missing or can't use the settings."""

    def __init__(
        self,
        access: KafkaAccess,
        clock: Clock,
        *,
        limit: timedelta = REQUEST_LIMIT,
        on_statistics: Callable[[str], None] | None = None,
    ) -> None:
        """`on_statistics` is given librdkafka's own counters (STATISTICS.md, 2.x) while `poll` runs."""
        self._access = access
        self._clock = clock
        self._limit = limit
        self._admin = _admin_client(access, on_statistics)

    def poll(self, seconds: float) -> None:
        """Let the client tell what it has to tell."""
        self._admin.poll(seconds)

    def scan(self, topics: Collection[str], *, committed: bool = False) -> BrokerFacts:
        """See Broker."""
        names = sorted(set(topics))
        described = self._described(names)
        known = [facts for facts in described if facts.exists]
        # All at once: the three do not wait for each other.
        configs = self._ask_configs([facts.topic for facts in known])
        ends = self._ends([(facts.topic, one.partition) for facts in known for one in facts.partitions], committed)
        found = [
            self._with_config(self._with_ends(facts, *ends), configs) if facts.exists else facts for facts in described
        ]
        return BrokerFacts(bootstrap=self._access.bootstrap, at=self._clock.now(), topics=tuple(found))

    def record_times(self, places: Collection[RecordPlace]) -> Mapping[RecordPlace, RecordTime]:
        """See Broker."""
        return probe_record_times(self._access, places, clock=self._clock, limit=self._limit)

    def offsets_at(self, partitions: Collection[tuple[str, int]], at: datetime) -> Mapping[tuple[str, int], TimeOffset]:
        """See Broker. One request a leader."""
        from confluent_kafka.admin import OffsetSpec

        spec = OffsetSpec.for_timestamp((at - _EPOCH) // timedelta(milliseconds=1))
        found = self._answered(self._ask_ends(sorted(set(partitions)), spec), spec)
        return {place: _time_offset(answer) for place, answer in found.items()}

    def _described(self, names: list[str]) -> list[TopicFacts]:
        from confluent_kafka import TopicCollection

        if not names:
            return []
        answers = self._admin.describe_topics(TopicCollection(names), request_timeout=self._limit.total_seconds())
        return [self._topic(name, answers[name]) for name in names]

    def _topic(self, name: str, answer: "Future[Any]") -> TopicFacts:
        from confluent_kafka import KafkaError

        description, error = self._answer(answer)
        if error and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return TopicFacts(topic=name, exists=False)
        if error:
            return TopicFacts(topic=name, exists=None, trouble=self._told(error))
        return TopicFacts(
            topic=name,
            exists=True,
            topic_id=str(description.topic_id) if description.topic_id else "",
            partitions=tuple(
                PartitionFacts(partition=number) for number in sorted(p.id for p in description.partitions)
            ),
        )

    def _ends(self, places: list[tuple[str, int]], committed: bool) -> tuple[Ends, Ends, Ends]:
        """The first, the next to be written, and the end for readers of committed records where it is asked for."""
        from confluent_kafka.admin import OffsetSpec

        first, last = OffsetSpec.earliest(), OffsetSpec.latest()
        earliest, latest = self._ask_ends(places, first), self._ask_ends(places, last)
        stable = self._ask_ends(places if committed else [], last, committed=True)
        return (
            self._answered(earliest, first),
            self._answered(latest, last),
            self._answered(stable, last, committed=True),
        )

    def _ask_ends(
        self, places: list[tuple[str, int]], spec: Any, *, committed: bool = False
    ) -> "dict[TopicPartition, Future[Any]]":
        """`committed`: ListOffsets with read_committed answers with the last stable offset for the latest one (KIP-98)."""
        from confluent_kafka import IsolationLevel, TopicPartition

        if not places:
            return {}
        return self._admin.list_offsets(
            {TopicPartition(topic, number): spec for topic, number in places},
            isolation_level=IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED,
            request_timeout=self._limit.total_seconds(),
        )

    def _answered(
        self, answers: "dict[TopicPartition, Future[Any]]", spec: Any, *, committed: bool = False, again: bool = True
    ) -> Ends:
        """A leader that has just moved answers that it is none: once more, with new metadata."""
        ends: Ends = {}
        moved = []
        for partition, answer in answers.items():
            place = (partition.topic, partition.partition)
            result, error = self._answer(answer)
            ends[place] = self._told(error) if error else int(result.offset)
            if error and error.retriable() and again:
                moved.append(place)
        if not moved:
            return ends
        asked = self._ask_ends(moved, spec, committed=committed)
        return ends | self._answered(asked, spec, committed=committed, again=False)

    def _ask_configs(self, names: list[str]) -> "dict[str, Future[Any]]":
        from confluent_kafka.admin import ConfigResource

        if not names:
            return {}
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
        answers = self._admin.describe_configs(resources, request_timeout=self._limit.total_seconds())
        return {resource.name: answer for resource, answer in answers.items()}

    def _with_config(self, facts: TopicFacts, answers: "Mapping[str, Future[Any]]") -> TopicFacts:
        entries, error = self._answer(answers[facts.topic])
        if error:
            return replace(facts, retention_trouble=self._told(error))
        try:
            return replace(facts, retention=retention_of({name: entry.value for name, entry in entries.items()}))
        except ValueError as problem:
            return replace(facts, retention_trouble=str(problem))

    @staticmethod
    def _with_ends(facts: TopicFacts, earliest: Ends, latest: Ends, stable: Ends) -> TopicFacts:
        partitions = []
        for known in facts.partitions:
            place = facts.topic, known.partition
            first, last, reached = earliest[place], latest[place], stable.get(place)
            troubles = [end for end in (first, last, reached) if isinstance(end, str)]
            partitions.append(
                PartitionFacts(
                    partition=known.partition,
                    earliest=first if isinstance(first, int) else None,
                    latest=last if isinstance(last, int) else None,
                    stable=reached if isinstance(reached, int) else None,
                    trouble=troubles[0] if troubles else "",
                )
            )
        return replace(facts, partitions=tuple(partitions))

    def _answer(self, answer: "Future[Any]") -> tuple[Any, Any]:
        """The result, or the KafkaError in its place."""
        from confluent_kafka import KafkaError, KafkaException

        try:
            return answer.result(timeout=(self._limit + _GRACE).total_seconds()), None
        except KafkaException as error:
            return None, error.args[0]
        except FutureTimeoutError:
            return None, KafkaError(KafkaError._TIMED_OUT, "the client gave no answer")

    def _told(self, error: Any) -> str:
        """`TOPIC_AUTHORIZATION_FAILED: …`, without secrets."""
        return without_secrets(f"{error.name()}: {error.str()}", self._access.properties)


def _time_offset(answer: "int | str") -> TimeOffset:
    """-1 stands for no such record (ListOffsetsResponse.UNKNOWN_OFFSET, Kafka 4.3)."""
    if isinstance(answer, str):
        return TimeOffset(offset=None, trouble=answer)
    return TimeOffset(offset=answer if answer >= 0 else None)


def _admin_client(access: KafkaAccess, on_statistics: Callable[[str], None] | None) -> "AdminClient":
    try:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient
    except ImportError as error:
        raise SettingsError(
            "asking a Kafka cluster needs the package confluent-kafka: pip install 'streamops[kafka]'"
        ) from error
    try:
        # Without log_level 0 the library writes to stderr whenever a broker is away; its answers say so, too.
        settings: dict[str, Any] = {**dict(access.properties), "bootstrap.servers": access.bootstrap, "log_level": 0}
        if on_statistics:
            settings |= {"statistics.interval.ms": _STATISTICS_MS, "stats_cb": on_statistics}
        return AdminClient(settings)
    except (KafkaException, ValueError, TypeError) as error:
        told = without_secrets(str(error), access.properties)
        raise SettingsError(f"the settings for Kafka at {access.bootstrap} can't be used: {told}") from None
