"""What a claim puts on record of the topics that its start found."""

import pytest

from streamops.control.records import TopicSeen
from streamops.retention import Coverage, PartitionCoverage, PartitionState
from streamops.retention.past import topics_seen
from support.clock import START


def a_coverage(*standings, **ids):
    """Of the topic `orders`, with a partition for each standing."""
    partitions = tuple(
        PartitionCoverage(topic="orders", partition=number, standing=standing)
        for number, standing in enumerate(standings)
    )
    return Coverage(at=START, partitions=partitions, topic_ids=ids)


ORDERS = (TopicSeen(topic="orders", id="a"),)


@pytest.mark.parametrize(
    ("coverages", "expected"),
    [
        pytest.param([], (), id="nobody was asked"),
        pytest.param([a_coverage(PartitionState.COVERED)], (), id="the cluster tells no ids"),
        pytest.param([a_coverage(orders="a")], ORDERS, id="before the first batch"),
        pytest.param(
            [a_coverage(PartitionState.COVERED, PartitionState.NEW, orders="a")], ORDERS, id="as it should be"
        ),
        pytest.param(
            [a_coverage(PartitionState.PARTLY_LOST, orders="a")], ORDERS, id="lost records are of the same topic"
        ),
        pytest.param(
            [a_coverage(PartitionState.COVERED, clicks="c", orders="a")],
            (TopicSeen(topic="clicks", id="c"), *ORDERS),
            id="in order",
        ),
        pytest.param(
            [a_coverage(PartitionState.COVERED, PartitionState.UNKNOWN, orders="b")], (), id="a partition can't be told"
        ),
        pytest.param([a_coverage(PartitionState.RECREATED, orders="b")], (), id="it is another topic"),
        pytest.param([a_coverage(PartitionState.RESET, orders="b")], (), id="it may be another topic"),
        pytest.param(
            [a_coverage(orders="b"), a_coverage(PartitionState.RECREATED, orders="b")], (), id="a companion tells that"
        ),
    ],
)
def test_a_topic_that_may_be_another_is_not_put_on_record(coverages, expected):
    assert topics_seen(coverages, is_accepted=False) == expected


@pytest.mark.parametrize("standing", [PartitionState.UNKNOWN, PartitionState.RECREATED, PartitionState.RESET])
def test_where_a_person_accepted_what_is_there_it_is(standing):
    assert topics_seen([a_coverage(standing, orders="a")], is_accepted=True) == ORDERS
