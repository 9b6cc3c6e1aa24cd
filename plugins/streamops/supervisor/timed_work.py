"""The same work on many things at once, each with a limit of its own: a place that hangs costs one answer, not the rest.

Threads are daemons: one that hangs in a dead file system is given up, its seat goes to the next, and it can't keep the
process alive.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Generic, TypeVar

J = TypeVar("J")
T = TypeVar("T")


class Fate(StrEnum):
    """What became of the work on one thing."""

    DONE = "done"
    FAILED = "failed"
    """It raised."""
    HUNG = "hung"
    """No answer within its limit. It may still come to an end, and nobody hears of it."""
    NOT_BEGUN = "not begun"
    """The time for all was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much at once, and for how long."""

    seats: int = 8
    """Threads that are waited for at a time."""
    limit: timedelta = timedelta(seconds=30)
    """For one thing."""
    budget: timedelta = timedelta(minutes=3)
    """For all: nothing is begun later. Also what bounds the threads that hang: seats for each limit that fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked(Generic[J, T]):
    """One thing and what became of it."""

    job: J
    fate: Fate
    answer: T | None = None
    """Of work that is done."""
    error: Exception | None = None
    """Of work that failed."""


def work_on(jobs: Iterable[J], work: Callable[[J], T], *, pace: Pace) -> tuple[Worked[J, T], ...]:
    """Every job once, as they come to an end. Never raises what the work raises."""
    answers: queue.SimpleQueue[tuple[int, Worked[J, T]]] = queue.SimpleQueue()
    waiting = deque(enumerate(jobs))
    begun: dict[int, tuple[J, float]] = {}
    closes_at = time.monotonic() + pace.budget.total_seconds()
    ended: list[Worked[J, T]] = []
    while True:
        while waiting and len(begun) < pace.seats and time.monotonic() < closes_at:
            number, job = waiting.popleft()
            begun[number] = (job, time.monotonic() + pace.limit.total_seconds())
            threading.Thread(target=_answer, args=(number, job, work, answers), daemon=True).start()
        if not begun:
            break
        # All have the same limit, so the first that was begun is the first that is late.
        oldest = next(iter(begun))
        try:
            number, worked = answers.get(timeout=max(0.0, begun[oldest][1] - time.monotonic()))
        except queue.Empty:
            ended.append(Worked(job=begun.pop(oldest)[0], fate=Fate.HUNG))
            continue
        if begun.pop(number, None):
            ended.append(worked)
    return (*ended, *(Worked(job=job, fate=Fate.NOT_BEGUN) for _, job in waiting))


def _answer(
    number: int, job: J, work: Callable[[J], T], answers: "queue.SimpleQueue[tuple[int, Worked[J, T]]]"
) -> None:
    try:
        worked = Worked(job=job, fate=Fate.DONE, answer=work(job))
    except Exception as error:
        worked = Worked(job=job, fate=Fate.FAILED, error=error)
    answers.put((number, worked))
