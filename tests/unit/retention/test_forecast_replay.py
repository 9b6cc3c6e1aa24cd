"""Forecasts against what a simulated partition then does, for a query that has died: how far they are off, and never too late."""

import math
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

import pytest

from streamops.kafka import TopicRetention
from streamops.retention.forecast import Basis, Waiting, forecast
from support.kafka_log import START, KafkaLog

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def a_retention(*, time=2 * DAY, size=None, segment_time=6 * HOUR, segment_size=300_000):
    return TopicRetention(
        is_deleting=True,
        is_compacting=False,
        time=time,
        size=size,
        segment_time=segment_time,
        segment_size=segment_size,
        tombstone_time=DAY,
    )


def steady(moment):
    return 50


def daily(moment):
    """Five times as much at noon as at midnight."""
    return round(60 - 40 * math.cos(2 * math.pi * (moment - START) / DAY))


def bursts(moment):
    """Ten minutes of each hour, and nothing in between."""
    return 300 if (moment - START) % HOUR < timedelta(minutes=10) else 0


def stalled(moment):
    """The producer dies after four days and six hours, shortly after the query."""
    return 50 if moment - START < 4 * DAY + 6 * HOUR else 0


@dataclass
class Trace:
    """What was foretold, and what came."""

    errors: list[float]
    """|foretold - came| / time that was left."""
    too_late: int
    bases: set[Basis]


def replay(retention, rate, *, knows_record_time=True):
    """The query dies after four days; from then on a forecast an hour, until its first record goes."""
    log = KafkaLog(retention, rate)
    log.run(4 * DAY)
    start = log.latest
    log.run(HOUR)
    foretold = []
    while log.deleted_at(start) is None:
        assert log.at - START < 40 * DAY, "the record never went"
        waiting = Waiting(
            start=start,
            earliest=log.earliest,
            latest=log.latest,
            record_time=log.written_at(start) if knows_record_time else None,
            retention=retention,
            samples=log.samples,
        )
        foretold.append((log.at, forecast(waiting, now=log.at)))
        log.run(HOUR)
    came = log.deleted_at(start)
    # The last tenth of the time is left out: an error of minutes is no small part of minutes.
    told = [(at, one) for at, one in foretold if came - at >= (came - foretold[0][0]) / 10]
    return Trace(
        errors=sorted(abs(one.expected - came) / (came - at) for at, one in told),
        too_late=sum(one.not_before > came for _, one in foretold),
        bases={one.basis for _, one in foretold},
    )


@pytest.mark.parametrize(
    ("retention", "rate", "bases"),
    [
        pytest.param(a_retention(), steady, {Basis.TIME}, id="steady"),
        pytest.param(a_retention(), daily, {Basis.TIME}, id="daily cycle"),
        pytest.param(a_retention(), bursts, {Basis.TIME}, id="bursts"),
        pytest.param(a_retention(), stalled, {Basis.TIME}, id="stalled producer"),
        pytest.param(a_retention(segment_time=DAY, segment_size=10**9), steady, {Basis.TIME}, id="segments by time"),
        pytest.param(a_retention(time=None, size=6_000_000), steady, {Basis.SIZE}, id="by size, steady"),
        pytest.param(a_retention(time=None, size=15_000_000), daily, {Basis.SIZE}, id="by size, daily cycle"),
        pytest.param(a_retention(time=None, size=6_000_000), bursts, {Basis.SIZE}, id="by size, bursts"),
        pytest.param(a_retention(size=6_000_000), steady, {Basis.SIZE}, id="both, size strikes first"),
        pytest.param(a_retention(size=60_000_000), daily, {Basis.TIME}, id="both, time strikes first"),
    ],
)
@pytest.mark.parametrize("knows_record_time", [True, False])
def test_a_forecast_is_near_and_never_too_late(retention, rate, bases, knows_record_time):
    trace = replay(retention, rate, knows_record_time=knows_record_time)
    p95 = trace.errors[round(0.95 * (len(trace.errors) - 1))]

    print(f"{len(trace.errors)} forecasts, error median {median(trace.errors):.1%}, p95 {p95:.1%}")
    assert trace.too_late == 0
    assert median(trace.errors) <= 0.10
    assert p95 <= 0.25
    assert trace.bases == bases
