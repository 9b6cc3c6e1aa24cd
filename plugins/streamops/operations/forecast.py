"""What would become of a stream if its driver were started now. Pure."""

from dataclasses import dataclass
from datetime import datetime

from streamops.diagnosis.plan import RestartPlan, accepts
from streamops.operations.snapshot import StreamSnapshot
from streamops.spec import StreamSpec
from streamops.supervision.decision import Action
from streamops.supervision.preflight import CheckpointPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class StartForecast:
    """The restart plan of one stream, and what its supervisor makes of it."""

    stream: str
    plan: RestartPlan
    """The worst of those below: it decides."""
    is_accepted: bool
    """Whether a supervisor may start it without a person's word; the sink's guarantee decides."""
    checkpoints: tuple[CheckpointPlan, ...]
    living_epoch: int
    """The newest epoch whose driver may live: the plan is for the moment after its end, if it ended now. 0 for none."""
    next_step: Action
    """What a supervisor would do now."""
    reason: str
    until: datetime | None

    @property
    def is_refused(self) -> bool:
        """Whether a supervisor would not start it: for what the plan says, or for what it knows besides, as a foreign writer."""
        return not self.is_accepted or self.next_step in _REFUSALS


_REFUSALS = frozenset({Action.PARK, Action.PARKED, Action.BLOCKED})


def outlook_of(sight: StreamSnapshot, spec: StreamSpec) -> StartForecast:
    """The plan for a start on the checkpoints as they stand, whether or not a driver lives."""
    decision, plan = sight.look.decision, sight.start_plan
    living = sight.look.observation.state.open_epochs
    return StartForecast(
        stream=spec.name,
        plan=plan,
        is_accepted=accepts(spec.sink.guarantee, plan.safety),
        checkpoints=sight.checkpoint_plans,
        living_epoch=living[-1].number if living else 0,
        next_step=decision.action,
        reason=decision.reason,
        until=decision.until,
    )
