"""Topics of a broker made anew, and what lies in them, by a client that shares no code with Spark's."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from streamops.errors import SandboxError

if TYPE_CHECKING:
    from confluent_kafka import Consumer
    from confluent_kafka.admin import AdminClient

_SECONDS = 30
_ANEW_LIMIT = timedelta(minutes=1)
_PAUSE_SECONDS = 0.1


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
    from confluent_kafka import TopicPartition

    consumer = _consumer(bootstrap)
    try:
        return {
            (topic, partition): consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_SECONDS)[1]
            for topic in topics
            for partition in consumer.list_topics(topic, timeout=_SECONDS).topics[topic].partitions
        }
    finally:
        consumer.close()


@contextmanager
def counting(bootstrap: str, topic: str) -> Iterator[Callable[[], int]]:
    """Tells how many records the topic has got so far, within a millisecond or two."""
    from confluent_kafka import TopicPartition

    consumer = _consumer(bootstrap)
    try:
        partitions = [
            TopicPartition(topic, number)
            for number in consumer.list_topics(topic, timeout=_SECONDS).topics[topic].partitions
        ]
        yield lambda: sum(consumer.get_watermark_offsets(place, timeout=_SECONDS)[1] for place in partitions)
    finally:
        consumer.close()


def published(bootstrap: str, topic: str) -> tuple[Published, ...]:
    """All records of a topic, partition by partition in their order; SandboxError when one does not come."""
    return tuple(_records(bootstrap, topic))


def _records(bootstrap: str, topic: str) -> Iterator[Published]:
    from confluent_kafka import TopicPartition

    for (_, partition), end in sorted(ends(bootstrap, topic).items()):
        consumer = _consumer(bootstrap)
        try:
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
        finally:
            consumer.close()


def _is_empty(bootstrap: str, topic: str, partitions: int) -> bool:
    """False as long as the broker has not taken the lead of all partitions, which it does a moment after it tells so."""
    from confluent_kafka import KafkaException

    try:
        found = ends(bootstrap, topic)
    except KafkaException:
        return False
    return found == {(topic, partition): 0 for partition in range(partitions)}


def _wait(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _ANEW_LIMIT.total_seconds()
    while not condition():
        if time.monotonic() > until:
            raise SandboxError(f"still waiting for {what} after {_ANEW_LIMIT.total_seconds():.0f} s")
        time.sleep(_PAUSE_SECONDS)


def _admin(bootstrap: str) -> "AdminClient":
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def _consumer(bootstrap: str) -> "Consumer":
    from confluent_kafka import Consumer

    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "streamops-sandbox",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
