"""When to start again after a failure, and when to stop trying."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile

from streamops.control.state import MAX_FAILURES_KEPT, Failure
from streamops.failures.failure_class import ADVICE, FailureClass, Remedy

BUDGET_WINDOW = timedelta(hours=1)
FEW = 2
"""Restarts that `retry-few` allows in a row without a committed batch."""

WAITS = frozenset({Remedy.WAIT_FOR_SOURCE, Remedy.WAIT_FOR_SINK})
"""A broker or a sink that is down for hours is no reason to park: no person could release the stream any sooner."""
LONG_WAIT = timedelta(minutes=20)
"""Between two starts of such a stream where another would have been parked; rare enough for the default budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How patient the supervisor is with one stream."""

    budget_per_hour: int = 10
    """Failures within an hour, of whatever class, that are restarted; one more parks the stream."""
    thrash_limit: int = 5
    """Failures in a row without a committed batch that are restarted; one more parks the stream."""
    initial_delay: timedelta = timedelta(seconds=15)
    """Wait after the first failure without a committed batch; doubled with each further one."""
    max_delay: timedelta = timedelta(minutes=5)
    """Ceiling of the wait."""
    jitter: float = 0.2
    """Share of each wait that chance may take off, so that streams that failed together do not come back together."""
    forgive_after: timedelta = timedelta(hours=1)
    """A driver that lived this long ends the row of failures before it, even where an idle topic gave it no batch."""
    remedies: tuple[tuple[FailureClass, Remedy], ...] = ()
    """What to do about a class of failures instead of what streamops does by itself."""

    def __post_init__(self) -> None:
        if not all(0 <= limit < MAX_FAILURES_KEPT for limit in (self.budget_per_hour, self.thrash_limit)):
            raise ValueError(f"budget_per_hour and thrash_limit count restarts: 0 to {MAX_FAILURES_KEPT - 1}")
        if not timedelta(0) <= self.initial_delay <= self.max_delay:
            raise ValueError("initial_delay must lie between 0 and max_delay")
        if not 0 <= self.jitter <= 1:
            raise ValueError("jitter is a share: 0 to 1")
        if self.forgive_after <= timedelta(0):
            raise ValueError("forgive_after must be positive")

    def remedy_for(self, failure: Failure) -> Remedy:
        """The declared remedy for its class, else the one on record; a record of another version means back-off."""
        declared = {str(failure_class): remedy for failure_class, remedy in self.remedies}
        if failure.failure_class in declared:
            return declared[failure.failure_class]
        try:
            return Remedy(failure.remedy)
        except ValueError:
            return Remedy.NOW if not failure.remedy else Remedy.BACK_OFF


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
    in_a_row: int = 0
    """Failures without a committed batch, and without a driver that lived long, up to now."""
    tried_at: datetime | None = None
    """Where a start makes no sense before the source or the sink answers: when it is tried whatever a probe says.

    The probe looks from another place than the driver, so it may delay a start and never forbids one.
    """


def advise_restart(
    failures: Sequence[Failure], *, policy: RestartPolicy, now: datetime, unchanged_for: timedelta = timedelta(0)
) -> RestartAdvice:
    """A driver that committed a batch is replaced at once; one that did not makes the next wait longer.

    `failures` is the log's own account since the last release, oldest first, so an outage of the supervisor forgets
    nothing. A stamp from the future was written by a clock that is ahead: such a failure counts as old as the log has
    not changed under the observer's eyes, `unchanged_for`.

    Order: what can't be mended by a restart comes first, then the budget, as the harder of the two bounds, then the row.
    """
    if not failures:
        left = policy.budget_per_hour
        return RestartAdvice(timing=RestartTiming.NOW, at=now, reason="no failure is on record", budget_left=left)
    latest = now - unchanged_for
    moments = [failure.at if failure.at <= now else latest for failure in failures]
    recent = sum(now - moment < BUDGET_WINDOW for moment in moments)
    row = fruitless_row(failures, policy)
    newest, remedy = failures[-1], policy.remedy_for(failures[-1])
    if reason := _why_park(newest, remedy, row, recent=recent, policy=policy):
        return RestartAdvice(timing=RestartTiming.PARK, at=now, reason=reason, budget_left=0, in_a_row=len(row))
    begin = newest.at if newest.at <= now else latest
    at = begin + _delay(newest, remedy, len(row), policy)
    return RestartAdvice(
        timing=RestartTiming.NOW if at <= now else RestartTiming.LATER,
        at=at,
        reason=_why_then(newest, len(row)),
        budget_left=policy.budget_per_hour - recent,
        in_a_row=len(row),
        tried_at=begin + max(policy.max_delay, LONG_WAIT) if remedy in WAITS else None,
    )


def fruitless_row(ends: Sequence[Failure], policy: RestartPolicy) -> tuple[Failure, ...]:
    """The ends up to now, newest first, of drivers that brought no batch and did not live long."""
    return tuple(takewhile(lambda end: not _is_fruitful(end, policy), reversed(ends)))


def wait_after(fruitless: int, policy: RestartPolicy) -> timedelta:
    """The wait after so many ends in a row, without jitter."""
    # Capped before the power is taken: the log keeps up to a thousand ends, and 2**999 seconds is no timedelta.
    doublings = min(max(fruitless - 1, 0), 20)
    return min(policy.initial_delay * float(2**doublings), policy.max_delay)


def _is_fruitful(failure: Failure, policy: RestartPolicy) -> bool:
    return failure.has_progressed or failure.ran >= policy.forgive_after


def _why_park(newest: Failure, remedy: Remedy, row: Sequence[Failure], *, recent: int, policy: RestartPolicy) -> str:
    """Why no restart makes sense; empty while one does."""
    kind = newest.failure_class
    if remedy is Remedy.NEVER:
        advice = next((text for known, text in ADVICE.items() if known == kind), "")
        told = f"epoch {newest.epoch} ended with {kind or newest.outcome}, which no restart mends"
        return f"{told}: {advice}" if advice else told
    if recent > policy.budget_per_hour:
        return f"{recent} failures within an hour, allowed: {policy.budget_per_hour}"
    if len(row) > policy.thrash_limit and remedy not in WAITS:
        return f"{len(row)} failures in a row without a committed batch, allowed: {policy.thrash_limit}"
    alike = len(list(takewhile(lambda failure: failure.failure_class == kind, row)))
    if remedy is Remedy.RETRY_FEW and alike > FEW:
        return f"{kind} {alike} times in a row without a committed batch: a restart does not mend it"
    return ""


def _why_then(newest: Failure, fruitless: int) -> str:
    kind = f" ({newest.failure_class})" if newest.failure_class else ""
    if fruitless == 0:
        return f"the last driver had done its work{kind}"
    return f"failure {fruitless} in a row without a committed batch{kind}"


def _delay(newest: Failure, remedy: Remedy, fruitless: int, policy: RestartPolicy) -> timedelta:
    if fruitless == 0 and remedy is Remedy.NOW:
        return timedelta(0)
    is_long_outage = remedy in WAITS and fruitless > policy.thrash_limit
    wait = max(policy.max_delay, LONG_WAIT) if is_long_outage else wait_after(fruitless, policy)
    return wait * (1 - policy.jitter * _chance(newest))


def _chance(failure: Failure) -> float:
    """A number from 0 to 1 drawn from the failure itself, so that every supervisor comes to the same moment."""
    digest = hashlib.sha256(f"{failure.epoch} {failure.at.isoformat()}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32
