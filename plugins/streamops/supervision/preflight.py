"""What a start would mean for the data, over all checkpoints of a stream. Pure."""

import itertools
from dataclasses import dataclass

from streamops.catalogue.delta_source_rules import DeltaSourceView
from streamops.catalogue.expectations import Expectations
from streamops.catalogue.watch import Watch
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.control.records import Position
from streamops.diagnosis.judge import Evidence, judge
from streamops.diagnosis.plan import plan_restart
from streamops.diagnosis.restart_plan import CheckpointPlan, RestartPlan, Safety
from streamops.engines import engine_after
from streamops.places.input_files import InputFacts
from streamops.places.sink import SinkView
from streamops.retention import Coverage
from streamops.retention.covered_plan import ANOTHER_BACKFILL, with_coverage, with_retry
from streamops.spec import Mode, StreamSpec, TriggerKind
from streamops.spec.sources import MAX_FILE_AGE
from streamops.supervision.desired_run import next_trigger
from streamops.supervision.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFacts:
    """What a start would come across beside the logs of the checkpoints; read only where one is next, or is asked about."""

    checkpoints: tuple[CheckpointSnapshot, ...] = ()
    """The stream's own and then its companions'."""
    coverages: tuple[Coverage, ...] = ()
    """Of each of them, what its query needs and what Kafka has; none where nobody was asked."""
    source_table: DeltaSourceView | None = None
    """The Delta table that the stream is declared to read; None where it reads something else."""
    source_input: InputFacts | None = None
    """The folder that the stream is declared to read; None where it reads something else."""
    stateful_operators: int = 0
    """As many as the newest batch of the stream's own query told of; 0 where nobody knows."""
    sink: SinkView | None = None
    """What the declared table has of the stream's own query; None where no table is found."""


def plans_for(seen: Observation, spec: StreamSpec, start: StartFacts | None = None) -> tuple[CheckpointPlan, ...]:
    """The plan of the stream's own checkpoint, which was read, then those of its companions.

    They rest on all that a start would come across where that was read, else on the logs alone.
    """
    start = start or StartFacts()
    known = seen.state.position
    each = itertools.zip_longest(
        (seen.checkpoint, *seen.companions),
        start.checkpoints,
        (known, *(known.companions if known else ())),
        start.coverages,
    )
    return tuple(
        CheckpointPlan(
            checkpoint=facts.address,
            plan=_covered(_plan(facts, snapshot, position, seen, spec, start), facts, coverage, seen, spec),
        )
        if facts
        else CheckpointPlan(checkpoint="", plan=_COMPANION_GONE)
        for facts, snapshot, position, coverage in each
    )


def _plan(
    facts: CheckpointFacts,
    snapshot: CheckpointSnapshot | None,
    known: Position | None,
    seen: Observation,
    spec: StreamSpec,
    start: StartFacts,
) -> RestartPlan:
    """What is declared, registered and asked is of the stream's own query: companions run by batches, and log each."""
    is_own = facts is seen.checkpoint
    if is_own and seen.absent_topics:
        return RestartPlan(safety=Safety.UNKNOWN, summary=seen.without_topics)
    evidence = Evidence(
        facts=facts,
        expected=Expectations(
            known=known,
            registered=seen.registered if is_own else None,
            tracks_progress_async=is_own and spec.tracks_progress_async,
            is_continuous=is_own and _trigger(seen, spec) is TriggerKind.CONTINUOUS,
            source_form=spec.source.offset_form if is_own else None,
            fails_on_data_loss=_fails_on_data_loss(seen, spec),
            confs=spec.conf,
            stateful_operators=start.stateful_operators if is_own else 0,
            max_file_age=spec.max_file_age if is_own else MAX_FILE_AGE,
        ),
        snapshot=snapshot,
        watch=Watch(now=seen.now),
        source_inputs=(start.source_input,) if is_own and start.source_input else (),
        source_table=start.source_table if is_own else None,
        sink=start.sink if is_own else None,
    )
    return plan_restart(evidence, judge(evidence))


def _covered(
    plan: RestartPlan, facts: CheckpointFacts, coverage: Coverage | None, seen: Observation, spec: StreamSpec
) -> RestartPlan:
    if coverage is None:
        return plan
    is_available_now = _trigger(seen, spec) is TriggerKind.AVAILABLE_NOW
    engine = engine_after(facts.spark_fingerprint)
    plan = with_retry(plan, coverage, is_available_now=is_available_now, engine=engine)
    fails = _fails_on_data_loss(seen, spec)
    if spec.mode is Mode.BACKFILL:
        return with_coverage(plan, coverage, fails_on_data_loss=fails, way_out=ANOTHER_BACKFILL)
    return with_coverage(plan, coverage, fails_on_data_loss=fails)


def _fails_on_data_loss(seen: Observation, spec: StreamSpec) -> bool:
    """Of the next driver. No option of the source lets one of a backfill pass over what is lost."""
    return spec.mode is Mode.BACKFILL or (spec.fails_on_data_loss and not seen.state.passes_over_expired)


def _trigger(seen: Observation, spec: StreamSpec) -> TriggerKind:
    """Of the next driver."""
    return next_trigger(seen.state, spec, now=seen.now)


_COMPANION_GONE = RestartPlan(safety=Safety.UNSAFE, summary="the checkpoint of a companion query is gone: restore it")
