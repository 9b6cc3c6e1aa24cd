"""Work on many things at once, each with a limit of its own."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from streamops.bounded_pool import Worked, WorkLimits, WorkResult, work_on

SOON = timedelta(milliseconds=50)
PATIENT = WorkLimits(seats=4, seat=timedelta(minutes=1), limit=timedelta(minutes=1), budget=timedelta(minutes=1))


@pytest.fixture
def dead_place() -> Iterator[threading.Event]:
    """Whoever waits for it hangs until the test is over."""
    never = threading.Event()
    yield never
    never.set()


def by_job(worked: tuple[Worked[str, str], ...]) -> dict[str, WorkResult]:
    return {one.job: one.fate for one in worked}


def test_nothing_to_do_is_done_at_once() -> None:
    assert work_on((), lambda job: job, pace=PATIENT) == ()


def test_every_job_is_done_once_with_its_answer() -> None:
    worked = work_on(range(100), lambda job: job * 2, pace=PATIENT)

    assert sorted((one.job, one.answer) for one in worked) == [(number, number * 2) for number in range(100)]
    assert {one.fate for one in worked} == {WorkResult.DONE}


def test_no_more_is_under_way_than_there_are_seats() -> None:
    together = threading.Barrier(4)
    under_way, most, lock = 0, 0, threading.Lock()

    def work(job: int) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        together.wait(timeout=30)
        with lock:
            under_way -= 1

    worked = work_on(range(12), work, pace=PATIENT)

    assert {one.fate for one in worked} == {WorkResult.DONE}
    assert most == 4


def test_one_at_a_time_is_one_at_a_time() -> None:
    under_way, most, lock = 0, 0, threading.Lock()

    def work(job: int) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        with lock:
            under_way -= 1

    work_on(range(50), work, pace=WorkLimits(seats=1, most=1))

    assert most == 1


def test_what_one_raises_is_its_own_answer() -> None:
    def work(job: str) -> str:
        if job == "bad":
            raise ValueError("broken")
        return job

    worked = {one.job: one for one in work_on(("bad", "good"), work, pace=PATIENT)}

    assert (worked["bad"].fate, str(worked["bad"].error)) == (WorkResult.FAILED, "broken")
    assert (worked["good"].fate, worked["good"].answer) == (WorkResult.DONE, "good")


def test_one_that_hangs_costs_its_own_answer_and_no_other(dead_place: threading.Event) -> None:
    """With one seat, the next begins when the one that hangs is given up."""
    hung = threading.Event()

    def work(job: str) -> str:
        if job == "dead":
            hung.set()
            dead_place.wait()
        return job

    worked = work_on(
        ("dead", "a", "b"), work, pace=WorkLimits(seats=1, limit=timedelta(seconds=0.3), budget=timedelta(minutes=1))
    )

    assert hung.is_set()
    assert by_job(worked) == {"dead": WorkResult.HUNG, "a": WorkResult.DONE, "b": WorkResult.DONE}


def test_as_many_may_hang_as_there_are_seats_and_the_rest_is_still_done(dead_place: threading.Event) -> None:
    def work(job: str) -> str:
        if job.startswith("dead"):
            dead_place.wait()
        return job

    jobs = ("dead 1", "dead 2", "dead 3", "dead 4", "a", "b", "c")
    worked = work_on(jobs, work, pace=WorkLimits(seats=2, limit=timedelta(seconds=0.3), budget=timedelta(minutes=1)))

    assert {job for job, fate in by_job(worked).items() if fate is WorkResult.DONE} == {"a", "b", "c"}
    assert {job for job, fate in by_job(worked).items() if fate is WorkResult.HUNG} == set(jobs[:4])


def test_a_dead_place_with_many_things_in_it_does_not_take_the_time_of_all(dead_place: threading.Event) -> None:
    """Each of the dead keeps its seat for a moment only; with seats until the limit the others would wait for a minute."""
    jobs = (*(f"dead {number}" for number in range(20)), "a", "b")
    done = []

    def work(job: str) -> str:
        if job.startswith("dead"):
            dead_place.wait()
        done.append(job)
        if len(done) == 2:
            dead_place.set()  # Nobody has been given up yet: late is not lost.
        return job

    pace = WorkLimits(seats=2, seat=SOON, limit=timedelta(minutes=1), budget=timedelta(minutes=1))
    worked = work_on(jobs, work, pace=pace)

    assert done[:2] == ["a", "b"]
    assert {one.fate for one in worked} == {WorkResult.DONE}
    assert len(worked) == 22


def test_the_threads_that_hang_are_bounded(dead_place: threading.Event) -> None:
    begun = []

    def work(job: int) -> int:
        begun.append(job)
        dead_place.wait()
        return job

    pace = WorkLimits(seats=2, seat=timedelta(0), most=5, limit=timedelta(seconds=0.5), budget=timedelta(seconds=0.3))
    worked = work_on(range(20), work, pace=pace)

    assert begun == [0, 1, 2, 3, 4]
    assert [one.fate for one in worked] == [WorkResult.HUNG] * 5 + [WorkResult.NOT_BEGUN] * 15


def test_nothing_is_begun_when_the_time_for_all_is_over(dead_place: threading.Event) -> None:
    begun = []

    def work(job: str) -> str:
        begun.append(job)
        dead_place.wait()
        return job

    worked = work_on(("dead", "a", "b"), work, pace=WorkLimits(seats=1, limit=SOON, budget=SOON / 2))

    assert by_job(worked) == {"dead": WorkResult.HUNG, "a": WorkResult.NOT_BEGUN, "b": WorkResult.NOT_BEGUN}
    assert begun == ["dead"]


def test_an_answer_that_comes_late_is_nobodys(dead_place: threading.Event) -> None:
    late_is_out = threading.Event()

    def work(job: str) -> str:
        if job == "late":
            dead_place.wait()
            late_is_out.set()
        else:
            dead_place.set()  # The late one answers while this one is still at work.
            late_is_out.wait(timeout=30)
        return job

    pace = WorkLimits(seats=1, limit=timedelta(seconds=0.3), budget=timedelta(minutes=1))
    worked = work_on(("late", "next"), work, pace=pace)

    assert by_job(worked) == {"late": WorkResult.HUNG, "next": WorkResult.DONE}
    assert len(worked) == 2


def test_a_thread_that_hangs_does_not_keep_the_process_alive(dead_place: threading.Event) -> None:
    threads: list[threading.Thread] = []

    def work(job: str) -> str:
        threads.append(threading.current_thread())
        dead_place.wait()
        return job

    work_on(("dead",), work, pace=WorkLimits(seats=1, limit=SOON, budget=SOON))

    assert [thread.daemon for thread in threads] == [True]
