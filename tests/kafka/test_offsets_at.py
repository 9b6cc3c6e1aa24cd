"""What a real broker says of a moment: the first record that is as young, in each partition."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.clock import SystemClock
from streamops.kafka.broker import KafkaAccess, TimeOffset
from streamops.kafka.confluent import ConfluentBroker

pytestmark = pytest.mark.kafka

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def broker(cluster):
    return ConfluentBroker(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock(), limit=timedelta(seconds=20))


def produce(cluster, topic, *minutes, partition=0):
    """One record for each of these minutes behind noon, in this order."""
    for minute in minutes:
        at = NOON + minute * MINUTE
        cluster.produce(topic, 1, partition=partition, at_ms=int(at.timestamp() * 1000))


def test_the_first_record_as_young_in_each_partition(cluster, broker):
    cluster.create("moments", partitions=3)
    produce(cluster, "moments", 0, 1, 2)
    produce(cluster, "moments", 3, 4, partition=1)

    found = broker.offsets_at([("moments", number) for number in range(3)], NOON + MINUTE)

    # The second partition has younger ones only, the third has none at all.
    assert found == {
        ("moments", 0): TimeOffset(offset=1),
        ("moments", 1): TimeOffset(offset=0),
        ("moments", 2): TimeOffset(offset=None),
    }


def test_stamps_out_of_order_leave_nothing_before_the_offset_that_is_as_young(cluster, broker):
    cluster.create("disorder")
    produce(cluster, "disorder", 0, 5, 1, 4, 7, 2)

    found = [
        broker.offsets_at([("disorder", 0)], NOON + n * MINUTE)[("disorder", 0)].offset for n in (0, 1, 2, 5, 6, 8)
    ]

    # Behind the end that minute 6 gives, at 4, lies the record of minute 2: it came late, and only slack finds it.
    assert found == [0, 1, 1, 1, 4, None]


def test_a_millisecond_too_old_is_too_old(cluster, broker):
    cluster.create("exact")
    produce(cluster, "exact", 0, 1)
    place = ("exact", 0)

    assert broker.offsets_at([place], NOON + timedelta(milliseconds=1))[place].offset == 1
    assert broker.offsets_at([place], NOON)[place].offset == 0


def test_a_partition_that_is_not_there_says_why(cluster, broker):
    cluster.create("narrow")
    answer = broker.offsets_at([("narrow", 7)], NOON)[("narrow", 7)]

    assert answer.offset is None
    assert answer.trouble


def test_nobody_at_the_address_is_no_answer():
    broker = ConfluentBroker(KafkaAccess(bootstrap="127.0.0.1:1"), SystemClock(), limit=timedelta(seconds=1))

    answer = broker.offsets_at([("orders", 0)], NOON)[("orders", 0)]

    assert answer.offset is None
    assert answer.trouble


def test_nothing_asked_is_nothing_answered(broker):
    assert broker.offsets_at([], NOON) == {}
