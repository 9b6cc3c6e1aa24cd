"""What a start would mean for the data, over all checkpoints of a stream. Pure."""

import itertools
from dataclasses import dataclass

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.control.records import Position
from streamops.restart import RestartPlan, Safety, plan_restart
from streamops.restart.plan import plan_in_depth
from streamops.supervisor.observe import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    """What a start would do on one of the stream's checkpoints."""

    checkpoint: str
    """Its address; empty for one that can't be named."""
    plan: RestartPlan


def plans_of(observation: Observation) -> tuple[CheckpointPlan, ...]:
    """The plan of the stream's own checkpoint, then those of its companions.

    They rest on all that a start would come across where that was read, else on the logs alone.
    """
    if observation.checkpoint is None:
        unread = RestartPlan(safety=Safety.UNKNOWN, summary="the checkpoint was not read while a driver may live")
        return (CheckpointPlan(checkpoint="", plan=unread),)
    known = observation.state.position
    each = itertools.zip_longest(
        (observation.checkpoint, *observation.companions),
        observation.in_depth,
        (known, *(known.companions if known else ())),
    )
    return tuple(_plan(facts, snapshot, position) for facts, snapshot, position in each)


def worst_plan(observation: Observation) -> RestartPlan:
    """The plan that decides: the worst, and the stream's own among equals."""
    return max((one.plan for one in plans_of(observation)), key=lambda plan: _SEVERITY.index(plan.safety))


def _plan(facts: CheckpointFacts | None, snapshot: CheckpointSnapshot | None, known: Position | None) -> CheckpointPlan:
    if facts is None:
        gone = RestartPlan(safety=Safety.UNSAFE, summary="the checkpoint of a companion query is gone: restore it")
        return CheckpointPlan(checkpoint="", plan=gone)
    plan = plan_in_depth(snapshot, known=known) if snapshot else plan_restart(facts, known=known)
    return CheckpointPlan(checkpoint=facts.address, plan=plan)


_SEVERITY = (
    Safety.SAFE,
    Safety.SAFE_IF_IDEMPOTENT,
    Safety.UNKNOWN,
    Safety.BLOCKED,
    Safety.UNSAFE,
    Safety.FUTILE,
)
