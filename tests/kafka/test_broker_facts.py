"""What a real broker says of its topics, and what it is taken to mean."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from streamops.clock import SystemClock
from streamops.errors import SettingsError
from streamops.kafka.broker import KafkaAccess, RecordPlace
from streamops.kafka.confluent import ConfluentBroker
from streamops.retention import OffsetRange, PartitionNeed, PartitionState, SourceNeeds, cover

pytestmark = pytest.mark.kafka


@pytest.fixture
def broker(cluster):
    return ConfluentBroker(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock(), limit=timedelta(seconds=20))


def a_need(topic, start, *, partition=0):
    return (SourceNeeds(source="0", partitions=(PartitionNeed(topic=topic, partition=partition, start=start),)),)


def eventually(scan, holds):
    """The answer that holds; metadata takes a moment to spread."""
    until = time.monotonic() + 60
    while not holds(facts := scan()):
        assert time.monotonic() < until, facts
        time.sleep(0.5)
    return facts


def test_ends_id_and_retention_of_a_topic(cluster, broker):
    cluster.create("plain", partitions=2, retention_ms="3600000", retention_bytes="5000", segment_bytes="1048576")
    cluster.produce("plain", 7, partition=1)

    topic = broker.scan(["plain"]).topic("plain")

    assert [(one.partition, one.earliest, one.latest, one.trouble) for one in topic.partitions] == [
        (0, 0, 0, ""),
        (1, 0, 7, ""),
    ]
    assert len(topic.topic_id) == 22
    assert topic.retention is not None
    assert (topic.retention.time, topic.retention.size) == (timedelta(hours=1), 5000)
    assert (topic.retention.is_deleting, topic.retention.is_compacting) == (True, False)
    # The broker's default, since the topic has none of its own.
    assert topic.retention.segment_time == timedelta(days=7)


def test_a_topic_that_is_not_there_is_no_trouble(broker):
    topic = broker.scan(["never-created"]).topic("never-created")

    assert (topic.exists, topic.partitions, topic.trouble) == (False, (), "")


def test_records_that_were_deleted_are_lost_to_the_record(cluster, broker):
    cluster.create("deleted")
    cluster.produce("deleted", 20)
    cluster.delete_records("deleted", before=12)

    (found,) = cover(a_need("deleted", 5), broker.scan(["deleted"])).partitions

    assert (found.standing, found.lost) == (PartitionState.PARTLY_LOST, OffsetRange(first=5, end=12))


def test_a_topic_that_was_created_anew_has_another_id(cluster, broker):
    cluster.create("anew")
    cluster.produce("anew", 5)
    before = broker.scan(["anew"]).topic("anew").topic_id
    cluster.delete("anew")
    eventually(lambda: broker.scan(["anew"]), lambda facts: facts.topic("anew").exists is False)
    cluster.create("anew")
    cluster.produce("anew", 9)

    facts = eventually(
        lambda: broker.scan(["anew"]),
        lambda facts: [(one.latest, one.trouble) for one in facts.topic("anew").partitions] == [(9, "")],
    )
    (grown_past,) = cover(a_need("anew", 5), facts, remembered={"anew": before}).partitions
    (unnoticed,) = cover(a_need("anew", 5), facts).partitions
    (below,) = cover(a_need("anew", 50), facts, before=cover(a_need("anew", 50), facts)).partitions

    assert grown_past.standing is PartitionState.RECREATED
    assert unnoticed.standing is PartitionState.COVERED
    assert below.standing is PartitionState.RESET


def test_a_partition_that_is_added_is_new(cluster, broker):
    cluster.create("growing")
    cluster.produce("growing", 3)
    cluster.add_partitions("growing", 2)

    facts = eventually(
        lambda: broker.scan(["growing"]),
        lambda facts: [(one.latest, one.trouble) for one in facts.topic("growing").partitions] == [(3, ""), (0, "")],
    )

    assert [one.standing for one in cover(a_need("growing", 3), facts).partitions] == [
        PartitionState.COVERED,
        PartitionState.NEW,
    ]


def test_the_time_of_a_record_is_read_without_a_group(cluster, broker):
    cluster.create("timed", partitions=2)
    cluster.produce("timed", 3, at_ms=1_772_366_400_000)
    cluster.produce("timed", 3, at_ms=1_772_366_460_000)
    places = [RecordPlace(topic="timed", partition=0, offset=3), RecordPlace(topic="timed", partition=1, offset=0)]

    times = broker.record_times(places)

    assert times[places[0]].at == datetime(2026, 3, 1, 12, 1, tzinfo=UTC)
    assert (times[places[1]].at, times[places[1]].trouble) == (None, "no record is there")


def test_several_places_of_long_partitions_are_read_and_no_more_than_that(cluster, broker):
    """A driver with two queries asks for two places in each partition; behind each lie thousands of records."""
    cluster.create("long", partitions=3)
    for partition in range(3):
        cluster.produce("long", 3000, partition=partition, at_ms=1_772_366_400_000)
        cluster.produce("long", 3000, partition=partition, at_ms=1_772_366_460_000)
    places = [
        RecordPlace(topic="long", partition=number, offset=offset) for number in range(3) for offset in (100, 3100)
    ]

    times = broker.record_times(places)

    assert [times[place].at.minute for place in places] == [0, 1, 0, 1, 0, 1]


def test_the_first_record_behind_a_gap_counts(cluster, broker):
    cluster.create("gap")
    cluster.produce("gap", 4, at_ms=1_772_366_400_000)
    cluster.produce("gap", 4, at_ms=1_772_366_460_000)
    cluster.delete_records("gap", before=5)
    place = RecordPlace(topic="gap", partition=0, offset=5)

    assert broker.record_times([place])[place].at == datetime(2026, 3, 1, 12, 1, tzinfo=UTC)


def test_a_record_that_was_deleted_has_no_time_and_says_why(cluster, broker):
    cluster.create("before")
    cluster.produce("before", 8)
    cluster.delete_records("before", before=5)
    place = RecordPlace(topic="before", partition=0, offset=1)

    told = broker.record_times([place])[place]

    assert told.at is None
    assert "OFFSET" in told.trouble.upper()


def test_a_broker_that_stands_still_is_unknown_and_back_afterwards(cluster):
    cluster.create("paused")
    broker = ConfluentBroker(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock(), limit=timedelta(seconds=2))
    place = RecordPlace(topic="paused", partition=0, offset=0)
    with cluster.paused():
        known = broker.scan(["paused"])
        times = broker.record_times([place])

    back = eventually(lambda: broker.scan(["paused"]), lambda facts: facts.topic("paused").exists)

    assert known.topic("paused").exists is None
    assert "_TIMED_OUT" in known.topic("paused").trouble
    assert cover(a_need("paused", 0), known).standing is PartitionState.UNKNOWN
    assert times[place].at is None
    assert cover(a_need("paused", 0), back).standing is PartitionState.COVERED


def test_a_broker_that_is_killed_is_unknown_and_back_for_the_same_client_after_its_restart(cluster):
    cluster.create("killed")
    cluster.produce("killed", 7)
    broker = ConfluentBroker(KafkaAccess(bootstrap=cluster.bootstrap), SystemClock(), limit=timedelta(seconds=2))
    place = RecordPlace(topic="killed", partition=0, offset=0)
    assert broker.scan(["killed"]).topic("killed").exists
    began = time.monotonic()
    with cluster.killed():
        known = broker.scan(["killed"])
        times = broker.record_times([place])
        took = time.monotonic() - began

    back = eventually(
        lambda: broker.scan(["killed"]),
        lambda facts: [(one.latest, one.trouble) for one in facts.topic("killed").partitions] == [(7, "")],
    )

    assert cover(a_need("killed", 5), known).standing is PartitionState.UNKNOWN
    assert times[place].at is None
    assert took < 15
    assert cover(a_need("killed", 5), back).standing is PartitionState.COVERED


def test_nobody_at_the_address_is_unknown():
    broker = ConfluentBroker(KafkaAccess(bootstrap="127.0.0.1:1"), SystemClock(), limit=timedelta(seconds=1))

    topic = broker.scan(["orders"]).topic("orders")

    assert topic.exists is None
    assert topic.trouble


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        pytest.param({"no.such.setting": "hunter2"}, "no.such.setting", id="unknown"),
        pytest.param({"security.protocol": "HUNTER"}, "security.protocol", id="no such value"),
    ],
)
def test_settings_that_the_client_refuses_are_named(properties, message):
    access = KafkaAccess(bootstrap="127.0.0.1:1").with_properties(properties)

    with pytest.raises(SettingsError, match=message):
        ConfluentBroker(access, SystemClock())
