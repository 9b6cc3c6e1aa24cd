"""When to start again after a failure, and when to stop trying."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile

from streamops.control.fold import MAX_FAILURES_KEPT, Failure

BUDGET_WINDOW = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How patient the supervisor is with one stream."""

    budget_per_hour: int = 10
    """Failures within an hour that are restarted; one more parks the stream."""
    thrash_limit: int = 5
    """Failures in a row without a committed batch that are restarted; one more parks the stream."""
    initial_delay: timedelta = timedelta(seconds=15)
    """Wait after the first failure without a committed batch; doubled with each further one."""
    max_delay: timedelta = timedelta(minutes=5)
    """Ceiling of the wait."""

    def __post_init__(self) -> None:
        if not all(0 <= limit < MAX_FAILURES_KEPT for limit in (self.budget_per_hour, self.thrash_limit)):
            raise ValueError(f"budget_per_hour and thrash_limit count restarts: 0 to {MAX_FAILURES_KEPT - 1}")
        if not timedelta(0) <= self.initial_delay <= self.max_delay:
            raise ValueError("initial_delay must lie between 0 and max_delay")


class RestartTiming(StrEnum):
    """What the policy says."""

    NOW = "now"
    LATER = "later"
    PARK = "park"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartAdvice:
    """When to start again, why then, and how many failures are left before the stream is parked."""

    timing: RestartTiming
    at: datetime
    reason: str
    budget_left: int


def advise_restart(failures: Sequence[Failure], *, policy: RestartPolicy, now: datetime) -> RestartAdvice:
    """A driver that committed a batch is replaced at once; one that did not makes the next wait longer.

    `failures` is the log's own account since the last release, oldest first, so an outage of the supervisor forgets
    nothing. The budget is asked before the thrash limit: it is the harder bound. A stamp from the future counts as now.
    """
    recent = [failure for failure in failures if now - min(failure.at, now) < BUDGET_WINDOW]
    budget_left = policy.budget_per_hour - len(recent)
    fruitless = len(list(takewhile(lambda failure: not failure.has_progressed, reversed(failures))))
    if budget_left < 0:
        return _park(now, f"{len(recent)} failures within an hour, allowed: {policy.budget_per_hour}")
    if fruitless > policy.thrash_limit:
        return _park(now, f"{fruitless} failures in a row without a committed batch, allowed: {policy.thrash_limit}")
    if not failures:
        return RestartAdvice(
            timing=RestartTiming.NOW, at=now, reason="no failure is on record", budget_left=budget_left
        )
    if fruitless == 0:
        return RestartAdvice(
            timing=RestartTiming.NOW, at=now, reason="the last driver had committed batches", budget_left=budget_left
        )
    at = min(failures[-1].at, now) + _delay(fruitless, policy)
    reason = f"failure {fruitless} in a row without a committed batch"
    timing = RestartTiming.NOW if at <= now else RestartTiming.LATER
    return RestartAdvice(timing=timing, at=at, reason=reason, budget_left=budget_left)


def _delay(fruitless: int, policy: RestartPolicy) -> timedelta:
    # Capped before the power is taken: the log keeps up to a thousand failures, and 2**999 seconds is no timedelta.
    doublings = min(fruitless - 1, 20)
    return min(policy.initial_delay * float(2**doublings), policy.max_delay)


def _park(now: datetime, reason: str) -> RestartAdvice:
    return RestartAdvice(timing=RestartTiming.PARK, at=now, reason=reason, budget_left=0)
