"""Everything that a decision rests on, read in one go. Reads only."""

from dataclasses import dataclass, replace
from datetime import timedelta

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS
from streamops.checkpoint.reader import read_checkpoint
from streamops.clock import Clock
from streamops.control.backfill_plan import planned_topics
from streamops.control.drivers import (
    DriverTraces,
    driver_instances,
    highest_epoch,
    read_heartbeat,
    traces_among,
)
from streamops.control.kafka_offsets import Topics
from streamops.control.layout import PROGRESS, control_folder, driver_folder
from streamops.control.log import LogReader
from streamops.control.records import ClaimMode, Position
from streamops.control.registry import RegistryEntry, RegistryState, SharedRegistry, standing_of
from streamops.control.state import Epoch, LogState
from streamops.diagnosis.companions import inspect_checkpoints, position_of, read_checkpoints
from streamops.diagnosis.declared_places import declared_sink, declared_source_input, declared_source_table, look_around
from streamops.diagnosis.last_progress import last_progress
from streamops.failures.failure_class import Remedy
from streamops.launch import DriverState, DriverStatus, Launcher, why_unseen
from streamops.liveness import is_history_needed
from streamops.places.sink import SinkView
from streamops.progress import ProgressHistory, read_progress
from streamops.retention.source_coverage import BrokerFor, SourceCoverage
from streamops.spec import Mode, StreamSpec, TriggerKind
from streamops.storage import Storage, join
from streamops.supervision.desired_run import timings_of
from streamops.supervision.observation import EpochFacts, Observation, Reachability, newest_beat
from streamops.supervision.preflight import StartFacts, plans_for
from streamops.supervision.probes import NetworkProber, Prober
from streamops.supervision.stillness import Stillness, batch_left_out, newest_own_batch, tells_of_now

LISTED_EVERY = timedelta(minutes=5)
"""While one driver is plainly at work, the folders of drivers are listed so seldom: on S3 a listing costs a dozen reads."""

Instances = tuple[tuple[int, str], ...]
"""Epoch and instance of every driver that ever left a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """Every driver that ever left a trace, as found when the log stood there, at a moment of the monotonic clock."""

    log: str
    at: timedelta
    instances: Instances


class Observer:
    """Looks at one stream."""

    def __init__(
        self,
        spec: StreamSpec,
        *,
        storage: Storage,
        launcher: Launcher,
        clock: Clock,
        state_root: str,
        host: str = "",
        prober: Prober | None = None,
        broker_for: BrokerFor | None = None,
        registry: SharedRegistry | None = None,
    ) -> None:
        self._host = host
        self._spec = spec
        self._storage = storage
        self._launcher = launcher
        self._clock = clock
        self._state_root = state_root
        self._registry = registry or SharedRegistry(clock, max_age=timedelta(0))
        self._control = control_folder(spec.checkpoint)
        self._prober = prober or NetworkProber(clock)
        self._source_coverage = SourceCoverage(spec, broker_for, storage=storage, clock=clock)
        self.stillness = Stillness(clock)
        self._listed = _Listed(log="", at=timedelta(0), instances=())

    def observe(self, state: LogState) -> Observation:
        """The facts around a state of the log. Raises StorageError, LaunchError, ControlLogError."""
        epochs, instances = self._epochs(state)
        now = self._clock.now()
        seen = Observation(
            now=now,
            state=state,
            epochs=epochs,
            checkpoint=None,
            unchanged_for=self.stillness.of("log", f"{state.next_number} {state.last_nonce}"),
            epochs_ahead=self._epochs_ahead(state, instances),
            host=self._host,
            wish_watched=self._wish_watched(state),
        )
        if any(facts.status for facts in epochs):
            is_quiet = any(
                facts.quiet and facts.status and facts.status.state is DriverState.RUNNING for facts in epochs
            )
            source = self._prober.probe(Remedy.WAIT_FOR_SOURCE, self._spec) if is_quiet else None
            return replace(seen, dependency=source)
        checkpoint, companions = read_checkpoints(self._storage, self._spec.checkpoint)
        standing = self._standing(state, checkpoint.query_id)
        seen = replace(
            seen,
            checkpoint=checkpoint,
            companions=companions,
            registry_conflicts=standing.conflicts,
            registered=None if self._has_been_claimed_since(state) else standing.entry,
            dependency=self._dependency(state),
        )
        return replace(seen, plans=plans_for(seen, self._spec))

    def _has_been_claimed_since(self, state: LogState) -> bool:
        """Whether an empty log has grown since it was read: what the registry knows of a driver is then no sign of a lost log."""
        return state.position is None and bool(
            LogReader(self._storage, self._control).read_behind(state.next_number - 1)
        )

    def _standing(self, state: LogState, query_id: str | None) -> RegistryState:
        """A backfill has none: it lies among the own places of a stream that is entered."""
        if self._spec.mode is Mode.BACKFILL:
            return RegistryState(entry=None)
        return standing_of(
            self._storage,
            self._state_root,
            registry_entry(self._spec, query_id),
            owns_log=state.stream == self._spec.name,
            registry=self._registry.of(self._storage, self._state_root),
        )

    def deepen(self, seen: Observation) -> tuple[Observation, StartFacts]:
        """The same with all that a start would come across, read anew: sources' logs, input, state, the sink, what Kafka has.

        As many reads as state has parts.
        """
        checkpoints, sink = self._look_around(seen)
        own, *companions = checkpoints
        table = declared_source_table(self._spec, lambda _: self._storage)
        folder = declared_source_input(self._spec, lambda _: self._storage)
        start = StartFacts(
            checkpoints=checkpoints,
            coverages=self._source_coverage.of(
                checkpoints, on_record=self._topics_on_record(seen.state), sink=sink.latest if sink else None
            ),
            source_table=table.view(own.facts, now=seen.now) if table else None,
            source_input=folder.view(own) if folder else None,
            stateful_operators=self._stateful_operators(own.facts),
            sink=sink,
        )
        seen = replace(
            seen,
            checkpoint=own.facts,
            companions=tuple(companion.facts for companion in companions),
            absent_topics=self._absent_topics(own.facts),
        )
        return replace(seen, plans=plans_for(seen, self._spec, start)), start

    def _absent_topics(self, facts: CheckpointFacts) -> tuple[str, ...]:
        """Before the first batch. Where nobody accepts a connection, no client need wait for an answer."""
        if not facts.is_new or not self._spec.reads_kafka:
            return ()
        is_away = self._prober.probe(Remedy.WAIT_FOR_SOURCE, self._spec).is_reachable is False
        return () if is_away else self._source_coverage.absent_topics()

    def _stateful_operators(self, facts: CheckpointFacts) -> int:
        history = last_progress(self._storage, control_folder(self._spec.checkpoint))
        return len(history.of_query(facts.query_id or "").newest_state)

    def _topics_on_record(self, state: LogState) -> Topics:
        """As earlier starts found them; before them, those that a backfill was planned over."""
        planned = planned_topics(self._storage, self._spec.checkpoint) if self._spec.mode is Mode.BACKFILL else ()
        return (*planned, *state.topics)

    def _look_around(self, seen: Observation) -> tuple[tuple[CheckpointSnapshot, ...], SinkView | None]:
        address, place = self._spec.checkpoint, declared_sink(self._spec, lambda _: self._storage)
        if place is None:
            return inspect_checkpoints(self._storage, address), None
        facts = seen.checkpoint or read_checkpoint(self._storage, address)
        return look_around(place, facts.query_id, inspect=lambda: inspect_checkpoints(self._storage, address))

    def position(self) -> Position:
        """Where the checkpoint stands now."""
        return position_of(*read_checkpoints(self._storage, self._spec.checkpoint))

    def _wish_watched(self, state: LogState) -> timedelta:
        wish = state.end_wish
        mark = f"{wish.note.at.isoformat()} {wish.note.by.actor} {wish.note.by.host}" if wish else ""
        return self.stillness.of("wish", mark)

    def _progress(self, traces: tuple[DriverTraces, ...]) -> ProgressHistory:
        beat = newest_beat(traces)
        if beat is None or not is_history_needed(beat, policy=self._spec.stall):
            return ProgressHistory()
        folder = driver_folder(self._control, beat.epoch, beat.instance)
        return read_progress(self._storage, join(folder, PROGRESS))

    def _epochs_ahead(self, state: LogState, instances: Instances) -> int:
        """A claim is on record before its driver leaves a trace: records that came meanwhile explain a newer one."""
        newest = highest_epoch(instances)
        if newest < state.next_epoch:
            return 0
        has_grown = bool(LogReader(self._storage, self._control).read_behind(state.next_number - 1))
        return 0 if has_grown else newest

    def _dependency(self, state: LogState) -> Reachability | None:
        if not state.failures:
            return None
        remedy = self._spec.restart.remedy_for(state.failures[-1])
        waits = remedy in (Remedy.WAIT_FOR_SOURCE, Remedy.WAIT_FOR_SINK)
        return self._prober.probe(remedy, self._spec) if waits else None

    def _epochs(self, state: LogState) -> tuple[tuple[EpochFacts, ...], Instances]:
        """The open epochs, and every driver that ever left a trace: listed anew unless one driver is plainly at work.

        Nothing is decided then by who else was here, and it is known for LISTED_EVERY at most while the log stands still. A
        second process of the epoch, or traces of an epoch that the log knows nothing of, show by then.
        """
        log, now, known = f"{state.next_number} {state.last_nonce}", self._clock.monotonic(), self._listed
        if known.log == log and now - known.at < LISTED_EVERY:
            epochs = tuple(self._epoch(epoch, state, known.instances) for epoch in state.open_epochs)
            if len(epochs) == 1 and epochs[0].is_at_work(timings_of(epochs[0].epoch, self._spec.timings).halt):
                return epochs, known.instances
        self._listed = _Listed(log=log, at=now, instances=driver_instances(self._storage, self._control))
        return tuple(
            self._epoch(epoch, state, self._listed.instances) for epoch in state.open_epochs
        ), self._listed.instances

    def _epoch(self, epoch: Epoch, state: LogState, instances: Instances) -> EpochFacts:
        traces = traces_among(instances, self._storage, self._control, epoch.number)
        submission = epoch.submission
        # Part of the subject, so that the time before a submit never counts against the driver.
        standing = "submitted" if submission else "claimed"
        status = self._launcher.poll(submission.handle) if submission else None
        return EpochFacts(
            epoch=epoch,
            traces=traces,
            status=status,
            found=() if submission else self._launcher.find(epoch.claim.token),
            unseen="" if submission else why_unseen(self._launcher, traces),
            stood_still=self._stood_still(f"beat {epoch.number} {standing}", traces),
            watched=self.stillness.of(f"epoch {epoch.number}", standing),
            progress=self._progress(traces),
            status_for=self.stillness.of(f"status {epoch.number}", str(status.state) if status else ""),
            foreign_batch=self._foreign_batch(epoch, state, traces) if status and _is_running(status) else None,
        )

    def _stood_still(self, subject: str, traces: tuple[DriverTraces, ...]) -> timedelta:
        """How long no beat has moved. One that can't be read may move all the time: it never stands still."""
        if any(trace.hides_beat for trace in traces):
            return timedelta(0)
        beats = [f"{trace.instance}:{trace.heartbeat.sequence if trace.heartbeat else 0}" for trace in traces]
        return self.stillness.of(subject, " ".join(beats))

    def _foreign_batch(self, epoch: Epoch, state: LogState, traces: tuple[DriverTraces, ...]) -> int | None:
        """A batch that is planned in the checkpoint, and not by the driver that runs; None where none is, or it can't be told.

        One question a look; a batch that looks foreign must still do so some beats later.
        """
        beat = newest_beat(traces)
        is_told = self._spec.as_run(epoch.claim.mode).trigger.kind is not TriggerKind.CONTINUOUS
        if beat is None or not is_told or self._spec.tracks_progress_async or epoch.claim.mode is ClaimMode.BACKFILL:
            return None
        begun_at = max(epoch.claim.position.offset, state.position.offset if state.position else -1)
        left_out = batch_left_out(beat.queries[0], begun_at=begun_at) if beat.queries else None
        if left_out is not None:
            return left_out
        subject, newest_own = f"ahead {epoch.number}", newest_own_batch(beat, begun_at=begun_at)
        suspicion = self.stillness.mark(subject)
        batch, since = (int(part) for part in suspicion.split()) if suspicion else (newest_own + 1, 0)
        if suspicion and batch > newest_own:
            return batch if tells_of_now(beat, since=since, interval=self._spec.timings.beat) else None
        is_planned = bool(self._storage.details(join(self._spec.checkpoint, OFFSETS), only=[str(newest_own + 1)]))
        # The beat is read once more, so that only those count that were begun after the batch was there.
        now = read_heartbeat(self._storage, self._control, beat.epoch, beat.instance) if is_planned else None
        self.stillness.of(subject, f"{newest_own + 1} {now.sequence}" if now else "")
        return None


def _is_running(status: DriverStatus) -> bool:
    return status.state is DriverState.RUNNING


def registry_entry(spec: StreamSpec, query_id: str | None) -> RegistryEntry:
    """What the registry keeps of a stream."""
    return RegistryEntry(
        stream=spec.name,
        checkpoint=spec.checkpoint,
        sink=spec.sink.address,
        query_id=query_id or "",
        was_submitted=False,
    )
