"""What has to come before a driver of ours may take a checkpoint over, from the signs of somebody else."""

from datetime import timedelta

import pytest

from streamops.errors import ControlLogError, StorageError
from streamops.launch.outsiders import Outsider
from streamops.supervision.hand_over import HandOver, Signs, judge_hand_over, unseen, watch_still
from support.clock import FakeClock

AT_LEAST = timedelta(seconds=30)
VOUCH = "streamops adopt orders --confirm-stopped --reason …"
SCRIPT = Outsider(pid=4711, command="python legacy.py", evidence="the script that it runs names the checkpoint")
SLOW = timedelta(seconds=200)


def refuse(before: int, after: int) -> ControlLogError:
    return ControlLogError(f"from {before} to {after}")


def judged(signs: Signs, *, is_vouched: bool = False) -> HandOver:
    return judge_hand_over(signs, at_least=AT_LEAST, is_vouched=is_vouched, vouch=VOUCH)


@pytest.mark.parametrize(
    ("signs", "watch"),
    [
        pytest.param(Signs(), AT_LEAST, id="without a sign what the act watches in any case"),
        pytest.param(Signs(slowest=SLOW), AT_LEAST, id="slow batches are no sign by themselves"),
        pytest.param(Signs(foreign_plan=7, slowest=SLOW), SLOW * 1.5, id="a batch in flight: longer than the slowest"),
        pytest.param(Signs(has_moved=True, slowest=SLOW), SLOW * 1.5, id="a checkpoint that has moved"),
        pytest.param(
            Signs(has_met_another=True, slowest=SLOW), SLOW * 1.5, id="a driver of ours that met another writer"
        ),
        pytest.param(
            Signs(foreign_plan=7, slowest=timedelta(seconds=2)), AT_LEAST, id="never less than the act watches"
        ),
    ],
)
def test_a_watch_is_as_long_as_the_signs_ask_for(signs, watch):
    assert judged(signs).watch == watch
    assert not judged(signs).refusal


@pytest.mark.parametrize(
    ("signs", "named"),
    [
        pytest.param(
            Signs(outsiders=(SCRIPT,)), "process 4711 (python legacy.py)", id="a process that names the checkpoint"
        ),
        pytest.param(
            Signs(foreign_plan=0), "batch 0 is planned and not committed", id="a first batch: nobody knows how long"
        ),
    ],
)
def test_where_no_watch_is_enough_a_person_must_vouch(signs, named):
    refusal = judged(signs).refusal

    assert named in refusal
    assert f"`{VOUCH}`" in refusal
    assert "rows are doubled" in refusal
    assert judged(signs, is_vouched=True) == HandOver(watch=AT_LEAST)


def test_a_watch_ends_at_the_first_movement():
    clock, seen = FakeClock(), iter([1, 1, 2])

    with pytest.raises(ControlLogError, match="from 1 to 2"):
        watch_still(
            "the checkpoint",
            lambda: next(seen),
            timedelta(seconds=60),
            clock=clock,
            watching=unseen,
            refuse=refuse,
        )
    assert sum(clock.slept, timedelta(0)) < timedelta(seconds=60)


def test_a_place_that_does_not_answer_for_a_moment_does_not_end_a_watch_and_must_answer_at_its_end():
    clock, answers = FakeClock(), iter([1, None, 1, None])

    def read():
        answer = next(answers)
        if answer is None:
            raise StorageError("no answer")
        return answer

    with pytest.raises(StorageError):
        watch_still("it", read, timedelta(seconds=4), clock=clock, watching=unseen, refuse=refuse)


def test_no_watch_reads_nothing():
    watch_still("it", lambda: 1 / 0, timedelta(0), clock=FakeClock(), watching=unseen, refuse=refuse)
