"""Where bounded runs of one stream are planned, asked for, followed and ended; the same for the terminal and for Airflow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamops.backfill.report import RunReport, report_run
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS, DamagedFileError
from streamops.checkpoint.offsets import parse_offsets
from streamops.clock import Clock
from streamops.control.drivers import DriverTraces, driver_instances, traces_among
from streamops.control.layout import control_folder
from streamops.control.log import LogReader
from streamops.control.records import MaintenanceBegun, Record, Released
from streamops.diagnosis.checkup_text import printable
from streamops.diagnosis.last_progress import last_progress
from streamops.diagnosis.restart_plan import Safety, accepts
from streamops.errors import ControlLogError, StreamOpsError
from streamops.operations.act_effects import budget_of_release, in_seconds, stop_effect, unattended
from streamops.operations.act_plan import Act, ActPlan, ActProgress, Stage, why_it_lives
from streamops.operations.log_tail import find_record, records_backwards
from streamops.operations.snapshot import StreamSnapshot
from streamops.operations.stream_operations import StreamOperations
from streamops.retention import Coverage, PartitionState
from streamops.retention.backlog import Backlog, read_backlogs
from streamops.retention.growth import catch_up, throughput_of
from streamops.spec import Mode, StreamSpec
from streamops.storage import Storage, join
from streamops.supervision.cli_hints import to_release
from streamops.supervision.decision import NEEDS_A_PERSON, Action
from streamops.supervision.supervisor import Look, Supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInput:
    """What waits for a run."""

    has_any: bool | None
    """None where nobody can tell: that is no reason to leave a run out."""
    reason: str
    offsets: int | None = None
    """How many wait for the stream's own query; at most so many records."""


def news_of(
    checkpoints: Sequence[CheckpointSnapshot], coverages: Sequence[Coverage], backlogs: Sequence[Backlog] = ()
) -> PendingInput:
    """What waits for the stream's query and its companions together; `backlogs` of one that reads no Kafka.

    A batch in flight is work as well. In a topic with compaction or transactions the lag may never reach 0: a run finds an
    empty batch there.
    """
    own = checkpoints[0].facts
    offsets = coverages[0].lag if coverages else None
    if own.is_new:
        return PendingInput(has_any=True, reason="the query has never run", offsets=offsets)
    pending = [one.facts.last_offset for one in checkpoints if one.facts.has_pending_batch]
    if pending:
        return PendingInput(has_any=True, reason=f"batch {pending[0]} is in flight", offsets=offsets)
    if backlogs:
        return _beside_kafka(backlogs)
    partitions = [one for coverage in coverages for one in coverage.partitions]
    if any(one.standing is PartitionState.NEW for one in partitions):
        return PendingInput(has_any=True, reason="there are partitions that were never read", offsets=offsets)
    lags = [coverage.lag for coverage in coverages]
    if any(lags):
        behind = offsets or max(lag for lag in lags if lag)
        return PendingInput(has_any=True, reason=f"{behind} offsets wait", offsets=offsets)
    if not partitions or None in lags:
        return PendingInput(has_any=None, reason="what the source holds could not be asked")
    # Companions read the same partitions.
    ends = list(dict.fromkeys(f"{one.topic}-{one.partition} ends at {one.latest}" for one in partitions))
    more = f" and {len(ends) - _SHOWN} more" if len(ends) > _SHOWN else ""
    reason = f"nothing new since batch {own.last_offset}: {', '.join(ends[:_SHOWN])}{more}"
    return PendingInput(has_any=False, reason=reason, offsets=0)


def _beside_kafka(backlogs: Sequence[Backlog]) -> PendingInput:
    """Something waits where it waits for one query; nothing does only where that is known of each."""
    told = next((one for one in backlogs if one.has_any), None)
    told = told or next((one for one in backlogs if one.has_any is None), backlogs[0])
    reason = f"nothing new: {told.reason}" if told.has_any is False else told.reason
    return PendingInput(has_any=told.has_any, reason=printable(reason))


_SHOWN = 8
"""Partitions that a reason names."""


START = timedelta(seconds=15)
"""What a driver takes from its submit to its first batch, about: Spark's own start, and its first plan."""


LONGEST_BUDGET = timedelta(days=365)
"""A run that may take longer is meant to have no end, and no moment can say that."""

_STANDS_STILL = NEEDS_A_PERSON | {Action.PARK}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run before it is asked for."""

    plan: ActPlan
    news: PendingInput
    budget: timedelta
    estimate: timedelta | None
    """None where nobody can tell."""
    is_once: bool = False
    """Whether it finishes the batch in flight and no more."""


class RunService:
    """One stream's runs, for one author."""

    def __init__(self, desk: StreamOperations, *, storage: Storage, clock: Clock) -> None:
        self._desk = desk
        self._storage = storage
        self._clock = clock
        self._control = control_folder(desk.spec.checkpoint)

    @property
    def spec(self) -> StreamSpec:
        """The stream as it is declared."""
        return self._desk.spec

    @property
    def supervisor(self) -> Supervisor:
        """Looks at the stream, and acts if it was built to."""
        return self._desk.supervisor

    def look(self) -> Look:
        """One look; changes nothing. StreamOpsError."""
        return self._desk.supervisor.look()

    def ask(
        self, reason: str, *, budget: timedelta, estimate: timedelta | None = None, is_once: bool = False
    ) -> Record:
        """Ask for a run whatever waits. ControlLogError where the stream stands still, another run is on, or none can be."""
        self._refuse_where_none_can_be()
        until = self._clock.now() + min(budget, LONGEST_BUDGET)
        return self._desk.requests.begin_run(
            self.spec.bounded_run, reason, until=until, estimated=estimate, is_once=is_once
        )

    def release(self, reason: str) -> Record | None:
        """Un-park the stream; None when it is not parked."""
        return self._desk.requests.release(reason)

    def plan(self, *, reason: str, budget: timedelta | None = None) -> PlannedRun:
        """What a run would do.

        Raises ControlLogError where its driver could only fail, lose or repeat data: a live query must not be stopped for that.
        StreamOpsError where the facts can't be had.
        """
        self._refuse_where_none_can_be()
        sight = self._desk.sight()
        self._refuse_a_lost_start(sight)
        backlogs = read_backlogs(self.spec, sight.checkpoints, lambda _: self._storage)
        news = news_of(sight.checkpoints, sight.coverages, backlogs)
        estimate = self._estimate(news)
        budget = budget or self.spec.catchup.budget
        plan = ActPlan(
            act=Act.CATCHUP,
            stream=self.spec.name,
            reason=reason,
            records=() if news.has_any is False else (MaintenanceBegun.kind,),
            effects=(news.reason,) if news.has_any is False else self._effects(sight, news, budget, estimate),
            warnings=() if news.has_any is False else unattended(sight, self.spec, "nothing starts the run"),
        )
        return PlannedRun(plan=plan, news=news, budget=budget, estimate=estimate)

    def plan_once(self, *, reason: str, budget: timedelta | None = None) -> PlannedRun:
        """What it takes to finish the batch in flight, and no more, by the trigger `once`; a parked stream is released for it.

        The way out where availableNow can't get past that batch (SPARK-53560). ControlLogError where no run can be.
        """
        self._refuse_where_none_can_be()
        sight = self._desk.sight()
        facts, state = sight.checkpoint, sight.look.observation.state
        news = news_of(sight.checkpoints, sight.coverages)
        is_stuck = facts.has_pending_batch and not sight.look.observation.epochs
        why_not = "a driver lives and is at work on it" if facts.has_pending_batch else "no batch is in flight"
        released = (Released.kind,) if state.parked else ()
        plan = ActPlan(
            act=Act.CATCHUP,
            stream=self.spec.name,
            reason=reason,
            records=(*released, MaintenanceBegun.kind) if is_stuck else (),
            effects=(
                *((f"it is released: {budget_of_release(state)}",) if released else ()),
                f"a driver finishes batch {facts.last_offset} by the trigger once, which reads nothing else, and ends",
                "then the stream goes on as it is declared",
            )
            if is_stuck
            else (f"{why_not}: the newest committed one is {facts.last_commit}",),
            warnings=unattended(sight, self.spec, "nothing starts the run") if is_stuck else (),
        )
        return PlannedRun(plan=plan, news=news, budget=budget or self.spec.catchup.budget, estimate=None, is_once=True)

    def left_run(self, look: Look) -> int | None:
        """The number of a run that somebody has asked for and nobody sees through; None for none."""
        open_one = look.observation.state.maintenance
        if open_one is None or open_one.run is None or open_one.until <= look.observation.now:
            return None
        return open_one.record if self._desk.surroundings().is_unattended(look.observation.now) else None

    def begin(self, planned: PlannedRun) -> Record:
        """Ask for the run. ControlLogError where the stream stands still, or another run is under way."""
        reason = planned.plan.reason
        if Released.kind in planned.plan.records:
            self.release(reason)
        return self.ask(reason, budget=planned.budget, estimate=planned.estimate, is_once=planned.is_once)

    def end(self, reason: str, *, number: int) -> Record | None:
        """Stop a run between two batches; None when it is over."""
        return self._desk.requests.end_run(reason, number=number)

    def find(self, mark: str, *, since: datetime) -> Record | None:
        """The run that was asked for with a mark in its reason. StorageError."""
        backwards = records_backwards(self._storage, self._control)
        return find_record(backwards, mark, since=since, kinds=(MaintenanceBegun,))

    def newest(self) -> int | None:
        """The number of the newest run that is on record; None for none. StorageError."""
        backwards = records_backwards(self._storage, self._control)
        runs = (one.number for one in backwards if isinstance(one, Record) and _asks_for_a_run(one))
        return next(runs, None)

    def report(self, number: int) -> RunReport:
        """What has come of a run so far. StorageError, ControlLogError."""
        records = LogReader(self._storage, self._control).read_behind(number - 1)
        found = report_run(records, rows_of={})
        instances = driver_instances(self._storage, self._control)
        rows = {}
        for epoch in found.epochs:
            traces = traces_among(instances, self._storage, self._control, epoch)
            told = [count for trace in traces if (count := _rows_of(trace)) is not None]
            if told:
                rows[epoch] = sum(told)
        report = report_run(records, rows_of=rows)
        return replace(report, stream=self.spec.name, offsets=self._offsets(report.last_batch))

    def _offsets(self, batch: int | None) -> tuple[str, ...]:
        """The sources' own texts; none once the entry is purged, or where it can't be read."""
        address = self.spec.checkpoint
        if batch is None:
            return ()
        try:
            content = self._storage.read(join(address, OFFSETS, str(batch)))
            entry = parse_offsets(content, batch=batch, address=address)
        except (StreamOpsError, DamagedFileError):
            return ()
        return tuple(text for text in entry.sources if text is not None)

    def progress(self, number: int) -> ActProgress:
        """Whether a run is over, and whether it can go on by itself. StreamOpsError where that can't be told."""
        look = self._desk.supervisor.look()
        open_one = look.observation.state.maintenance
        if open_one is None or open_one.record != number:
            living = why_it_lives(look) if look.observation.state.replacement else ""
            if left := _left_unsubmitted(look):
                return ActProgress(stage=Stage.FAILED, evidence=left)
            return ActProgress(stage=Stage.PENDING if living else Stage.DONE, evidence=living or "the run is over")
        stage = Stage.FAILED if look.decision.action in _STANDS_STILL else Stage.PENDING
        return ActProgress(stage=stage, evidence=look.decision.reason)

    def _effects(
        self, sight: StreamSnapshot, news: PendingInput, budget: timedelta, estimate: timedelta | None
    ) -> tuple[str, ...]:
        run = self.spec.as_run(self.spec.bounded_run)
        plan = sight.start_plan
        return (
            *(stop_effect(facts, self.spec, force=False) for facts in sight.look.observation.epochs),
            f"{news.reason}: a driver on {run.launch.master} reads what the source holds at its start, by {run.trigger.kind}",
            f"a start now is {plan.safety}: {plan.summary}",
            f"it is expected to take {in_seconds(estimate)}"
            if estimate is not None
            else "how long it takes is not known",
            f"after {in_seconds(budget)} it is stopped between two batches, and the next run goes on",
            *(("then the live query is started again",) if self.spec.mode is Mode.LIVE else ()),
        )

    def _refuse_where_none_can_be(self) -> None:
        if reason := self.spec.why_no_bounded_run:
            raise ControlLogError(
                f"stream {self.spec.name}: a run is refused: {reason}. The live query reads what waits, at its own pace"
            )

    def _refuse_a_lost_start(self, sight: StreamSnapshot) -> None:
        plan, state = sight.start_plan, sight.look.observation.state
        is_accepted = accepts(self.spec.sink.guarantee, plan.safety) or state.accepts_unsafe
        if is_accepted or plan.safety is Safety.UNKNOWN:
            return
        raise ControlLogError(
            f"stream {self.spec.name}: a run is refused, its start would be {plan.safety}: {plan.summary}. Mend that, or accept"
            f" it with `{to_release(self.spec, accepts_unsafe=True)} --reason …`"
        )

    def _estimate(self, news: PendingInput) -> timedelta | None:
        """By the batches that the newest drivers have run; what is written meanwhile is none of this run's."""
        if news.offsets is None:
            return None
        history = last_progress(self._storage, self._control)
        needed = catch_up(news.offsets, throughput_of(history), growth=0).duration
        return needed + START if needed is not None else None


def _left_unsubmitted(look: Look) -> str:
    """Why the claim of a run that was ended stays open: nobody submits it, and nobody takes its place; empty otherwise.

    A stream that stands still gets no newer claim, and only behind one could the end of this one be recorded.
    """
    newest = look.observation.state.newest
    if newest is None or not newest.is_open or newest.submission or look.decision.action not in NEEDS_A_PERSON:
        return ""
    return (
        f"the run was ended before a driver of it was started (epoch {newest.number} is claimed and not submitted), and the"
        f" stream stands still since: {look.decision.reason}"
    )


def _rows_of(trace: DriverTraces) -> int | None:
    """By the driver's last word, else by its last beat: one that was killed may have read a little more."""
    if trace.exit and trace.exit.input_rows >= 0:
        return trace.exit.input_rows
    beat = trace.heartbeat
    return beat.queries[0].input_rows if beat and beat.queries else None


def _asks_for_a_run(record: Record) -> bool:
    return isinstance(record.body, MaintenanceBegun) and record.body.run is not None
