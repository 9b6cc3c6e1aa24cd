"""What many rounds say together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops_sandbox.chaos.rounds import Round, by_victim, deaths, patience, percentile, summarize
from streamops_sandbox.chaos.victims import Fate, Instant, Victim


def a_round(
    victim: Victim = Victim.DRIVER_KILL,
    *,
    fate: Fate = Fate.REPLACED,
    noticed: float | None = 1.0,
    disturbed_by: tuple[str, ...] = (),
) -> Round:
    return Round(
        victim=victim,
        instant=Instant.RUNNING,
        stream="orders",
        epoch=3,
        fate=fate,
        noticed=noticed,
        resubmitted=None if noticed is None else noticed + 0.1,
        disturbed_by=disturbed_by,
    )


def test_nothing_measured_has_no_percentile() -> None:
    assert percentile([], 99) is None


@given(st.lists(st.floats(0, 1000), min_size=1))
def test_the_99th_percentile_lies_between_the_median_and_the_worst(values: list[float]) -> None:
    median, high = percentile(values, 50), percentile(values, 99)

    assert median is not None
    assert high is not None
    assert round(min(values), 2) <= median <= high <= round(max(values), 2)


def test_of_a_hundred_and_one_values_the_99th_percentile_leaves_one_above() -> None:
    assert percentile([float(value) for value in range(101)], 99) == 99.0


def test_figures_taken_during_an_outage_are_counted_and_not_mixed_in() -> None:
    summary = summarize([a_round(noticed=1.0), a_round(noticed=60.0, disturbed_by=("supervisor-kill",))])

    assert (summary.rounds, summary.disturbed) == (2, 1)
    assert summary.noticed.worst == 1.0


@pytest.mark.parametrize(
    ("victim", "fate"),
    [
        pytest.param(Victim.SUPERVISOR_KILL, Fate.REPLACED, id="a driver that had to be left alone was replaced"),
        pytest.param(Victim.SHORT_FREEZE, Fate.STALLED, id="it lives and works no more"),
        pytest.param(Victim.HANG, Fate.UNTOUCHED, id="a hung driver was kept"),
    ],
)
def test_a_wrong_fate_is_unexpected(victim: Victim, fate: Fate) -> None:
    assert summarize([a_round(victim, fate=fate, noticed=None)]).unexpected == 1


def test_a_driver_that_had_to_be_waited_for_is_not_among_those_that_died_at_once() -> None:
    rounds = [a_round(noticed=1.0), a_round(Victim.HANG, noticed=75.0), a_round(Victim.PYTHON_TERM, noticed=9.0)]

    assert deaths(rounds).noticed.worst == 1.0
    assert patience(rounds).noticed.worst == 75.0


def test_only_what_was_struck_has_a_line() -> None:
    assert list(by_victim([a_round(Victim.HANG), a_round(Victim.JVM_KILL)])) == [Victim.JVM_KILL, Victim.HANG]


def test_a_round_is_read_back_as_it_was_written() -> None:
    found = a_round(disturbed_by=("broker-kill",))

    assert Round.from_json(found.to_json() | {"disturbed_by": ["broker-kill"], "colour": "blue"}) == found
