"""Retention by outage, restart and catch-up."""

from streamops.cost.estimates import retention, retention_at_pace
from streamops.cost.figure import Figure, Origin, Unit, lasting
from support.specs import seconds

OUTAGE = lasting("outage", seconds(3600), Origin.GIVEN)
RESTART = lasting("restart", seconds(600), Origin.GIVEN)


def a_second(number: float) -> Figure:
    return Figure(name="n", value=number, unit=Unit.RECORDS_PER_SECOND, origin=Origin.GIVEN)


def test_the_three_parts_are_added_up():
    estimate = retention(OUTAGE, RESTART, lasting("catch-up", seconds(60), Origin.GIVEN))

    (needed,) = estimate.results
    assert (needed.duration, needed.note) == (seconds(4260), "retention.ms 4260000")


def test_the_catch_up_is_what_waits_by_what_is_read_beyond_what_is_written():
    """4200 s x 10 a second wait; 20 more a second are read than written."""
    estimate = retention_at_pace(OUTAGE, RESTART, a_second(10), a_second(30), is_most=True)

    waits, caught = estimate.inputs[-2:]
    (needed,) = estimate.results
    assert (waits.number, caught.duration, needed.duration) == (42000, seconds(2100), seconds(6300))


def test_a_query_that_never_catches_up_has_no_retention_that_would_do():
    estimate = retention_at_pace(OUTAGE, RESTART, a_second(30), a_second(30), is_most=True)

    assert estimate.results == ()
    assert estimate.notes == ("it reads 30 records a second and 30 are written: as it is, it never catches up",)


def test_a_catch_up_beyond_what_is_foretold_is_no_answer():
    """4200 s x 10 000 a second, of which 8 a second are made good: 60.8 days."""
    estimate = retention_at_pace(OUTAGE, RESTART, a_second(10_000), a_second(10_008), is_most=True)

    assert estimate.results == ()
    assert estimate.notes == (
        "it reads 10008 records a second and 10000 are written: it takes 60 days or more to catch up",
    )


def test_what_was_only_seen_without_a_backlog_is_not_called_never():
    estimate = retention_at_pace(OUTAGE, RESTART, a_second(30), a_second(20), is_most=False)

    assert estimate.results == ()
    assert estimate.notes == ("it was only seen to read 20 records a second while nothing waited",)
