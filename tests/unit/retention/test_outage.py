"""Topics that keep their records for less than the outage that is said to be tolerated."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from streamops.kafka import PartitionFacts, TopicFacts
from streamops.retention.growth import EndSample
from streamops.retention.outage import shortfalls
from support.brokers import A_WEEK
from support.kafka_log import RECORD_BYTES, KafkaLog

HALF_AN_HOUR = timedelta(minutes=30)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def found(retention, *samples, tolerated):
    """For a topic with a partition for each row of samples."""
    partitions = tuple(PartitionFacts(partition=number) for number in range(len(samples)))
    topic = TopicFacts(topic="orders", exists=True, partitions=partitions, retention=retention)
    return list(
        shortfalls([topic], ends=lambda name, number: samples[number], tolerated=tolerated, restart=HALF_AN_HOUR)
    )


def hourly(*ends):
    """Both ends, one look an hour."""
    return [EndSample(at=NOW + HOUR * n, earliest=earliest, latest=latest) for n, (earliest, latest) in enumerate(ends)]


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


# A limit of size


BY_SIZE = replace(A_WEEK, time=None, size=4_000, segment_size=1_000)
SIX_HOURS = hourly(*((max(0, 100 * (n - 4)), 100 * (n + 1)) for n in range(10)))
"""A hundred offsets an hour; of those written within an hour the last are gone five or six hours later."""


def test_a_size_that_lasts_too_short_is_told_with_the_one_that_is_needed():
    assert found(BY_SIZE, SIX_HOURS, tolerated=DAY - HALF_AN_HOUR) == [
        "orders: an outage of 23.5 h is said to be tolerated, and partition 0 was seen to delete records 6 h after they were"
        " written (retention.bytes 4000): the outage and the restart after it need retention.bytes 24000 or so, while no more"
        " is written than now"
    ]


@pytest.mark.parametrize(
    ("retention", "samples", "tolerated"),
    [
        pytest.param(BY_SIZE, SIX_HOURS, timedelta(hours=5, minutes=30), id="it lasts just long enough"),
        pytest.param(BY_SIZE, [], DAY, id="no look is on record"),
        pytest.param(BY_SIZE, SIX_HOURS[:5], DAY, id="nothing was deleted so far: how much fits is not known"),
        pytest.param(BY_SIZE, SIX_HOURS[6:], DAY, id="what was deleted was written before the first look"),
        pytest.param(BY_SIZE, hourly((0, 100), (200, 200), (300, 300)), DAY, id="nothing is left: not by size"),
        pytest.param(replace(BY_SIZE, size=None), SIX_HOURS, DAY, id="no limit of size: by hand, perhaps"),
        pytest.param(replace(BY_SIZE, is_deleting=False), SIX_HOURS, DAY, id="compacted only"),
    ],
)
def test_where_the_size_suffices_or_nobody_knows_nothing_is_said(retention, samples, tolerated):
    assert found(retention, samples, tolerated=tolerated) == []


def test_what_may_have_gone_by_its_time_is_told_of_the_time_alone():
    both = replace(BY_SIZE, time=timedelta(hours=6))

    (told,) = found(both, SIX_HOURS, tolerated=DAY)

    assert "need retention.ms 88200000" in told


def test_both_limits_may_be_too_short():
    told = found(replace(BY_SIZE, time=timedelta(hours=7)), SIX_HOURS, tolerated=DAY)

    assert [re.search(r"need (retention\.\w+)", line)[1] for line in told] == ["retention.ms", "retention.bytes"]


def test_the_partition_in_which_records_last_shortest_is_told():
    three_hours = hourly(*((max(0, 100 * (n - 1)), 100 * (n + 1)) for n in range(10)))

    (told,) = found(BY_SIZE, SIX_HOURS, three_hours, [], tolerated=DAY)

    assert "partition 1 was seen to delete records 3 h after they were written" in told


def test_a_record_that_lasts_minutes_is_told_in_minutes():
    minutes = [replace(sample, at=NOW + (sample.at - NOW) / 60) for sample in SIX_HOURS]

    (told,) = found(BY_SIZE, minutes, tolerated=DAY)

    assert "was seen to delete records 6 min after they were written" in told


# Against what a simulated partition then does


def shortest(log):
    """How long the record was there that was deleted soonest, once the partition was full."""
    return min(at - log.written_at(earliest - 1) for earliest, at in log.deleted)


def steady(moment):
    return 50


def office_hours(moment):
    return 120 if 8 <= moment.hour < 18 else 5


@pytest.mark.parametrize("rate", [steady, office_hours])
@pytest.mark.parametrize("segment_size", [50_000, 2_000_000], ids=["small segments", "large segments"])
@pytest.mark.parametrize("looked_at", [1, 12], ids=["every five minutes", "hourly"])
def test_with_the_size_that_is_named_the_outage_is_covered(rate, segment_size, looked_at):
    retention = replace(A_WEEK, time=None, size=RECORD_BYTES * 50 * 60 * 10, segment_size=segment_size)
    log = KafkaLog(retention, rate)
    log.run(4 * DAY)
    needed = 2 * DAY
    assert shortest(log) < needed

    (told,) = found(retention, log.samples[::looked_at], tolerated=needed - HALF_AN_HOUR)
    size = int(re.search(r"need retention\.bytes (\d+)", told)[1])
    wider = KafkaLog(replace(retention, size=size), rate)
    wider.run(9 * DAY)

    assert wider.deleted
    assert needed <= shortest(wider) < 2.5 * needed


def test_a_size_that_suffices_in_the_simulation_is_never_warned_of():
    retention = replace(A_WEEK, time=None, size=RECORD_BYTES * 50 * 60 * 48, segment_size=50_000)
    log = KafkaLog(retention, office_hours)
    log.run(8 * DAY)

    assert found(retention, log.samples[::12], tolerated=shortest(log) - HALF_AN_HOUR) == []
