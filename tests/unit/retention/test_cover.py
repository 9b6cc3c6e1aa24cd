"""What is needed against what a broker has, with the cases that users met (fault catalogue, group D)."""

from datetime import UTC, datetime

import pytest

from streamops.kafka import BrokerFacts, PartitionFacts, TopicFacts
from streamops.retention import OffsetRange, PartitionNeed, PartitionState, SourceNeeds, cover

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_topic(*partitions, name="orders", topic_id="id-1", exists=True, trouble=""):
    """Partitions as (earliest, latest), from 0 on."""
    facts = tuple(
        PartitionFacts(partition=number, earliest=ends[0], latest=ends[1]) for number, ends in enumerate(partitions)
    )
    return TopicFacts(topic=name, exists=exists, topic_id=topic_id, partitions=facts, trouble=trouble)


def a_broker(*topics):
    return BrokerFacts(bootstrap="broker:9092", at=NOW, topics=topics)


def needs(*starts, topic="orders", ends=(), trouble=""):
    partitions = [
        PartitionNeed(topic=topic, partition=number, start=start, end=ends[number] if ends else None)
        for number, start in enumerate(starts)
    ]
    pending = 7 if ends else None
    return (SourceNeeds(source="0", partitions=tuple(partitions), pending_batch=pending, trouble=trouble),)


def only(coverage):
    (partition,) = coverage.partitions
    return partition


@pytest.mark.parametrize(
    ("start", "ends", "lag"),
    [
        pytest.param(500, (100, 800), 300, id="some records wait"),
        pytest.param(500, (500, 800), 300, id="the first that is needed is the earliest"),
        pytest.param(800, (100, 800), 0, id="everything is read"),
        pytest.param(800, (800, 800), 0, id="everything is read and deleted since"),
        pytest.param(0, (0, 0), 0, id="an empty partition"),
    ],
)
def test_covered(start, ends, lag):
    found = only(cover(needs(start), a_broker(a_topic(ends))))

    assert (found.standing, found.lag, found.lost, found.reason) == (PartitionState.COVERED, lag, None, "")


@pytest.mark.fault("B32")
def test_down_longer_than_the_retention():
    """mozilla/telemetry-streaming#25: recorded 500, the topic begins at 800."""
    coverage = cover(needs(500), a_broker(a_topic((800, 1200))))

    found = only(coverage)
    assert (found.standing, found.lost) == (PartitionState.PARTLY_LOST, OffsetRange(first=500, end=800))
    assert found.reason == "300 offsets [500, 800) that are needed are deleted"
    assert (coverage.standing, coverage.lost_offsets) == (PartitionState.PARTLY_LOST, 300)


def test_everything_that_was_needed_is_deleted():
    found = only(cover(needs(500), a_broker(a_topic((800, 800)))))

    assert (found.standing, found.lost) == (PartitionState.LOST, OffsetRange(first=500, end=800))


def test_a_batch_in_flight_needs_its_start():
    found = only(cover(needs(500, ends=(600,)), a_broker(a_topic((550, 1200)))))

    assert (found.standing, found.lost, found.end) == (PartitionState.PARTLY_LOST, OffsetRange(first=500, end=550), 600)


def test_a_batch_in_flight_whose_start_is_not_known_is_unknown():
    found = only(cover(needs(600, trouble="offsets/6 can't be read"), a_broker(a_topic((0, 1200)))))

    assert (found.standing, found.reason) == (PartitionState.UNKNOWN, "offsets/6 can't be read")


@pytest.mark.fault("B34")
def test_a_topic_that_was_created_anew_and_ends_below_the_offset():
    """dev.to/kevinwallimann: recorded 500, the new topic ends at 300. Said once it may be a leader that lags behind."""
    broker = a_broker(a_topic((0, 300)))
    first = cover(needs(500), broker)

    second = cover(needs(500), broker, before=first)

    assert (only(first).standing, only(first).suspected) == (PartitionState.UNKNOWN, PartitionState.RESET)
    assert only(first).reason == "it ends at 300, the query has reached 500: a second look has to confirm that"
    assert (only(second).standing, only(second).suspected) == (PartitionState.RESET, None)
    assert only(second).lag == 0


def test_an_end_that_is_back_at_the_next_look_was_none():
    first = cover(needs(500), a_broker(a_topic((0, 300))))

    assert only(cover(needs(500), a_broker(a_topic((0, 501))), before=first)).standing is PartitionState.COVERED


def test_the_end_of_the_batch_in_flight_must_be_there_too():
    broker = a_broker(a_topic((0, 550)))

    found = only(cover(needs(500, ends=(600,)), broker, before=cover(needs(500, ends=(600,)), broker)))

    assert (found.standing, found.reason) == (PartitionState.RESET, "it ends at 550, the query has reached 600")


def test_a_topic_that_was_created_anew_and_has_grown_past_the_offset_shows_by_its_id_alone():
    """Spark goes on in it and notices nothing (checkpoint facts 11.2)."""
    broker = a_broker(a_topic((0, 900), topic_id="id-2"))

    found = only(cover(needs(500), broker, remembered={"orders": "id-1"}))

    assert found.standing is PartitionState.RECREATED
    assert found.reason == (
        "offset 500 is one of another topic (the topic was created anew: its id was id-1, now it is id-2)"
    )


@pytest.mark.parametrize(
    ("remembered", "topic_id"),
    [
        pytest.param({"orders": "id-1"}, "id-1", id="the same topic"),
        pytest.param({}, "id-1", id="no id is remembered"),
        pytest.param({"orders": "id-1"}, "", id="the broker does not tell"),
    ],
)
def test_no_other_topic_is_seen_where_the_ids_do_not_say_so(remembered, topic_id):
    broker = a_broker(a_topic((0, 900), topic_id=topic_id))

    assert only(cover(needs(500), broker, remembered=remembered)).standing is PartitionState.COVERED


@pytest.mark.fault("B36")
def test_deleted_and_added_partitions():
    """SPARK-47135: partitions 0, 1 and 2 are recorded; the topic has 0 and 1, or a fourth that begins at 40 or at 0."""
    deleted = a_broker(a_topic((0, 10), (0, 10)))
    added = cover(needs(5, 5, 5), a_broker(a_topic((0, 10), (0, 10), (0, 10), (40, 90), (0, 3))))

    gone = cover(needs(5, 5, 5), deleted, before=cover(needs(5, 5, 5), deleted)).partition("orders", 2)
    late, fresh = added.partition("orders", 3), added.partition("orders", 4)

    assert (gone.standing, gone.reason) == (PartitionState.GONE, "the partition is not there any more")
    assert (late.standing, late.lost) == (PartitionState.PARTLY_LOST, OffsetRange(first=0, end=40))
    assert late.reason == "no batch has read it yet, and the offsets [0, 40) are deleted"
    assert (fresh.standing, fresh.lost) == (PartitionState.NEW, None)


def test_a_topic_that_is_gone_counts_at_the_second_look():
    broker = a_broker(TopicFacts(topic="orders", exists=False))
    first = cover(needs(500), broker)

    assert only(first).standing is PartitionState.UNKNOWN
    assert only(first).reason == "the topic is not there any more: a second look has to confirm that"
    assert only(cover(needs(500), broker, before=first)).standing is PartitionState.GONE


def test_what_the_broker_does_not_say_is_unknown_and_never_lost():
    broker = a_broker(TopicFacts(topic="orders", exists=None, trouble="_TIMED_OUT: no answer"))

    found = only(cover(needs(500), broker))

    assert (found.standing, found.reason, found.lag) == (PartitionState.UNKNOWN, "_TIMED_OUT: no answer", None)


def test_one_end_that_is_missing_is_unknown():
    partition = PartitionFacts(partition=0, earliest=100, trouble="LEADER_NOT_AVAILABLE: no leader")
    broker = a_broker(TopicFacts(topic="orders", exists=True, partitions=(partition,)))

    found = only(cover(needs(500), broker))

    assert (found.standing, found.reason) == (PartitionState.UNKNOWN, "LEADER_NOT_AVAILABLE: no leader")


def test_a_topic_that_is_no_longer_named_is_told_whatever_the_broker_says():
    """Spark takes its partitions for deleted ones."""
    both = needs(500)[0].partitions + needs(5, topic="returns")[0].partitions
    sources = (SourceNeeds(source="0", partitions=both),)
    broker = a_broker(a_topic((0, 900)), a_topic((0, 9), name="returns"))

    coverage = cover(sources, broker, subscribed=["returns"])

    assert coverage.partition("orders", 0).standing is PartitionState.UNSUBSCRIBED
    assert coverage.partition("returns", 0).standing is PartitionState.COVERED


def test_a_source_that_shares_no_topic_with_the_declaration_is_unknown():
    """It may read another cluster: what the broker says of topics of that name tells nothing."""
    coverage = cover(needs(500), a_broker(a_topic((0, 300)), a_topic((40, 90), name="returns")), subscribed=["returns"])

    found = only(coverage)
    assert (found.topic, found.standing, found.suspected) == ("orders", PartitionState.UNKNOWN, None)


def test_a_topic_that_is_named_and_was_never_read_is_new():
    broker = a_broker(a_topic((0, 900)), a_topic((0, 5), name="returns"))

    coverage = cover(needs(500), broker, subscribed=["orders", "returns"])

    assert coverage.partition("returns", 0).standing is PartitionState.NEW
    assert coverage.standing is PartitionState.NEW


def test_a_new_partition_whose_ends_are_not_known_is_unknown():
    partitions = (
        PartitionFacts(partition=0, earliest=0, latest=900),
        PartitionFacts(partition=1, trouble="LEADER_NOT_AVAILABLE: no leader"),
    )
    broker = a_broker(TopicFacts(topic="orders", exists=True, partitions=partitions))

    found = cover(needs(500), broker).partition("orders", 1)

    assert (found.standing, found.reason) == (
        PartitionState.UNKNOWN,
        "no batch has read it yet; LEADER_NOT_AVAILABLE: no leader",
    )


def test_the_lag_of_all_partitions_is_not_known_where_one_is_not():
    known = cover(needs(500, 10), a_broker(a_topic((0, 800), (0, 15))))
    unknown = cover(needs(500, 10), a_broker(a_topic((0, 800))))

    assert (known.lag, unknown.lag) == (305, None)


def test_a_query_without_kafka_needs_nothing():
    coverage = cover((), a_broker())

    assert (coverage.standing, coverage.lag, coverage.partitions) == (PartitionState.COVERED, 0, ())
