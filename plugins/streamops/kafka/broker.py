"""The port to a cluster: how it is reached, what the suite asks it, what it said, and how records are sent.

Spark's options name Java's settings (`kafka.security.protocol`), this client librdkafka's. Those without a secret are the same
in both; what holds one (`sasl.jaas.config`, keystores) has another form, so it comes from a properties file.
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from streamops.errors import SettingsError

_SECRET = re.compile(r"password|secret|token|jaas|\.key\b|\.key\.|pem|oauthbearer\.config|username", re.IGNORECASE)
"""Names of librdkafka's settings that hold a secret or half of one (CONFIGURATION.md, 2.x)."""


def without_secrets(text: str, properties: Iterable[tuple[str, str]]) -> str:
    """The text with the values of secret settings blotted out."""
    secrets = sorted((value for name, value in properties if value and _SECRET.search(name)), key=len, reverse=True)
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


PROPERTIES_FILE = "STREAMOPS_KAFKA_PROPERTIES"
"""Environment variable: path of a file with settings of librdkafka."""

_SHARED = frozenset(
    {"security.protocol", "sasl.mechanism", "sasl.kerberos.service.name", "ssl.endpoint.identification.algorithm"}
)
"""Settings that mean the same to Java's client and to librdkafka (CONFIGURATION.md, 2.x)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaAccess:
    """Where and how to connect."""

    bootstrap: str
    properties: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Settings of librdkafka, sorted. Never printed: some are secrets."""

    def with_properties(self, more: Mapping[str, str]) -> "KafkaAccess":
        """The same with further settings, which win over those that are there."""
        merged = {**dict(self.properties), **more}
        return KafkaAccess(
            bootstrap=merged.pop("bootstrap.servers", self.bootstrap), properties=tuple(sorted(merged.items()))
        )


def access_of(
    bootstrap: str, options: Iterable[tuple[str, str]] = (), *, environment: Mapping[str, str] = os.environ
) -> KafkaAccess:
    """What a source's options and the properties file of this place give. SettingsError for a file that can't be used."""
    # Spark folds the case of its options.
    named = {name.lower(): value for name, value in options}
    shared = {name.removeprefix("kafka."): value for name, value in named.items() if name.startswith("kafka.")}
    access = KafkaAccess(bootstrap=bootstrap).with_properties({k: v for k, v in shared.items() if k in _SHARED})
    path = environment.get(PROPERTIES_FILE, "")
    if not path:
        return access
    settings = read_properties(Path(path))
    # The servers are the stream's own: one file of credentials may serve several clusters.
    settings.pop("bootstrap.servers", None)
    return access.with_properties(settings)


def read_properties(path: Path) -> dict[str, str]:
    """Lines of `name=value`, blank ones and those that begin with # left out. SettingsError names the line, not its text."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: settings for Kafka can't be read: {error}") from error
    settings = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise SettingsError(f"{path} line {number}: `name=value` is expected")
        settings[name.strip()] = value.strip()
    return settings


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlace:
    """An offset in a partition."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTime:
    """The stamp of the first record at or behind a place."""

    at: datetime | None
    """None where no record is there, or nobody may say."""
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOffset:
    """The first offset of a partition whose record is as young as a moment."""

    offset: int | None
    """None where no record is so young, or nobody may say."""
    trouble: str = ""


class Broker(Protocol):
    """Answers within bounded time, whatever the cluster does."""

    def scan(self, topics: Collection[str], *, committed: bool = False) -> BrokerFacts:
        """What these topics hold and how long they keep it. Never raises for what the cluster says: that is a fact, too.

        `committed`: whether to ask, too, how far readers of committed records come.
        """
        ...

    def record_times(self, places: Collection[RecordPlace]) -> Mapping[RecordPlace, RecordTime]:
        """The stamps of the records there. Reads records, so it is for the few places where it matters. Never raises."""
        ...

    def offsets_at(self, partitions: Collection[tuple[str, int]], at: datetime) -> Mapping[tuple[str, int], TimeOffset]:
        """The first offset of each partition, by topic and number, whose record is as young as that. Never raises.

        Everything before it is older, whatever the order of the stamps: the cluster goes by the highest stamp so far.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRecord:
    """A record to be sent."""

    topic: str
    partition: int | None
    """None leaves it to the key, as Kafka's own clients do."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of a record that was sent."""

    partition: int = -1
    offset: int = -1
    trouble: str = ""
    """Why it is not known to be in the topic; empty where it is. Printable, without secrets."""
    is_unfit: bool = False
    """Whether the topic refuses this very record, for its size for example: then it is not there, and others may fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRecord:
    """A record that bears a mark."""

    topic: str
    partition: int
    offset: int
    headers: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The records that bear a mark, of a range."""

    records: tuple[MarkedRecord, ...] = ()
    trouble: str = ""
    """Why the range was not read to its end; empty where it was."""


Ranges = Mapping[tuple[str, int], tuple[int, int]]
"""By topic and partition: the first offset, and the one behind the last."""


class Sender(Protocol):
    """Sends records to one cluster."""

    def send(self, records: Sequence[OutgoingRecord]) -> tuple[Delivery, ...]:
        """One answer for each record, in their order, once all are known. Never raises for what the cluster says.

        A record without trouble is in the topic once. One with trouble may be in it, unless it is unfit.
        """
        ...

    def marked(self, ranges: Ranges, *, name: str, value: bytes) -> Marked:
        """The records of these ranges that have a header of this name and value. Never raises."""
        ...
