"""Whether a stream gets on, for whoever shows it as healthy or ill. Pure."""

from dataclasses import dataclass
from datetime import timedelta

from streamops.supervision.decision import NEEDS_A_PERSON, Action
from streamops.supervision.supervisor import Look

PASSING_GRACE = timedelta(seconds=30)
"""How long a standstill that may end by itself is no news: a restart takes as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Why a stream does not get on."""

    reason: str
    needs_a_person: bool
    """Whether nothing more happens until somebody acts; else it ends by itself, and is told only after PASSING_GRACE."""
    is_wanted: bool = False
    """Whether somebody has asked for it."""


def standstill(look: Look) -> Standstill | None:
    """None for a stream that gets on, or for which something is to be done now.

    A bounded run that was asked for makes the live query wait, and is no standstill. Nor is a wait that ends by watching, such as
    that for a beat to have stood still: whoever watches has to stay for it.
    """
    decision, state = look.decision, look.observation.state
    if decision.action in NEEDS_A_PERSON:
        return Standstill(reason=decision.reason, needs_a_person=True, is_wanted=decision.action is Action.STOPPED)
    is_for_something = decision.until or decision.waits_for or decision.needs_attention or decision.plan
    if decision.action is Action.WAIT and state.maintenance is None and is_for_something:
        return Standstill(reason=decision.reason, needs_a_person=False)
    if decision.action is Action.KEEP and (decision.waits_for or decision.needs_attention):
        return Standstill(reason=decision.reason, needs_a_person=False)
    return None
