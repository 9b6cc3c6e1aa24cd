"""How long a step may take: from what the same stream took lately, and from what was declared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from streamops.liveness.stall_policy import StallPolicy

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
