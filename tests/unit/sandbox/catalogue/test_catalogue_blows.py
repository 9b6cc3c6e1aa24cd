"""Whom the demo strikes, and when."""

import pytest

from streamops_sandbox.catalogue.one_round import OneBlowEach
from streamops_sandbox.catalogue.playing import InTheseWaves
from streamops_sandbox.catalogue.trial import MissedBlowError, Trial
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.waiting import SilentNarrator
from support.specs import a_stream


def a_trial(*, kills: int = 0) -> Trial:
    trial = Trial(a_stream("orders"), bootstrap="127.0.0.1:9", told=str)
    trial.kills = kills
    return trial


def a_course(told: list[str]) -> OneBlowEach:
    return OneBlowEach(told.append, SilentNarrator())


@pytest.mark.parametrize(("wave", "kills", "is_due"), [(0, 0, False), (1, 0, True), (2, 0, True), (2, 1, False)])
def test_each_driver_is_struck_once_from_the_second_wave_on(wave, kills, is_due):
    assert a_course([]).is_due(a_trial(kills=kills), wave=wave) is is_due


def test_a_blow_that_came_too_late_is_told_and_tried_again():
    told: list[str] = []
    course = a_course(told)

    course.missed(MissedBlowError("orders: batch 3 was committed before the blow fell"))

    assert told == ["orders: batch 3 was committed before the blow fell; again in the next wave"]
    assert course.is_due(a_trial(), wave=2)


@pytest.mark.parametrize(
    ("batch", "line"),
    [
        (4, "orders: kill -9 of its driver in batch 4; the next driver is submitted"),
        (None, "orders: kill -9 of its driver between two marks; the next driver is submitted"),
    ],
)
def test_a_blow_is_told_with_its_batch_where_there_is_one(batch, line):
    told: list[str] = []

    a_course(told).struck(a_trial(), batch)

    assert told == [line]


def test_in_a_test_a_blow_that_came_too_late_is_an_error():
    course = InTheseWaves(waves=(1, 3))

    assert [course.is_due(a_trial(kills=1), wave=wave) for wave in range(4)] == [False, True, False, True]
    with pytest.raises(MissedBlowError):
        course.missed(MissedBlowError("too late"))


def test_who_waits_ends_when_the_trial_is_broken_off():
    trial = a_trial()
    trial.break_off()

    with pytest.raises(SandboxError, match="orders: broken off while it waited for the moon"):
        trial.until(lambda: False, "the moon")
