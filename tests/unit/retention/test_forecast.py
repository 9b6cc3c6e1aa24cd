"""Forecasts at their edges: what there is to foretell, and from what. How near they come, the replays tell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from streamops.retention.forecast import Basis, Waiting, forecast
from streamops.retention.growth import EndSample
from support.brokers import A_WEEK

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def waiting(**changes):
    return Waiting(**{"start": 50, "earliest": 0, "latest": 100, "retention": A_WEEK, **changes})


def samples(*ends):
    """One an hour, the last one now."""
    first = NOW - HOUR * (len(ends) - 1)
    return [
        EndSample(at=first + HOUR * n, earliest=earliest, latest=latest) for n, (earliest, latest) in enumerate(ends)
    ]


def retention(**changes):

    return replace(A_WEEK, **changes)


@pytest.mark.parametrize(
    ("changes", "basis", "reason"),
    [
        pytest.param({"start": 100}, Basis.NOTHING_TO_LOSE, "no record waits for the query", id="everything is read"),
        pytest.param(
            {"retention": retention(time=None)}, Basis.KEPT, "the topic has no limit of time or size", id="no limit"
        ),
        pytest.param(
            {"retention": retention(is_deleting=False, is_compacting=True)},
            Basis.KEPT,
            "the topic is compacted only",
            id="compacted",
        ),
        pytest.param(
            {}, Basis.UNKNOWN, "the time of the first record that is needed is not known", id="nobody may read"
        ),
        pytest.param(
            {"retention": retention(time=None, size=1000)},
            Basis.UNKNOWN,
            "the partition was not yet seen to delete by size",
            id="by size, never seen to delete",
        ),
        pytest.param(
            {"retention": None},
            Basis.UNKNOWN,
            "the topic's settings are not known, and its earliest offset did not move",
            id="no settings, no movement",
        ),
    ],
)
def test_where_there_is_no_moment_the_reason_is_told(changes, basis, reason):
    found = forecast(waiting(**changes), now=NOW)

    assert (found.basis, found.reason, found.not_before) == (basis, reason, None)


def test_a_record_is_kept_for_its_time_at_least():
    found = forecast(waiting(record_time=NOW - timedelta(days=6)), now=NOW)

    assert (found.basis, found.not_before) == (Basis.TIME, NOW + timedelta(days=1))


@pytest.mark.parametrize("year", [2027, 9999])
def test_a_record_from_the_future_promises_no_more_than_its_time_from_now(year):
    """Producers do write the year 9999."""
    found = forecast(waiting(record_time=datetime(year, 12, 31, tzinfo=UTC)), now=NOW)

    assert found.not_before == NOW + timedelta(days=7)


def test_without_settings_the_earliest_offset_goes_on_as_it_went():
    found = forecast(waiting(retention=None, samples=samples((0, 80), (10, 90), (20, 100)), earliest=20), now=NOW)

    assert (found.basis, found.expected) == (Basis.MOVEMENT, NOW + 3 * HOUR)
    assert found.not_before == NOW + 2 * HOUR


def test_of_two_limits_the_one_that_strikes_first_counts():
    seen = samples((0, 60), (20, 80), (40, 100))
    both = retention(size=1000)

    found = forecast(waiting(start=45, earliest=40, retention=both, record_time=NOW, samples=seen), now=NOW)

    assert found.basis is Basis.SIZE
