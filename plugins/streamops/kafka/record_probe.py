"""The stamps of single records, read by a consumer that joins no group and commits nothing.

Only the first record at each place is looked at; what else a fetch brings is thrown away, so fetches are kept small. Needs the
right to READ the topic.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from streamops.clock import Clock
from streamops.kafka.broker import KafkaAccess, RecordPlace, RecordTime, without_secrets

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_POLL_SECONDS = 0.2

_SETTINGS = {
    # Never used: a consumer that assigns its own partitions and commits nothing asks no coordinator.
    "group.id": "streamops-probe",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    # What is behind the first record is of no use. By default the client then rests a second before the next partition.
    "queued.min.messages": 1,
    "fetch.queue.backoff.ms": 5,
    "fetch.message.max.bytes": 16 * 1024,
    "log_level": 0,
}


def probe_record_times(
    access: KafkaAccess, places: Collection[RecordPlace], *, clock: Clock, limit: timedelta
) -> Mapping[RecordPlace, RecordTime]:
    """The stamps, as far as they came within the limit; the others say why not. Never raises."""
    from confluent_kafka import Consumer, KafkaException

    if not places:
        return {}
    try:
        consumer = Consumer({**dict(access.properties), "bootstrap.servers": access.bootstrap, **_SETTINGS})
    except (KafkaException, ValueError, TypeError) as error:
        told = without_secrets(str(error), access.properties)
        return {place: RecordTime(at=None, trouble=told) for place in places}
    found: dict[RecordPlace, RecordTime] = {}
    trouble = f"no answer within {limit.total_seconds():.0f} s"
    try:
        for place, answer in _answers(consumer, access, places, clock=clock, until=clock.monotonic() + limit):
            found[place] = answer
    except KafkaException as error:
        trouble = without_secrets(str(error), access.properties)
    finally:
        consumer.close()
    return {place: found.get(place, RecordTime(at=None, trouble=trouble)) for place in places}


def _answers(
    consumer: Any, access: KafkaAccess, places: Collection[RecordPlace], *, clock: Clock, until: timedelta
) -> Iterator[tuple[RecordPlace, RecordTime]]:
    """One place of a partition after the other, all partitions at once."""
    from confluent_kafka import TopicPartition

    waiting: dict[tuple[str, int], list[RecordPlace]] = {}
    for place in sorted(places, key=lambda place: -place.offset):
        waiting.setdefault((place.topic, place.partition), []).append(place)
    asked = {partition: rest.pop() for partition, rest in waiting.items()}
    consumer.assign([TopicPartition(place.topic, place.partition, place.offset) for place in asked.values()])
    while asked and clock.monotonic() < until:
        message = consumer.poll(_POLL_SECONDS)
        if message is None:
            continue
        for partition in [partition for partition in asked if _is_about(message, partition)]:
            yield asked.pop(partition), _told(message, access)
            consumer.incremental_unassign([TopicPartition(*partition)])
            if waiting[partition]:
                asked[partition] = following = waiting[partition].pop()
                consumer.incremental_assign([TopicPartition(*partition, following.offset)])


def _is_about(message: Any, place: tuple[str, int]) -> bool:
    """A missing right is told for the topic as a whole, without a partition."""
    topic, partition = place
    return message.topic() == topic and (message.partition() == partition or message.partition() in (None, -1))


def _told(message: Any, access: KafkaAccess) -> RecordTime:
    from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError

    if error := message.error():
        if error.code() == KafkaError._PARTITION_EOF:
            return RecordTime(at=None, trouble="no record is there")
        return RecordTime(at=None, trouble=without_secrets(f"{error.name()}: {error.str()}", access.properties))
    kind, milliseconds = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return RecordTime(at=None, trouble="the record bears no time")
    try:
        return RecordTime(at=_EPOCH + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return RecordTime(at=None, trouble=f"the record bears the time {milliseconds} ms, which no calendar has")
