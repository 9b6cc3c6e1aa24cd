"""Topics that keep their records for less than the outage that is said to be tolerated."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.coverage.outage import shortfalls
from streamops.kafka import TopicFacts
from support.brokers import A_WEEK

HALF_AN_HOUR = timedelta(minutes=30)


def found(retention, *, tolerated):
    topic = TopicFacts(topic="orders", exists=True, retention=retention)
    return list(shortfalls([topic], tolerated=tolerated, restart=HALF_AN_HOUR))


def test_a_retention_that_is_too_short_is_told_with_the_one_that_is_needed():
    assert found(replace(A_WEEK, time=timedelta(days=1)), tolerated=timedelta(days=3)) == [
        "orders: an outage of 72 h is said to be tolerated, and records are kept for 24 h (retention.ms 86400000): the outage"
        " and the restart after it need retention.ms 261000000"
    ]


@pytest.mark.parametrize(
    ("retention", "tolerated"),
    [
        pytest.param(A_WEEK, timedelta(days=7) - HALF_AN_HOUR, id="just long enough"),
        pytest.param(replace(A_WEEK, time=None), timedelta(days=30), id="no limit"),
        pytest.param(replace(A_WEEK, is_deleting=False), timedelta(days=30), id="compacted only"),
        pytest.param(None, timedelta(days=30), id="not known"),
    ],
)
def test_otherwise_nothing_is_said(retention, tolerated):
    assert found(retention, tolerated=tolerated) == []


def test_the_restart_needs_its_half_hour():
    assert len(found(A_WEEK, tolerated=timedelta(days=7) - timedelta(minutes=29))) == 1
