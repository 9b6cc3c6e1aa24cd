"""What lies in the topics of a real broker, read by a client that is independent of what is tested."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One record of a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def exists(bootstrap: str, topic: str) -> bool:
    """Whether the broker knows the topic."""
    return topic in AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}).list_topics(timeout=_SECONDS).topics


def ends(bootstrap: str, *topics: str) -> dict[tuple[str, int], int]:
    """By topic and partition the offset that the next record will get."""
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
    """All records of a topic, partition by partition in their order."""
    return tuple(_records(bootstrap, topic))


def _records(bootstrap: str, topic: str) -> Iterator[Published]:
    for (_, partition), end in sorted(ends(bootstrap, topic).items()):
        consumer = _consumer(bootstrap)
        try:
            consumer.assign([TopicPartition(topic, partition, 0)])
            offset = 0
            while offset < end:
                message = consumer.poll(_SECONDS)
                assert message is not None, f"{topic}-{partition} ends at {end}, and nothing comes after {offset}"
                assert message.error() is None, message.error()
                offset = message.offset() + 1
                yield Published(partition=partition, offset=message.offset(), key=message.key(), value=message.value())
        finally:
            consumer.close()


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "streamops-tests",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
