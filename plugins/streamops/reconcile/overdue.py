"""What somebody who signs for a stream should have done a while ago, and has not done. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamops.spec import StreamSpec
from streamops.supervision.decide import decide
from streamops.supervision.decision import RESTING, Action, Decision
from streamops.supervision.end_rules import record_end
from streamops.supervision.observation import EpochFacts
from streamops.supervision.supervisor import Look

GRACE = timedelta(minutes=5)
"""Longer than a task of Airflow takes to be woken."""
LONG_AGO = timedelta(days=365)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """A decision that was due GRACE ago already."""

    decision: Decision
    waited_for: str = ""
    """What the stream waits or waited for, where its last failure says so: it may answer since a moment ago only."""

    @property
    def is_act(self) -> bool:
        """Whether something should have been done."""
        return self.decision.action not in RESTING

    @property
    def is_endless_wait(self) -> bool:
        """Whether it waits for a person, or for nothing that will come by itself."""
        is_bounded = self.decision.until is not None or bool(self.waited_for)
        return self.decision.action is Action.WAIT and (self.decision.needs_attention or not is_bounded)


def is_recent(moment: datetime | None, now: datetime) -> bool:
    """Whether a stamp is younger than GRACE. One that is further ahead is of a clock that is wrong, and counts as old:
    better told too early than never."""
    return moment is not None and abs(now - moment) < GRACE


def overdue(look: Look, spec: StreamSpec, *, changed_at: datetime | None, now: datetime) -> Overdue | None:
    """The decision of GRACE ago, as for somebody who had looked all the time.

    None where the log has grown or the driver has given a sign since then: whatever is due is not due for long.
    """
    if is_recent(changed_at, now):
        return None
    seen, then = look.observation, now - GRACE
    is_datable = changed_at is not None and changed_at <= then
    unchanged_for = then - changed_at if changed_at and is_datable else LONG_AGO
    past = replace(
        seen,
        now=then,
        unchanged_for=unchanged_for,
        epochs=tuple(_watched(facts, then, unchanged_for) for facts in seen.epochs),
    )
    decision = decide(past, spec, mine=frozenset())
    if is_recent(decision.last_sign_at, now):
        return None
    return Overdue(decision=decision, waited_for=seen.dependency.target if seen.dependency else "")


def _watched(facts: EpochFacts, then: datetime, unchanged_for: timedelta) -> EpochFacts:
    """As seen by somebody who was there all the time: how long nothing moved is told by the stamps."""
    sign = record_end(facts, "").last_sign_at
    stood_still = max(timedelta(0), then - sign) if sign else unchanged_for
    watched = unchanged_for + GRACE  # A claim is submitted in a moment or never.
    return replace(facts, watched=watched, status_for=watched, stood_still=stood_still)
