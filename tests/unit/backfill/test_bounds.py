"""From an asked range to offsets, or to a reason with a way out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from streamops.backfill import (
    Expired,
    OffsetBound,
    RangeFound,
    RangeRefused,
    RequestedRange,
    TimeBound,
    expired_between,
    find_range,
)
from streamops.backfill.bounds import other_topics
from streamops.control.kafka_offsets import Offsets
from streamops.control.records import TopicSeen
from streamops.kafka import BrokerFacts, PartitionFacts, TopicFacts, TopicRetention
from streamops.kafka.broker import TimeOffset
from support.backfills import PLANNED_AT, offsets
from support.brokers import A_WEEK

NOW = datetime(2026, 3, 10, tzinfo=UTC)
LONG_AGO, YESTERDAY = NOW - timedelta(days=30), NOW - timedelta(days=1)


def a_topic(*ends: tuple[int, int], topic: str = "orders", retention: TopicRetention | None = A_WEEK) -> TopicFacts:
    partitions = tuple(PartitionFacts(partition=n, earliest=first, latest=last) for n, (first, last) in enumerate(ends))
    return TopicFacts(topic=topic, exists=True, partitions=partitions, retention=retention)


def facts(*topics: TopicFacts) -> BrokerFacts:
    return BrokerFacts(bootstrap="broker:9092", at=NOW, topics=topics)


def between(begin, end, **changes) -> RequestedRange:
    return RequestedRange(begin=bound(begin), end=bound(end), **changes)


def bound(at):
    return TimeBound(at=at) if isinstance(at, datetime) else OffsetBound(offsets=at)


def times(*found: int | None, topic: str = "orders") -> dict:
    return {(topic, number): TimeOffset(offset=offset) for number, offset in enumerate(found)}


# --- by offsets ---------------------------------------------------------------


def test_offsets_that_are_there_are_the_range():
    found = find_range(between(offsets(5, 0), offsets(9, 4)), facts(a_topic((5, 10), (0, 4))))

    assert found == RangeFound(start=offsets(5, 0), end=offsets(9, 4))
    assert found.records == 8


def test_a_reader_of_committed_records_comes_no_further_than_the_oldest_open_transaction():
    held_back = replace(a_topic((0, 20)), partitions=(PartitionFacts(partition=0, earliest=0, latest=20, stable=16),))

    found = find_range(between(LONG_AGO, NOW), facts(held_back), begins=times(0), ends=times(None))
    refused = find_range(between(offsets(0), offsets(18)), facts(held_back))

    assert isinstance(found, RangeFound)
    assert found.end == offsets(16)
    assert any("a transaction is open since" in note for note in found.notes)
    assert isinstance(refused, RangeRefused)
    assert "ends at 16 for readers of committed records" in refused.reasons[0]


def test_only_the_named_partitions_take_part():
    one = Offsets.of({("orders", 1): 2})
    other = Offsets.of({("orders", 1): 3})

    assert find_range(between(one, other), facts(a_topic((0, 9), (0, 9)))) == RangeFound(start=one, end=other)


REFUSED = {
    "the end before the begin": (between(offsets(5), offsets(4)), "orders-0 would be read from 5 back to 4"),
    "beyond the newest": (between(offsets(5), offsets(11)), "orders-0 ends at 10, asked was 11"),
    "nothing": (between(offsets(5), offsets(5)), "the range is empty: no partition holds a record of it"),
    "no such partition": (
        between(offsets(0, 0), offsets(1, 1)),
        "topic orders has no partition 1, only 1 from 0 on",
    ),
    "no such topic": (between(offsets(0, topic="gone"), offsets(1, topic="gone")), "there is no topic gone"),
    "a topic that was not looked at": (
        between(offsets(0, topic="x"), offsets(1, topic="x")),
        "the stream does not read topic x: it reads gone, orders",
    ),
    "a partition at one end only": (between(offsets(0, 0), offsets(1)), "only one end of the range names orders-1"),
    "times that are none": (
        between(YESTERDAY, YESTERDAY),
        "the range begins at 2026-03-09T00:00:00+00:00 and ends at 2026-03-09T00:00:00+00:00: it is empty",
    ),
}


@pytest.mark.parametrize(("asked", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_read_is_refused_with_its_reason(asked, reason):
    refused = find_range(asked, facts(a_topic((0, 10)), TopicFacts(topic="gone", exists=False)))

    assert isinstance(refused, RangeRefused)
    assert refused.reasons == (reason,)
    assert refused.way_out


def test_a_partition_whose_ends_nobody_knows_is_no_partition_without_records():
    unknown = TopicFacts(topic="orders", exists=True, partitions=(PartitionFacts(partition=0, trouble="NOT_LEADER"),))

    refused = find_range(between(YESTERDAY, NOW), facts(unknown), begins=times(0), ends=times(0))

    assert refused.reasons == ("the ends of orders-0 are not known: NOT_LEADER",)


@pytest.mark.parametrize("exists", [None, False])
def test_a_topic_that_is_away_is_never_left_out(exists):
    away = TopicFacts(topic="audit", exists=exists, trouble="_TIMED_OUT")

    refused = find_range(between(YESTERDAY, NOW), facts(a_topic((0, 9)), away), begins=times(0), ends=times(9))

    assert isinstance(refused, RangeRefused)
    assert "audit" in refused.reasons[0]


# --- what is deleted ----------------------------------------------------------


def test_deleted_offsets_are_told_to_the_record():
    asked = between(offsets(500, 0, 40), offsets(900, 100, 60))

    refused = find_range(asked, facts(a_topic((800, 1000), (200, 300), (10, 60))))

    assert refused.reasons == ("records of the range are deleted already",)
    assert list(map(str, refused.expired)) == ["orders-0 [500, 800): 300", "orders-1 [0, 100): 100"]


def test_with_leave_what_is_left_is_read_and_the_note_names_what_is_missing():
    asked = between(offsets(500, 0, 40), offsets(900, 100, 60))

    found = find_range(asked, facts(a_topic((800, 1000), (200, 300), (10, 60))), accepts_expired=True)

    # Of the second partition nothing is left to read: it takes no part.
    assert found.start == Offsets.of({("orders", 0): 800, ("orders", 2): 40})
    assert found.end == Offsets.of({("orders", 0): 900, ("orders", 2): 60})
    assert found.notes == ("Deleted already, and missing by leave: orders-0 [500, 800): 300; orders-1 [0, 100): 100.",)


def test_leave_for_what_is_deleted_makes_no_range_of_nothing():
    refused = find_range(between(offsets(0), offsets(5)), facts(a_topic((9, 20))), accepts_expired=True)

    assert refused.reasons == ("the range is empty: no partition holds a record of it",)
    assert refused.expired == (Expired(topic="orders", partition=0, first=0, end=5),)


def test_what_goes_while_a_backfill_runs_is_told_to_the_record():
    topics = facts(a_topic((25, 60), (3, 60)), TopicFacts(topic="audit", exists=None))
    start = Offsets.of({("orders", 0): 20, ("orders", 1): 3, ("audit", 0): 7})
    end = Offsets.of({("orders", 0): 50, ("orders", 1): 9, ("audit", 0): 9})

    assert list(map(str, expired_between(start, end, topics))) == ["orders-0 [20, 25): 5"]


# --- by times -----------------------------------------------------------------


def test_a_time_is_looked_up_in_every_partition():
    found = find_range(between(YESTERDAY, NOW), facts(a_topic((0, 10), (0, 20))), begins=times(4, 5), ends=times(9, 6))

    assert (found.start, found.end) == (offsets(4, 5), offsets(9, 6))
    assert (found.not_before, found.before, found.expired) == (YESTERDAY, NOW, ())


def test_a_partition_without_so_young_a_record_ends_where_it_ended_when_it_was_asked():
    found = find_range(
        between(YESTERDAY, NOW), facts(a_topic((0, 10), (0, 20))), begins=times(4, 7), ends=times(None, None)
    )

    assert (found.start, found.end) == (offsets(4, 7), offsets(10, 20))


def test_a_partition_that_holds_nothing_of_the_range_takes_no_part():
    """Else its records, which nobody needs, would have to be kept until the backfill is done."""
    found = find_range(
        between(YESTERDAY, NOW), facts(a_topic((0, 10), (0, 20))), begins=times(4, None), ends=times(9, None)
    )

    assert (found.start, found.end) == (offsets(4), offsets(9))


def test_a_record_that_came_after_the_look_is_not_read():
    found = find_range(between(YESTERDAY, NOW), facts(a_topic((0, 10), (0, 5))), begins=times(4, 3), ends=times(12, 7))

    assert (found.start, found.end) == (offsets(4, 3), offsets(10, 5))


def test_a_time_at_one_end_and_offsets_at_the_other():
    found = find_range(between(YESTERDAY, offsets(9)), facts(a_topic((0, 10), (0, 5))), begins=times(4, 2))

    assert (found.start, found.end, found.not_before, found.before) == (offsets(4), offsets(9), YESTERDAY, None)


def test_a_partition_of_which_the_time_is_not_known_is_refused():
    begins = {("orders", 0): TimeOffset(offset=None, trouble="_TIMED_OUT: no answer")}

    refused = find_range(between(YESTERDAY, NOW), facts(a_topic((0, 10))), begins=begins, ends=times(9))

    assert refused.reasons == (
        "which offset of orders-0 belongs to 2026-03-09T00:00:00+00:00 is not known: _TIMED_OUT: no answer",
    )


def test_a_partition_that_was_not_asked_for_its_time_is_refused():
    refused = find_range(between(YESTERDAY, NOW), facts(a_topic((0, 10))), ends=times(9))

    assert isinstance(refused, RangeRefused)
    assert "the cluster was not asked" in refused.reasons[0]


def test_the_slack_is_added_to_the_end_that_is_looked_up_and_not_to_the_range():
    asked = between(YESTERDAY, NOW, slack=timedelta(minutes=5))

    found = find_range(asked, facts(a_topic((0, 10))), begins=times(4), ends=times(9))

    assert (asked.begin_lookup, asked.end_lookup) == (YESTERDAY, NOW + timedelta(minutes=5))
    assert found.before == NOW
    assert "more than 0:05:00 behind a younger one" in found.notes[1]


FORMER = {
    "older than the topic keeps": (LONG_AGO, A_WEEK, (300, 900), 300, True),
    "within what the topic keeps": (YESTERDAY, A_WEEK, (300, 900), 300, False),
    "the oldest record is too old": (LONG_AGO, A_WEEK, (300, 900), 301, False),
    "nothing was ever deleted": (LONG_AGO, A_WEEK, (0, 900), 0, False),
    "what the topic keeps is not known": (YESTERDAY, None, (300, 900), 300, True),
    "nothing is left": (LONG_AGO, A_WEEK, (300, 300), None, True),
}


@pytest.mark.parametrize(("begin", "retention", "ends", "found", "is_missing"), FORMER.values(), ids=FORMER)
def test_a_time_before_the_oldest_record_may_have_lost_some(begin, retention, ends, found, is_missing):
    topics = facts(a_topic(ends, (0, 5), retention=retention))
    asked = between(begin, NOW)

    answer = find_range(asked, topics, begins=times(found, 0), ends=times(None, None), accepts_expired=True)

    assert answer.expired == ((Expired(topic="orders", partition=0, first=None, end=300),) if is_missing else ())


def test_what_may_be_lost_is_refused_without_leave_and_no_number_is_made_up():
    refused = find_range(between(LONG_AGO, NOW), facts(a_topic((300, 900))), begins=times(300), ends=times(None))

    assert isinstance(refused, RangeRefused)
    assert [(str(one), one.offsets) for one in refused.expired] == [
        ("orders-0: what was before 300, as far as it belonged to the range", None)
    ]


def test_a_range_in_words():
    assert str(between(YESTERDAY, offsets(9), slack=timedelta(minutes=5))) == (
        'from 2026-03-09T00:00:00+00:00 to {"orders":{"0":9}}, 0:05:00 late'
    )


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: TimeBound(at=datetime(2026, 3, 1)), id="a time without zone"),
        pytest.param(lambda: between(YESTERDAY, NOW, slack=timedelta(seconds=-1)), id="a negative slack"),
    ],
)
def test_a_bound_that_means_nothing_can_not_be_built(make):
    with pytest.raises(ValueError, match=r"time zone|negative"):
        make()


def test_many_reasons_are_counted():
    refused = find_range(between(offsets(*[5] * 14), offsets(*[9] * 14)), facts(a_topic(*[(0, 7)] * 14)))

    assert len(refused.reasons) == 11
    assert refused.reasons[-1] == "and 4 more like that"


# Topics that are others by now


PLANNED = (TopicSeen(topic="orders", id="first"),)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(TopicFacts(topic="orders", exists=True, topic_id="first"), (), id="the same"),
        pytest.param(TopicFacts(topic="orders", exists=True), (), id="the cluster does not tell"),
        pytest.param(TopicFacts(topic="orders", exists=None, trouble="away"), (), id="the cluster is away"),
        pytest.param(
            TopicFacts(topic="orders", exists=False), ("there is no topic orders any more",), id="it is deleted"
        ),
        pytest.param(
            TopicFacts(topic="orders", exists=True, topic_id="second"),
            ("topic orders was deleted and made anew since the plan was made (its id was first, now it is second)",),
            id="it was made anew",
        ),
    ],
)
def test_a_topic_is_another_when_the_cluster_says_so(found, told):
    facts = BrokerFacts(bootstrap="broker:9092", at=PLANNED_AT, topics=(found,))

    assert other_topics(PLANNED, facts) == told
