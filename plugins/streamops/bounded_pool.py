"""The same work on many things at once, each with a limit of its own: a place that hangs costs one answer, not the rest.

Threads are daemons: one that hangs in a dead file system is given up, and it can't keep the process alive. Long before,
its seat goes to the next: were it kept until the limit, a few dozen things in one dead place would take the time of all.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Generic, TypeVar

J = TypeVar("J")
T = TypeVar("T")


class WorkResult(StrEnum):
    """What became of the work on one thing."""

    DONE = "done"
    FAILED = "failed"
    """It raised."""
    HUNG = "hung"
    """No answer within its limit. It may still come to an end, and nobody hears of it."""
    NOT_BEGUN = "not begun"
    """The time for all was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """How much at once, and for how long."""

    seats: int = 8
    """Threads at work at a time."""
    seat: timedelta = timedelta(seconds=2)
    """How long one keeps its seat. After that it may still answer, but the next one begins."""
    most: int = 200
    """Threads at a time, with those that have lost their seat."""
    limit: timedelta = timedelta(seconds=30)
    """For one thing."""
    budget: timedelta = timedelta(minutes=3)
    """For all: nothing is begun later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked(Generic[J, T]):
    """One thing and what became of it."""

    job: J
    fate: WorkResult
    answer: T | None = None
    """Of work that is done."""
    error: Exception | None = None
    """Of work that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun(Generic[J]):
    """Work that is under way; moments by the monotonic clock, in seconds."""

    job: J
    leaves_seat_at: float
    is_late_at: float


def work_on(jobs: Iterable[J], work: Callable[[J], T], *, pace: WorkLimits) -> tuple[Worked[J, T], ...]:
    """Every job once, as they come to an end. Never raises what the work raises."""
    answers: queue.SimpleQueue[tuple[int, Worked[J, T]]] = queue.SimpleQueue()
    waiting = deque(enumerate(jobs))
    begun: dict[int, _Begun[J]] = {}
    closes_at = time.monotonic() + pace.budget.total_seconds()
    ended: list[Worked[J, T]] = []
    while True:
        while waiting and time.monotonic() < closes_at and _has_room(begun.values(), pace):
            number, job = waiting.popleft()
            begun[number] = _begin(job, pace)
            threading.Thread(target=_answer, args=(number, job, work, answers), daemon=True).start()
        if not begun:
            break
        try:
            number, worked = answers.get(timeout=_patience(begun.values(), is_any_waiting=bool(waiting)))
        except queue.Empty:
            # All have the same limit, so the first that was begun is the first that is late.
            oldest = next(iter(begun))
            if begun[oldest].is_late_at <= time.monotonic():
                ended.append(Worked(job=begun.pop(oldest).job, fate=WorkResult.HUNG))
            continue
        if begun.pop(number, None):
            ended.append(worked)
    return (*ended, *(Worked(job=job, fate=WorkResult.NOT_BEGUN) for _, job in waiting))


def _begin(job: J, pace: WorkLimits) -> _Begun[J]:
    now = time.monotonic()
    return _Begun(job=job, leaves_seat_at=now + pace.seat.total_seconds(), is_late_at=now + pace.limit.total_seconds())


def _has_room(begun: Collection[_Begun[J]], pace: WorkLimits) -> bool:
    now = time.monotonic()
    return len(begun) < pace.most and sum(one.leaves_seat_at > now for one in begun) < pace.seats


def _patience(begun: Iterable[_Begun[J]], *, is_any_waiting: bool) -> float:
    """Seconds until the first of them is late or, where somebody waits for a seat, leaves one."""
    now = time.monotonic()
    moments = [one.is_late_at for one in begun]
    if is_any_waiting:
        moments += [one.leaves_seat_at for one in begun if one.leaves_seat_at > now]
    return max(0.0, min(moments) - now)


def _answer(
    number: int, job: J, work: Callable[[J], T], answers: "queue.SimpleQueue[tuple[int, Worked[J, T]]]"
) -> None:
    try:
        worked = Worked(job=job, fate=WorkResult.DONE, answer=work(job))
    except Exception as error:
        worked = Worked(job=job, fate=WorkResult.FAILED, error=error)
    answers.put((number, worked))
