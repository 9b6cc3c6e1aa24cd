"""Input records into a broker."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.inputs.record import InputRecord

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

LIMIT = timedelta(minutes=1)
_REPORT_SECONDS = 5.0
"""For the client to report what has reached the limit."""


def send(records: Iterable[InputRecord], *, bootstrap: str, limit: timedelta = LIMIT) -> int:
    """Send records of one wave, each to its topic, and return how many once the broker has acknowledged all of them.

    The key decides the partition, by the same hash as Kafka's own Java clients, so that the records of one key keep their
    order. A retried record does not arrive twice. Raises SandboxError when one was not acknowledged within the limit.
    """
    from confluent_kafka import Producer

    failures: list[str] = []

    def delivered(error: "KafkaError | None", _message: "Message") -> None:
        if error is not None:
            failures.append(error.str())

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "acks": "all",
            "partitioner": "murmur2_random",
            "message.timeout.ms": limit // timedelta(milliseconds=1),
            "log_level": 0,
        }
    )
    sent = 0
    for record in records:
        while True:
            try:
                producer.produce(record.topic, key=record.key, value=record.value, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
        sent += 1
    left = producer.flush(limit.total_seconds() + _REPORT_SECONDS)
    if left or failures:
        reason = failures[0] if failures else "no answer in time"
        raise SandboxError(f"{left + len(failures)} of {sent} records were not acknowledged by {bootstrap}: {reason}")
    return sent
