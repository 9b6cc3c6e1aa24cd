"""What a start would mean for the data, over all checkpoints of a stream. Pure."""

import itertools
from dataclasses import dataclass, replace

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.control.records import Position
from streamops.coverage import Coverage
from streamops.restart import RestartPlan, Safety, plan_restart
from streamops.restart.plan import plan_in_depth
from streamops.restart.sink_effect import with_sink
from streamops.supervisor.lags.covered_plan import with_coverage
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
        observation.coverages,
    )
    fails = observation.fails_on_data_loss
    own, *others = (
        _covered(_plan(facts, snapshot, position), coverage, fails_on_data_loss=fails)
        for facts, snapshot, position, coverage in each
    )
    if observation.sink:
        own = replace(own, plan=with_sink(own.plan, observation.checkpoint, observation.sink))
    return (own, *others)


def worst_plan(observation: Observation) -> RestartPlan:
    """The plan that decides: the worst, and the stream's own among equals."""
    return max((one.plan for one in plans_of(observation)), key=lambda plan: _SEVERITY.index(plan.safety))


def _plan(facts: CheckpointFacts | None, snapshot: CheckpointSnapshot | None, known: Position | None) -> CheckpointPlan:
    if facts is None:
        gone = RestartPlan(safety=Safety.UNSAFE, summary="the checkpoint of a companion query is gone: restore it")
        return CheckpointPlan(checkpoint="", plan=gone)
    plan = plan_in_depth(snapshot, known=known) if snapshot else plan_restart(facts, known=known)
    return CheckpointPlan(checkpoint=facts.address, plan=plan)


def _covered(one: CheckpointPlan, coverage: Coverage | None, *, fails_on_data_loss: bool) -> CheckpointPlan:
    if coverage is None:
        return one
    return replace(one, plan=with_coverage(one.plan, coverage, fails_on_data_loss=fails_on_data_loss))


_SEVERITY = (
    Safety.SAFE,
    Safety.SAFE_IF_IDEMPOTENT,
    Safety.UNKNOWN,
    Safety.BLOCKED,
    Safety.UNSAFE,
    Safety.FUTILE,
)
