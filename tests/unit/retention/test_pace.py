"""Deadlines of queries that read on: who keeps pace stays quiet, and who does not is told the headroom."""

from datetime import UTC, datetime, timedelta

import pytest

from streamops.retention.forecast import Basis, Forecast, Waiting, forecast
from streamops.retention.growth import EndSample
from streamops.retention.outage import Pace, pace_of, with_pace
from streamops.retention.past import PlaceSample
from support.brokers import A_WEEK

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MARGIN = timedelta(minutes=30)


def watched(*, reads, deleted, written, start=100_000, earliest=0, latest=200_000, minutes=120, still=0):
    """Looks every five minutes, the last one now; offsets a minute. The query stands still for the last `still` minutes."""
    ages = range(minutes, -1, -5)
    starts = [PlaceSample(at=NOW - age * MINUTE, start=start - reads * max(0, age - still)) for age in ages]
    ends = [
        EndSample(at=NOW - age * MINUTE, earliest=earliest - deleted * age, latest=latest - written * age)
        for age in ages
    ]
    return starts, ends


def told(starts, ends, *, record_age=None, retention=None):
    waiting = Waiting(
        start=starts[-1].start,
        earliest=ends[-1].earliest,
        latest=ends[-1].latest,
        record_time=NOW - record_age if record_age else None,
        retention=retention,
        samples=ends,
    )
    pace = pace_of(starts, ends)
    assert pace is not None
    return with_pace(forecast(waiting, now=NOW), waiting, pace, now=NOW, margin=MARGIN)


@pytest.mark.fault("B33")
def test_a_slow_query_is_told_the_headroom_that_it_has_left():
    """The earliest offset moves 100 a minute, the committed one 40: 60 000 offsets last for 1 000 minutes."""
    starts, ends = watched(reads=40, deleted=100, written=100, start=60_000)

    foretold = told(starts, ends)

    assert foretold.basis is Basis.HEADROOM
    assert foretold.expected == NOW + 1_000 * MINUTE
    # What is deleted at a time, 500 here, may just be due.
    assert foretold.not_before == NOW + 59_500 / 60 * MINUTE
    assert "it read 40 offsets a minute, and Kafka may delete 100 a minute" in foretold.reason


@pytest.mark.fault("B33")
def test_a_query_that_is_as_fast_as_the_deletions_has_no_deadline():
    foretold = told(*watched(reads=100, deleted=100, written=90))

    assert (foretold.basis, foretold.not_before) == (Basis.KEEPS_PACE, None)


def test_a_query_slower_than_the_producer_is_told_before_anything_is_deleted():
    """What is written now is deleted at the same pace one day."""
    foretold = told(*watched(reads=40, deleted=0, written=100, start=60_000))

    assert foretold.expected == NOW + 1_000 * MINUTE


def test_what_waits_is_there_until_its_own_time_is_over_however_fast_the_deletions_are():
    starts, ends = watched(reads=40, deleted=4_000, written=100, start=60_000)

    foretold = told(starts, ends, record_age=timedelta(days=1), retention=A_WEEK)

    assert foretold.basis is Basis.HEADROOM
    assert foretold.not_before == NOW + timedelta(days=6)


@pytest.mark.parametrize("retention", [None, A_WEEK])
def test_a_query_at_the_head_keeps_pace_however_its_batches_fall(retention):
    """It read 90 of 100 a minute by chance of the looks, and all that waits is ten minutes old."""
    foretold = told(*watched(reads=90, deleted=100, written=100, start=199_000), retention=retention)

    assert foretold.basis is Basis.KEEPS_PACE


def test_a_query_that_gains_from_the_very_edge_keeps_its_moment():
    starts, ends = watched(reads=1_000, deleted=100, written=100)

    near = told(starts, ends, record_age=timedelta(days=7) - 20 * MINUTE, retention=A_WEEK)
    far = told(starts, ends, record_age=timedelta(days=7) - 40 * MINUTE, retention=A_WEEK)

    assert (near.basis, near.not_before) == (Basis.KEEPS_PACE, NOW + 20 * MINUTE)
    assert (far.basis, far.not_before) == (Basis.KEEPS_PACE, None)


def test_where_nothing_waits_the_pace_says_nothing():
    starts, ends = watched(reads=40, deleted=100, written=100, start=200_000)

    assert told(starts, ends).basis is Basis.NOTHING_TO_LOSE


@pytest.mark.parametrize(
    ("starts", "ends"),
    [
        pytest.param([], [], id="never seen"),
        pytest.param(*watched(reads=40, deleted=0, written=0, minutes=0), id="seen once"),
        pytest.param(*watched(reads=40, deleted=0, written=0, still=15), id="it stood still for a quarter of an hour"),
        pytest.param(*watched(reads=0, deleted=100, written=100), id="dead"),
    ],
)
def test_a_query_that_was_not_seen_to_read_has_no_pace(starts, ends):
    assert pace_of(starts, ends) is None


def test_a_batch_of_ten_minutes_is_no_standstill():
    starts, ends = watched(reads=40, deleted=0, written=0, still=10)

    assert pace_of(starts, ends) is not None


def test_headroom_ends_nowhere_beyond_two_months():
    waiting = Waiting(start=10**12, earliest=0, latest=2 * 10**12)
    pace = Pace(reads=1.0, closes=1.0 + 1e-9, is_at_head=False)

    foretold = with_pace(Forecast(basis=Basis.UNKNOWN), waiting, pace, now=NOW, margin=MARGIN)

    assert foretold.not_before == NOW + timedelta(days=60)
