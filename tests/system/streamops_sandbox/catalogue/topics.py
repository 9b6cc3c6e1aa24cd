"""Topics of a broker made anew, and what lies in them, by a client that shares no code with Spark's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from streamops.clock import SystemClock
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.waiting import SilentNarrator, wait_until_nothing_is_missing

if TYPE_CHECKING:
    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka.admin import AdminClient

_SECONDS = 30
_ANEW_LIMIT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One record of a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def exists(bootstrap: str, topic: str) -> bool:
    """Whether the broker knows the topic."""
    return topic in _admin(bootstrap).list_topics(timeout=_SECONDS).topics


def make_anew(bootstrap: str, topic: str, *, partitions: int) -> None:
    """Return with an empty topic that takes records, whether there was one of this name or not.

    Raises SandboxError when the broker refuses, or does not get so far within a minute.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.cimpl import NewTopic

    # Kept: what it has begun ends with it.
    admin = _admin(bootstrap)
    try:
        if exists(bootstrap, topic):
            admin.delete_topics([topic])[topic].result(timeout=_SECONDS)
            # A new client for each look: what one has listed it believes for minutes.
            _wait(lambda: not exists(bootstrap, topic), f"the end of the old topic {topic}")
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1)
        admin.create_topics([new])[topic].result(timeout=_SECONDS)
        _wait(lambda: _is_empty(bootstrap, topic, partitions), f"the new topic {topic}")
    except KafkaException as error:
        raise SandboxError(f"cannot make topic {topic} anew on {bootstrap}: {error.args[0].str()}") from error


def ends(bootstrap: str, *topics: str) -> dict[tuple[str, int], int]:
    """By topic and partition the offset that the next record will get."""
    with _consumer(bootstrap) as consumer:
        return {
            (topic, place.partition): _end(consumer, place)
            for topic in topics
            for place in _partitions(consumer, topic)
        }


@contextmanager
def counting(bootstrap: str, topic: str) -> Iterator[Callable[[], int]]:
    """Tells how many records the topic has got so far, within a millisecond or two."""
    with _consumer(bootstrap) as consumer:
        places = _partitions(consumer, topic)
        yield lambda: sum(_end(consumer, place) for place in places)


def published(bootstrap: str, topic: str) -> tuple[Published, ...]:
    """All records of a topic, partition by partition in their order; SandboxError when one does not come."""
    return tuple(_records(bootstrap, topic))


def _records(bootstrap: str, topic: str) -> Iterator[Published]:
    from confluent_kafka import TopicPartition

    for (_, partition), end in sorted(ends(bootstrap, topic).items()):
        with _consumer(bootstrap) as consumer:
            consumer.assign([TopicPartition(topic, partition, 0)])
            offset = 0
            while offset < end:
                message = consumer.poll(_SECONDS)
                if message is None:
                    raise SandboxError(f"{topic}-{partition} ends at {end}, and nothing comes after {offset}")
                if error := message.error():
                    raise SandboxError(f"{topic}-{partition}: {error.str()}")
                offset = (message.offset() or 0) + 1
                yield Published(partition=partition, offset=offset - 1, key=message.key(), value=message.value())


def _partitions(consumer: "Consumer", topic: str) -> "list[TopicPartition]":
    from confluent_kafka import TopicPartition

    known = consumer.list_topics(topic, timeout=_SECONDS).topics[topic].partitions
    return [TopicPartition(topic, number) for number in known]


def _end(consumer: "Consumer", place: "TopicPartition") -> int:
    """The offset that the next record there will get."""
    return int(consumer.get_watermark_offsets(place, timeout=_SECONDS)[1])


def _is_empty(bootstrap: str, topic: str, partitions: int) -> bool:
    """False as long as the broker has not taken the lead of all partitions, which it does a moment after it tells so."""
    from confluent_kafka import KafkaException

    try:
        found = ends(bootstrap, topic)
    except KafkaException:
        return False
    return found == {(topic, partition): 0 for partition in range(partitions)}


def _wait(condition: Callable[[], bool], what: str) -> None:
    wait_until_nothing_is_missing(
        lambda: "" if condition() else what,
        what="topics",
        limit=_ANEW_LIMIT,
        clock=SystemClock(),
        narrator=SilentNarrator(),
    )


def _admin(bootstrap: str) -> "AdminClient":
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


@contextmanager
def _consumer(bootstrap: str) -> "Iterator[Consumer]":
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "streamops-sandbox",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()
