"""Living queries that are too slow, against what a simulated partition then does: the alarm is never later than act-by."""

import math
from datetime import timedelta

import pytest

from streamops.kafka import TopicRetention
from streamops.retention.forecast import Basis, Waiting, forecast
from streamops.retention.outage import pace_of, with_pace
from streamops.retention.past import PlaceSample
from support.kafka_log import START, KafkaLog

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MARGIN = 30 * MINUTE


def a_retention(*, time=DAY, size=None):
    return TopicRetention(
        is_deleting=True,
        is_compacting=False,
        time=time,
        size=size,
        segment_time=HOUR,
        segment_size=300_000,
        tombstone_time=DAY,
    )


def steady(moment):
    return 100


def daily(moment):
    return round(100 - 60 * math.cos(2 * math.pi * (moment - START) / DAY))


def bursts(moment):
    """Ten minutes of each hour, and nothing in between."""
    return 600 if (moment - START) % HOUR < 10 * MINUTE else 0


def replay(retention, rate, *, reads, knows_record_time, until=12 * DAY):
    """A look every five minutes at a query that keeps up for two days and reads so many a minute from then on.

    Gives when each look would have somebody act, and when the first record that it needed was deleted.
    """
    log = KafkaLog(retention, rate)
    log.run(2 * DAY)
    place, starts, looks = float(log.latest), [], []
    while log.at - START < until:
        log.run(5 * MINUTE)
        place = min(float(log.latest), place + 5 * reads)
        start = int(place)
        if log.earliest > start:
            return looks, log.at
        starts.append(PlaceSample(at=log.at, start=start))
        waiting = Waiting(
            start=start,
            earliest=log.earliest,
            latest=log.latest,
            record_time=log.written_at(start) if knows_record_time and start < log.latest else None,
            retention=retention,
            samples=log.samples[-500:],
        )
        foretold = forecast(waiting, now=log.at)
        if pace := pace_of(starts[-37:], waiting.samples):
            foretold = with_pace(foretold, waiting, pace, now=log.at, margin=MARGIN)
        looks.append((log.at, foretold))
    return looks, None


def act_by(foretold):
    if foretold.not_before is None or foretold.basis is Basis.KEEPS_PACE:
        return None
    return foretold.not_before - MARGIN


@pytest.mark.parametrize("knows_record_time", [True, False])
@pytest.mark.parametrize(
    ("retention", "rate", "reads"),
    [
        pytest.param(a_retention(), steady, 40, id="steady"),
        pytest.param(a_retention(), steady, 80, id="steady, nearly fast enough"),
        pytest.param(a_retention(), daily, 40, id="daily cycle"),
        pytest.param(a_retention(), bursts, 40, id="bursts"),
        pytest.param(a_retention(time=None, size=14_400_000), steady, 40, id="by size"),
        pytest.param(a_retention(time=None, size=14_400_000), daily, 40, id="by size, daily cycle"),
    ],
)
@pytest.mark.fault("B33")
def test_the_alarm_of_a_slow_query_comes_before_it_is_too_late(retention, rate, reads, knows_record_time):
    looks, lost_at = replay(retention, rate, reads=reads, knows_record_time=knows_record_time)

    alarms = [at for at, foretold in looks if (by := act_by(foretold)) and by <= at]
    warnings = [at for at, foretold in looks if (by := act_by(foretold)) and by - at <= 12 * HOUR]
    assert lost_at is not None
    print(f"lost after {lost_at - START}, warned {lost_at - warnings[0]} before, alarmed {lost_at - alarms[0]} before")
    assert lost_at - alarms[0] >= MARGIN
    assert lost_at - warnings[0] >= 3 * HOUR


@pytest.mark.parametrize(
    ("rate", "reads"),
    [
        pytest.param(steady, 101, id="steady"),
        pytest.param(daily, 161, id="daily cycle, fast enough for the peak"),
        pytest.param(daily, 120, id="daily cycle, behind at the peak and not for long"),
        pytest.param(bursts, 150, id="bursts"),
    ],
)
def test_a_query_that_is_fast_enough_wakes_nobody_for_ten_days(rate, reads):
    looks, lost_at = replay(a_retention(), rate, reads=reads, knows_record_time=True)

    assert lost_at is None
    nearest = min((by - at for at, foretold in looks if (by := act_by(foretold))), default=DAY)
    assert nearest > 12 * HOUR
