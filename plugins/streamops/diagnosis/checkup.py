"""Any checkpoint, declared or not: its facts, what a start would do, and what is wrong with it. Reads only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamops.catalogue.expectations import RETAINED_BATCHES, Expectations
from streamops.catalogue.time_rules import written_ago
from streamops.catalogue.watch import HealthSample, Watch
from streamops.checkpoint.batch_times import read_batch_times
from streamops.checkpoint.inspect import CheckpointSnapshot, inspect_checkpoint
from streamops.checkpoint.source_offsets import OffsetForm
from streamops.control.layout import control_folder
from streamops.control.records import Position
from streamops.control.registry import RegistryEntry, read_entry
from streamops.control.snapshot import load_state
from streamops.control.state_root import require_state_root
from streamops.diagnosis.declared_places import (
    SinkPlace,
    SourceInput,
    SourceTable,
    declared_sink,
    declared_source_input,
    declared_source_table,
    look_at_both,
)
from streamops.diagnosis.judge import Evidence, judge
from streamops.diagnosis.last_progress import last_progress
from streamops.diagnosis.plan import plan_restart
from streamops.diagnosis.restart_plan import RestartPlan, Safety
from streamops.engines import PINNED, Engine
from streamops.liveness.pace import in_words
from streamops.places.sink import Sink, SinkView, recognises_batches
from streamops.progress import ProgressHistory, StateProgress
from streamops.spec import StreamSpec, TriggerKind
from streamops.spec.sinks import SinkGuarantee
from streamops.spec.sources import MAX_FILE_AGE
from streamops.storage import ReadableStorage
from streamops.verdict import Finding, Severity, Verdict, worst_first, worst_of

MIN_BATCHES_TO_RETAIN = "spark.sql.streaming.minBatchesToRetain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """One checkpoint at one moment."""

    verdict: Verdict
    engine: Engine
    snapshot: CheckpointSnapshot
    restart: RestartPlan
    findings: tuple[Finding, ...]
    sink: Sink | None = None
    """As it was read last; None where nobody asked for it."""
    watch: Watch | None = None
    """What it was judged by beyond one look; None where nothing was."""

    def sample(self, now: datetime) -> HealthSample:
        """What is kept of it."""
        facts = self.snapshot.facts
        counting = (finding.rule for finding in self.findings if finding.severity > Severity.NOTE)
        return HealthSample(
            at=now,
            verdict=self.verdict,
            rules=tuple(dict.fromkeys(counting)),
            safety=str(self.restart.safety),
            last_offset=facts.last_offset,
            last_commit=facts.last_commit,
            offset_entries=len(facts.offsets_log.ids),
            commit_entries=len(facts.commits_log.ids),
            compact_bytes=max(
                (source.compact_bytes for source in self.snapshot.sources.sources if source.compact_bytes is not None),
                default=None,
            ),
            state_files=self.snapshot.state.files if self.snapshot.state and self.snapshot.state.operators else None,
            state_rows=self.watch.state_rows if self.watch else None,
            state_memory=self.watch.state_memory if self.watch else None,
        )


def check(
    storage: ReadableStorage,
    address: str,
    *,
    engine: Engine,
    is_sink_idempotent: bool | None = None,
    tracks_progress_async: bool | None = None,
    is_continuous: bool | None = None,
    source_form: OffsetForm | None = None,
    fails_on_data_loss: bool = True,
    known: Position | None = None,
    confs: tuple[tuple[str, str], ...] = (),
    state_confs: frozenset[str] = frozenset(),
    master: str = "",
    watch: Watch | None = None,
    source_inputs: Sequence[SourceInput] = (),
    max_file_age: timedelta = MAX_FILE_AGE,
    sink: SinkPlace | None = None,
    source_table: SourceTable | None = None,
    progress: Callable[[], ProgressHistory] | None = None,
    registered: RegistryEntry | None = None,
    is_declared: bool = False,
) -> Checkup:
    """Judge a checkpoint for a start with a version of Spark. Raises StorageError where it can't be asked.

    `confs`: of the next run, `state_confs` those of them that say how state is kept. `watch`: what is known over time; the
    times of its batches are read here. `source_inputs`: judged with a `watch` only, for their files have an age. `sink`: proven
    to know batches it is idempotent, unless somebody has said. `progress`: of the query's drivers. `is_declared`: whether a
    stream is meant to begin where nothing is yet.
    """
    snapshot, view = look_at_both(storage, address, sink) if sink else (inspect_checkpoint(storage, address), None)
    if is_sink_idempotent is None and view and recognises_batches(view.latest):
        is_sink_idempotent = True
    watch = replace(watch, times=read_batch_times(storage, snapshot.facts)) if watch else None
    state = progress().of_query(snapshot.facts.query_id or "").newest_state if progress else ()
    watch = _with_state(watch, state) if watch else None
    expected = Expectations(
        engine=engine,
        known=known,
        registered=registered,
        is_declared=is_declared,
        is_sink_idempotent=is_sink_idempotent,
        tracks_progress_async=tracks_progress_async,
        is_continuous=is_continuous,
        source_form=source_form,
        fails_on_data_loss=fails_on_data_loss,
        stateful_operators=len(state),
        retained_batches=_retained_batches(confs),
        confs=confs,
        state_confs=state_confs,
        master=master,
        max_file_age=max_file_age,
        has_driver=bool(watch and watch.has_driver),
    )
    evidence = Evidence(
        facts=snapshot.facts,
        expected=expected,
        snapshot=snapshot,
        watch=watch,
        source_inputs=tuple(one.view(snapshot) for one in source_inputs),
        source_table=source_table.view(snapshot.facts, now=watch.now if watch else None) if source_table else None,
        sink=view,
    )
    findings = judge(evidence)
    restart = _beside_a_query(plan_restart(evidence, findings), snapshot, watch)
    return replace(_concluded(snapshot, restart, findings, engine=engine, view=view), watch=watch)


def _beside_a_query(plan: RestartPlan, snapshot: CheckpointSnapshot, watch: Watch | None) -> RestartPlan:
    """What a start would do counts for when whoever wrote the checkpoint moments ago has stopped."""
    age = written_ago(snapshot, watch) if watch else None
    if age is None:
        return plan
    running = f"it was written {in_words(age)} ago: a query seems to run here, start none beside it"
    return replace(plan, summary=f"{plan.summary}; but {running}")


def _with_state(watch: Watch, state: Sequence[StateProgress]) -> Watch:
    """With the size of the query's state, as its newest batch tells it."""
    if not state:
        return watch
    rows, memory = sum(one.rows for one in state), sum(one.memory_bytes for one in state)
    return replace(watch, state_rows=rows, state_memory=memory)


def _concluded(
    snapshot: CheckpointSnapshot,
    restart: RestartPlan,
    findings: tuple[Finding, ...],
    *,
    engine: Engine,
    view: SinkView | None,
) -> Checkup:
    return Checkup(
        verdict=Verdict.of(max(worst_of(findings), SEVERITIES[restart.safety])),
        engine=engine,
        snapshot=snapshot,
        restart=restart,
        findings=worst_first(findings),
        sink=view.latest if view else None,
    )


def check_stream(
    spec: StreamSpec,
    *,
    storage_for: Callable[[str], ReadableStorage],
    now: datetime,
    before: Sequence[HealthSample] = (),
    state_root: str = "",
) -> Checkup:
    """Judge a declared stream's checkpoint, with all that its declaration, its control log and the registry tell.

    `state_root`: where the registry is; empty for a stream without. `before`: earlier checks, oldest first. Raises
    StorageError where checkpoint or state root can't be asked, ControlLogError where the log can't be read.
    """
    storage = storage_for(spec.checkpoint)
    # Before the checkpoint, which only grows: what the log knows must not be newer than what is seen.
    state = load_state(storage, control_folder(spec.checkpoint))
    entry = _registered(spec.name, storage_for(state_root), state_root) if state_root else None
    return check(
        storage,
        spec.checkpoint,
        registered=entry,
        is_declared=True,
        engine=PINNED,
        is_sink_idempotent=spec.sink.guarantee is not SinkGuarantee.EXACTLY_ONCE_OR_NOTHING,
        tracks_progress_async=spec.tracks_progress_async,
        is_continuous=spec.trigger.kind is TriggerKind.CONTINUOUS,
        source_form=spec.source.offset_form,
        fails_on_data_loss=spec.fails_on_data_loss,
        known=state.position,
        confs=spec.conf,
        state_confs=frozenset(name for name, _ in spec.state.conf),
        master=spec.launch.master,
        sink=declared_sink(spec, storage_for),
        source_inputs=(folder,) if (folder := declared_source_input(spec, storage_for)) else (),
        max_file_age=spec.max_file_age,
        source_table=declared_source_table(spec, storage_for),
        progress=lambda: last_progress(storage, control_folder(spec.checkpoint)),
        watch=Watch(
            now=now,
            before=tuple(before),
            has_driver=None if state.is_empty else bool(state.open_epochs),
            driver_since=state.newest.claimed.at if state.newest and state.newest.is_open else None,
            trigger_interval=spec.trigger.interval
            if spec.trigger.kind is TriggerKind.PROCESSING_TIME
            else timedelta(0),
            policy=spec.stall,
        ),
    )


def _registered(stream: str, storage: ReadableStorage, state_root: str) -> RegistryEntry | None:
    """What the registry knows of a stream. StorageError where the state root is not there, and none is known."""
    require_state_root(storage, state_root)
    entry = read_entry(storage, state_root, stream)
    return entry if isinstance(entry, RegistryEntry) else None


def _retained_batches(confs: tuple[tuple[str, str], ...]) -> int:
    """What the settings say, where Spark would take it for a number."""
    text = dict(confs).get(MIN_BATCHES_TO_RETAIN, "").strip()
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    return int(text) if is_number and int(text) > 0 else RETAINED_BATCHES


SEVERITIES = {
    Safety.SAFE: Severity.NOTE,
    Safety.SAFE_IF_IDEMPOTENT: Severity.NOTE,
    Safety.UNKNOWN: Severity.UNKNOWN,
    Safety.BLOCKED: Severity.CRITICAL,
    Safety.UNSAFE: Severity.CRITICAL,
    Safety.FUTILE: Severity.CRITICAL,
}
"""Of a plan. A batch in flight is the ordinary shape of a running query: whether it matters, the rule on it says."""
