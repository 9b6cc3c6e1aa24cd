"""How long a step may take, by what the stream took lately and what was declared, and what to do about one that stands still."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class StallAction(StrEnum):
    """How far the supervisor goes."""

    REPORT = "report"
    """Tell a person."""
    RESTART = "restart"
    """Tell a person first; if it goes on, stop the driver (gracefully, then by force) and start the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StallPolicy:
    """How long a query may stand still in one step before a person is told, and before it is restarted.

    Both windows grow with what the stream's own batches took lately, and neither is ever shorter than the trigger interval.
    A restart is the default: whoever is on call at night wants a query that hangs for ever healed, and Spark itself has
    no time-out for one (SPARK-28367, SPARK-32032). It is made safe by what it needs: a known pace, and ten times of it.
    The batch that it interrupts runs again as the first of the next driver, which nothing restarts, so one long batch
    is interrupted once at most.
    """

    action: StallAction = StallAction.RESTART
    """The most that is done."""
    window_floor: timedelta = timedelta(minutes=10)
    """Nobody is told before, however quick the batches are."""
    factor: float = 3
    """Told after this many times the 95th percentile of the last 20 batches."""
    restart_floor: timedelta = timedelta(minutes=30)
    """No restart before."""
    restart_factor: float = 10
    """Restarted after this many times the 95th percentile."""
    first_batch: timedelta = timedelta(hours=1)
    """Told after, while there is nothing to compare with: a driver's start, its first batch, which catches up, and the few
    after it. Never restarted then."""

    def __post_init__(self) -> None:
        if self.window_floor <= timedelta(0):
            raise ValueError("window_floor must be positive")
        if not 1 <= self.factor <= self.restart_factor:
            raise ValueError(
                "factor must lie between 1 and restart_factor: a batch as long as the last ones is no stall"
            )
        if self.restart_floor < self.window_floor:
            raise ValueError("restart_floor must not be shorter than window_floor: a person is told first")
        if self.first_batch < self.window_floor:
            raise ValueError(
                "first_batch must not be shorter than window_floor: a start takes longer than other batches"
            )


RECENT = 20
"""Batches that the pace is taken from."""
ENOUGH = 5
"""Fewer make no pace: one small batch after a start says nothing of the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """After how long a step is worth a report, and after how long a restart; None for a restart means never."""

    report: timedelta
    restart: timedelta | None
    basis: str
    """What it was taken from, in words."""

    @property
    def is_from_pace(self) -> bool:
        """Whether it rests on what the stream took lately."""
        return self.restart is not None


def window_of(durations: Sequence[timedelta], *, policy: StallPolicy, trigger_interval: timedelta) -> Window:
    """A window around durations that were usual; without enough of them the generous one, which restarts nothing."""
    if len(durations) < ENOUGH:
        report = max(policy.first_batch, policy.factor * max(durations, default=timedelta(0)), trigger_interval)
        return Window(report=report, restart=None, basis="too few batches yet to compare with")
    usual = percentile_95(durations)
    report = max(policy.window_floor, policy.factor * usual, trigger_interval)
    restart = max(policy.restart_floor, policy.restart_factor * usual, report)
    return Window(report=report, restart=restart, basis=f"95 % of the last took {in_words(usual)} or less")


def percentile_95(durations: Sequence[timedelta]) -> timedelta:
    """The nearest-rank percentile: one outlier in 20 does not count, so a single giant batch does not widen every window."""
    ordered = sorted(durations)
    return ordered[math.ceil(0.95 * len(ordered)) - 1]


def in_words(duration: timedelta) -> str:
    """A duration as a person says it: 40 s, 12 min, 3.5 h."""
    seconds = duration.total_seconds()
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
