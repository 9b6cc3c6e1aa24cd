"""What a start would mean for the data, over all checkpoints of a stream. Pure."""

import itertools
from dataclasses import dataclass

from streamops.catalogue.watch import Watch
from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.control.records import Position
from streamops.diagnosis import Evidence, Expectations, judge
from streamops.diagnosis.plan import SAFETIES, RestartPlan, Safety, plan_restart
from streamops.engines import engine_after
from streamops.formatting import listed
from streamops.retention import Coverage
from streamops.retention.covered_plan import ANOTHER_BACKFILL, with_coverage, with_retry
from streamops.spec import TriggerKind
from streamops.spec.sources import MAX_FILE_AGE
from streamops.supervision.observation import Observation


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
    own, *others = (
        CheckpointPlan(
            checkpoint=facts.address,
            plan=_covered(_plan(facts, snapshot, position, observation), facts, coverage, observation),
        )
        if facts
        else CheckpointPlan(checkpoint="", plan=_COMPANION_GONE)
        for facts, snapshot, position, coverage in each
    )
    return (own, *others)


def without_topics(observation: Observation) -> str:
    """What a first driver would fail on; empty where it finds its topics, or nobody could be asked."""
    topics = observation.absent_topics
    if not topics:
        return ""
    are = "topics" if len(topics) > 1 else "topic"
    return (
        f"the cluster has no {are} {listed(topics, SHOWN)}: create what is missing, or correct `topics`; then it starts"
    )


SHOWN = 5


def worst_plan(observation: Observation) -> RestartPlan:
    """The plan that decides: the worst, and the stream's own among equals."""
    return max((one.plan for one in plans_of(observation)), key=lambda plan: SAFETIES.index(plan.safety))


def _plan(
    facts: CheckpointFacts, snapshot: CheckpointSnapshot | None, known: Position | None, observation: Observation
) -> RestartPlan:
    """What is declared, registered and asked is of the stream's own query: companions run by batches, and log each."""
    is_own = facts is observation.checkpoint
    if is_own and observation.absent_topics:
        return RestartPlan(safety=Safety.UNKNOWN, summary=without_topics(observation))
    evidence = Evidence(
        facts=facts,
        expected=Expectations(
            known=known,
            registered=observation.registered if is_own else None,
            tracks_progress_async=is_own and observation.tracks_progress_async,
            is_continuous=is_own and observation.trigger is TriggerKind.CONTINUOUS,
            source_form=observation.source_form if is_own else None,
            fails_on_data_loss=observation.fails_on_data_loss or observation.is_backfill,
            confs=observation.confs,
            stateful_operators=observation.stateful_operators if is_own else 0,
            max_file_age=observation.max_file_age if is_own else MAX_FILE_AGE,
        ),
        snapshot=snapshot,
        watch=Watch(now=observation.now),
        source_inputs=(observation.source_input,) if is_own and observation.source_input else (),
        source_table=observation.source_table if is_own else None,
        sink=observation.sink if is_own else None,
    )
    return plan_restart(evidence, judge(evidence))


def _covered(
    plan: RestartPlan, facts: CheckpointFacts, coverage: Coverage | None, observation: Observation
) -> RestartPlan:
    if coverage is None:
        return plan
    is_available_now = observation.trigger is TriggerKind.AVAILABLE_NOW
    engine = engine_after(facts.spark_fingerprint)
    plan = with_retry(plan, coverage, is_available_now=is_available_now, engine=engine)
    if observation.is_backfill:
        return with_coverage(plan, coverage, fails_on_data_loss=True, way_out=ANOTHER_BACKFILL)
    return with_coverage(plan, coverage, fails_on_data_loss=observation.fails_on_data_loss)


_COMPANION_GONE = RestartPlan(safety=Safety.UNSAFE, summary="the checkpoint of a companion query is gone: restore it")
