"""The stamps of single records, read by a consumer that joins no group and commits nothing.

Only the first record at each place is looked at; what else a fetch brings is thrown away, so fetches are kept small. Needs the
right to READ the topic.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from streamops.clock import Clock
from streamops.kafka.access import KafkaAccess
from streamops.kafka.broker import Place, RecordTime
from streamops.kafka.secrets import without_secrets

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_POLL_SECONDS = 0.2

_SETTINGS = {
    # Never used: a consumer that assigns its own partitions and commits nothing asks no coordinator.
    "group.id": "streamops-probe",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "queued.min.messages": 1,
    "fetch.message.max.bytes": 16 * 1024,
    "log_level": 0,
}


def probe_record_times(
    access: KafkaAccess, places: Collection[Place], *, clock: Clock, limit: timedelta
) -> Mapping[Place, RecordTime]:
    """The stamps, one place in a partition, as far as they came within the limit; the others say why not. Never raises."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    asked = {(place.topic, place.partition): place for place in places}
    if not asked:
        return {}
    try:
        consumer = Consumer({**dict(access.properties), "bootstrap.servers": access.bootstrap, **_SETTINGS})
    except (KafkaException, ValueError, TypeError) as error:
        told = without_secrets(str(error), access.properties)
        return {place: RecordTime(at=None, trouble=told) for place in places}
    found: dict[Place, RecordTime] = {}
    trouble = f"no answer within {limit.total_seconds():.0f} s"
    try:
        consumer.assign([TopicPartition(place.topic, place.partition, place.offset) for place in asked.values()])
        until = clock.monotonic() + limit
        while len(found) < len(asked) and clock.monotonic() < until:
            message = consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            places_told = [asked[place] for place in asked if _is_about(message, place)]
            found |= {place: _told(message, access) for place in places_told if place not in found}
            consumer.pause([TopicPartition(place.topic, place.partition) for place in places_told])
    except KafkaException as error:
        trouble = without_secrets(str(error), access.properties)
    finally:
        consumer.close()
    return {place: found.get(place, RecordTime(at=None, trouble=trouble)) for place in places}


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
