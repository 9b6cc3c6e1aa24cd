"""Blows are drawn at random, and the same for the same seed."""

from collections import Counter

import pytest

from streamops.spec import Timings
from streamops_sandbox.chaos.victims import (
    ASKED,
    MEANING,
    OF_AIRFLOW,
    OF_MOUNTS,
    REPLACED,
    SLOW,
    SUDDEN,
    Blow,
    Fate,
    Instant,
    Victim,
    draw_blows,
    duration_bounds,
    expected_fates,
    victims_of,
)

TIMINGS = Timings()
ALL = tuple(Victim)


def drawn(count: int, *, seed: int = 7, victims: tuple[Victim, ...] = ALL) -> tuple[Blow, ...]:
    return draw_blows(count, seed=seed, victims=victims, timings=TIMINGS)


def test_the_same_seed_draws_the_same_blows() -> None:
    assert drawn(50) == drawn(50)
    assert drawn(50) != drawn(50, seed=8)


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    assert drawn(40)[:10] == drawn(10)


def test_every_victim_is_struck_before_one_is_struck_again() -> None:
    assert set(Counter(blow.victim for blow in drawn(3 * len(ALL))).values()) == {3}


@pytest.mark.parametrize("victim", Victim)
def test_an_outage_lasts_within_the_bounds_of_its_kind(victim: Victim) -> None:
    shortest, longest = duration_bounds(victim, TIMINGS)

    assert all(shortest <= blow.lasts <= longest for blow in drawn(30, victims=(victim,)))


@pytest.mark.parametrize("victim", [Victim.SHORT_FREEZE, Victim.READ_ONLY, Victim.DISK_FULL])
def test_what_must_not_end_a_driver_is_over_before_its_halt_time_though_a_beat_was_just_due(victim: Victim) -> None:
    assert duration_bounds(victim, TIMINGS)[1] + TIMINGS.beat < TIMINGS.halt


@pytest.mark.parametrize("victim", [Victim.LONG_FREEZE, Victim.LONG_READ_ONLY, Victim.LONG_DISK_FULL])
def test_what_must_end_a_driver_lasts_longer_than_its_halt_time(victim: Victim) -> None:
    assert duration_bounds(victim, TIMINGS)[0] > TIMINGS.halt


def test_a_long_freeze_is_over_before_the_supervisor_may_take_over_and_a_hang_is_not() -> None:
    assert duration_bounds(Victim.LONG_FREEZE, TIMINGS)[1] + TIMINGS.beat < TIMINGS.takeover
    assert duration_bounds(Victim.HANG, TIMINGS)[0] > TIMINGS.takeover


def test_only_drivers_that_are_struck_themselves_fall_while_they_start() -> None:
    starting = {blow.victim for blow in drawn(300) if blow.instant is Instant.STARTING}

    assert starting
    assert starting <= SUDDEN | ASKED


def test_without_mounts_and_airflow_their_victims_are_left_out() -> None:
    victims = victims_of(with_airflow=False, with_mounts=False)

    assert not set(victims) & (OF_MOUNTS | OF_AIRFLOW)
    assert Victim.SUPERVISOR_KILL in victims


def test_under_airflow_there_is_no_other_supervisor_to_kill() -> None:
    assert Victim.SUPERVISOR_KILL not in victims_of(with_airflow=True, with_mounts=True)


@pytest.mark.parametrize("victim", Victim)
def test_every_victim_has_a_meaning_and_one_right_fate(victim: Victim) -> None:
    assert MEANING[victim]
    assert set(expected_fates(victim)) == {Fate.REPLACED if victim in REPLACED else Fate.UNTOUCHED}


def test_a_replaced_driver_is_of_one_kind() -> None:
    kinds = [SUDDEN, ASKED, SLOW]

    assert sum(map(len, kinds)) == len(REPLACED)
