"""The sending port over confluent-kafka: an idempotent producer, and a consumer that commits nothing."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from streamops.clock import Clock
from streamops.errors import MissingLibraryError, SettingsError
from streamops.kafka.broker import Delivery, KafkaAccess, Marked, MarkedRecord, OutgoingRecord, Ranges, without_secrets

if TYPE_CHECKING:
    from confluent_kafka import Producer

DELIVERY_SECONDS = 30
"""After so long without an answer a record counts as not delivered."""
STILL_SECONDS = 30
"""A range that gives no record for so long is not read on."""
ANSWER_LIMIT = timedelta(seconds=2 * DELIVERY_SECONDS)
"""For all records of a call."""
_POLL_SECONDS = 0.5
_TICK_SECONDS = 0.01

_PRODUCER = {
    "enable.idempotence": True,
    "acks": "all",
    "delivery.timeout.ms": DELIVERY_SECONDS * 1000,
    "linger.ms": 0,
    # The cluster refuses a batch as a whole, so what may be too large should be alone in its own: a record beyond this size is.
    # With a record a batch about 1 000 went a second instead of 6 000 (300 bytes each).
    "batch.size": 10_000,
    # The topic decides on the size, not this client.
    "message.max.bytes": 1_000_000_000,
    # As Java's client chooses, so that a key goes where it has always gone.
    "partitioner": "murmur2_random",
    "log_level": 0,
}
_CONSUMER = {
    # Never used: a consumer that assigns its own partitions and commits nothing asks no coordinator.
    "group.id": "streamops-replay",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    # Whatever lies in the topic has been sent.
    "isolation.level": "read_uncommitted",
    "log_level": 0,
}


class ConfluentSender:
    """One cluster. Raises SettingsError where confluent-kafka is missing or can't use the settings."""

    def __init__(self, access: KafkaAccess, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._producer = _producer(access)

    def send(self, records: Sequence[OutgoingRecord]) -> tuple[Delivery, ...]:
        """See Sender."""
        found = self._sent(records)
        # A topic may take no more than a single small record: what was refused in company is sent alone.
        return tuple(
            self._sent([record])[0] if delivery.is_unfit and len(records) > 1 else delivery
            for record, delivery in zip(records, found, strict=True)
        )

    def _sent(self, records: Sequence[OutgoingRecord]) -> tuple[Delivery, ...]:
        from confluent_kafka import KafkaException

        found: list[Delivery | None] = [None] * len(records)
        untold = Delivery(trouble="the client gave no answer")
        until = self._clock.monotonic() + ANSWER_LIMIT
        try:
            for number, record in enumerate(records):
                self._give(record, partial(self._note, found, number), found, number)
            # Not flush: it may come back with records in its queue after the topic has refused one (librdkafka 2.16).
            while None in found and self._clock.monotonic() < until:
                self._producer.poll(_TICK_SECONDS)
        except KafkaException as error:
            # A producer that may not write at all is of no use any more, and says so wherever it is asked.
            untold = Delivery(trouble=self._told(error.args[0]))
        finally:
            answers = tuple(delivery or untold for delivery in found)
            if None in found:
                # What is left must not be sent after the answer was given, nor when whoever asked was interrupted.
                with suppress(KafkaException):
                    self._producer.purge()
                    self._producer.poll(_POLL_SECONDS)
        return answers

    def marked(self, ranges: Ranges, *, name: str, value: bytes) -> Marked:
        """See Sender."""
        from confluent_kafka import Consumer, KafkaException

        open_ranges = {place: ends for place, ends in ranges.items() if ends[0] < ends[1]}
        if not open_ranges:
            return Marked()
        records: list[MarkedRecord] = []
        try:
            consumer = Consumer(_settings(self._access, _CONSUMER))
        except KafkaException as error:
            return Marked(trouble=self._told(error.args[0]))
        try:
            for message in self._messages(consumer, open_ranges):
                headers = tuple((str(key), content or b"") for key, content in message.headers() or ())
                if (name, value) in headers:
                    place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
                    records.append(MarkedRecord(**place, headers=headers))
        except KafkaException as error:
            return Marked(records=tuple(records), trouble=self._told(error.args[0]))
        finally:
            consumer.close()
        return Marked(records=tuple(records))

    def _messages(self, consumer: Any, ranges: Ranges) -> Iterator[Any]:
        """All records of the ranges. KafkaException where the cluster says no, or nothing for too long."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        waiting = dict(ranges)
        consumer.assign([TopicPartition(*place, first) for place, (first, _) in waiting.items()])
        heard, trouble = self._clock.monotonic(), KafkaError(KafkaError._TIMED_OUT, f"no record for {STILL_SECONDS} s")
        while waiting:
            if (self._clock.monotonic() - heard).total_seconds() > STILL_SECONDS:
                raise KafkaException(trouble)
            message = consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            place, error = (message.topic(), message.partition()), message.error()
            if error and error.code() == KafkaError._PARTITION_EOF:
                # The end may come before the range's: what a compacted topic has dropped is not given.
                waiting.pop(place, None)
            elif error and message.topic() is None:
                # Of a connection, which the client makes anew, or of the group's coordinator, which nobody needs.
                trouble = trouble if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED else error
            elif error:
                raise KafkaException(error)
            elif place in waiting:
                heard = self._clock.monotonic()
                if message.offset() < waiting[place][1]:
                    yield message
                if message.offset() + 1 >= waiting[place][1]:
                    del waiting[place]

    def _give(self, record: OutgoingRecord, note: Any, found: list[Delivery | None], number: int) -> None:
        from confluent_kafka import KafkaException

        fields: dict[str, Any] = {"key": record.key, "value": record.value, "headers": list(record.headers)}
        if record.partition is not None:
            fields["partition"] = record.partition
        while True:
            try:
                self._producer.produce(record.topic, on_delivery=note, **fields)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(_POLL_SECONDS)
            except KafkaException as error:
                found[number] = self._failed(error.args[0])
                return

    def _note(self, found: list[Delivery | None], number: int, error: Any, message: Any) -> None:
        if error:
            found[number] = self._failed(error)
        else:
            found[number] = Delivery(partition=message.partition(), offset=message.offset())

    def _failed(self, error: Any) -> Delivery:
        from confluent_kafka import KafkaError

        unfit = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError.INVALID_MSG)
        return Delivery(trouble=self._told(error), is_unfit=error.code() in unfit)

    def _told(self, error: Any) -> str:
        return without_secrets(f"{error.name()}: {error.str()}", self._access.properties)


def _settings(access: KafkaAccess, own: dict[str, Any]) -> dict[str, Any]:
    return {**dict(access.properties), "bootstrap.servers": access.bootstrap, **own}


def _producer(access: KafkaAccess) -> "Producer":
    try:
        from confluent_kafka import KafkaException, Producer
    except ImportError as error:
        raise MissingLibraryError(
            "sending to a Kafka cluster needs the package confluent-kafka: pip install 'streamops[kafka]'"
        ) from error
    try:
        return Producer(_settings(access, _PRODUCER))
    except (KafkaException, ValueError, TypeError) as error:
        told = without_secrets(str(error), access.properties)
        raise SettingsError(f"the settings for Kafka at {access.bootstrap} can't be used: {told}") from None
