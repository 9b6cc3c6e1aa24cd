"""Where backfills of one stream are planned, asked for and followed; the same for the terminal and for Airflow."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from streamops.backfill import (
    BackfillEstimate,
    BackfillProgress,
    Missing,
    OwnSink,
    RangeRefused,
    RequestedRange,
    SinkChosen,
    SinkRefused,
    choose_sink,
    estimate_backfill,
    progress_of,
)
from streamops.backfill.source_ranges import FolderRanges, KafkaRanges, SourceRanges, TableRanges
from streamops.clock import Clock
from streamops.control.backfill_plan import BackfillPlan, Counted, backfill_ids, derived_name, read_plan, write_plan
from streamops.control.layout import backfill_checkpoint, backfills_folder, control_folder
from streamops.control.records import Author, ClaimMode
from streamops.control.texts import checked_reason
from streamops.diagnosis.companions import read_checkpoints
from streamops.diagnosis.last_progress import last_progress
from streamops.errors import BackfillError, SettingsError
from streamops.kafka.broker import Broker
from streamops.spec import CustomSource, DeltaTableSource, FilesSource, Mode, SinkSpec, StreamSpec, Trigger, TriggerKind
from streamops.storage import Storage, join

BUDGET = timedelta(days=7)
"""Then it is stopped between two steps: one that nobody remembers must not run for ever."""


def backfill_spec(spec: StreamSpec, plan: BackfillPlan) -> StreamSpec:
    """The declared stream's job and policies, the plan's range and sink, the resources of its catch-ups.

    `once` runs exactly the batch that is written down for it: Spark's Kafka source has no ending offsets in a stream.
    """
    return replace(
        spec,
        name=derived_name(spec.name, plan.id),
        description=f"Backfill {plan.id} of {spec.name}: {plan.asked}",
        checkpoint=backfill_checkpoint(spec.checkpoint, plan.id),
        # Nothing but the plan's tables: a topic or an endpoint that was declared later is not for records of the past.
        sink=SinkSpec(table=plan.table, dead_letters=plan.dead_letters, guarantee=spec.sink.guarantee),
        mode=Mode.BACKFILL,
        trigger=Trigger(kind=TriggerKind.ONCE),
        schedule=None,
        launch=spec.as_run(ClaimMode.CATCHUP).launch,
    )


CHUNK = 1_000_000
"""Records of a step where nobody says: small enough to show progress and to lose little by a kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedBackfill:
    """What somebody wants to have read once more."""

    range: RequestedRange
    reason: str
    table: str = ""
    """Canonical address; empty for the stream's own table."""
    dead_letters: str = ""
    chunk: int = CHUNK
    accepts_expired: bool = False
    is_approximate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBackfill:
    """A backfill before it is asked for, or why it is refused."""

    plan: BackfillPlan | None
    refusals: tuple[str, ...] = ()
    """What is in the way, each with the way out."""
    expired: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    estimate: BackfillEstimate | None = None

    def refuse(self) -> BackfillPlan:
        """The plan. BackfillError with all that is in the way where there is none."""
        if self.plan is None:
            raise BackfillError("; ".join(self.refusals))
        return self.plan


def places_of(specs: Iterable[StreamSpec]) -> dict[str, str]:
    """What belongs to declared streams and must not be written by a backfill, each address with whose it is."""
    found: dict[str, str] = {}
    for spec in specs:
        found |= {spec.sink.table: f"the table of {spec.name}"} if spec.sink.table else {}
        found |= {spec.sink.dead_letters: f"the dead letters of {spec.name}"} if spec.sink.dead_letters else {}
        found[spec.checkpoint] = f"the checkpoint of {spec.name}"
        found[control_folder(spec.checkpoint)] = f"the control folder of {spec.name}"
        found[backfills_folder(spec.checkpoint)] = f"the backfills of {spec.name}"
        found |= {spec.sink.files.path: f"the files of {spec.name}"} if spec.sink.files else {}
        if isinstance(spec.source, DeltaTableSource):
            found[spec.source.table] = f"the source of {spec.name}"
        elif isinstance(spec.source, FilesSource):
            found[spec.source.path] = f"the source of {spec.name}"
    return found


def _ranges(spec: StreamSpec, storage: Storage, broker: Broker | None) -> SourceRanges:
    """Who answers for the stream's source."""
    source = spec.source
    if isinstance(source, DeltaTableSource):
        return TableRanges(storage=storage, source=source)
    if isinstance(source, FilesSource):
        return FolderRanges(storage=storage, source=source)
    if isinstance(source, CustomSource):
        raise SettingsError(
            f"stream {spec.name} reads {source}: only Spark knows its ranges, so there are no backfills of it"
        )
    if broker is None:
        raise ValueError(f"{spec.name} reads topics: somebody must ask the cluster")
    return KafkaRanges(broker=broker, topics=source.topics, reads_committed=source.reads_committed)


class BackfillService:
    """One stream's backfills, for one author."""

    def __init__(
        self,
        spec: StreamSpec,
        *,
        storage: Storage,
        clock: Clock,
        author: Author,
        broker: Broker | None,
        others: Mapping[str, str],
    ) -> None:
        """`others`: addresses that belong to declared streams, each with whose it is. A stream without topics needs no broker."""
        self.spec = spec
        self._storage = storage
        self._clock = clock
        self._author = author
        self._ranges = _ranges(spec, storage, broker)
        self._others = others

    def plan(self, asked: RequestedBackfill, *, backfill: str) -> PlannedBackfill:
        """What would be read, in which steps, and where it would go. StorageError where the stream can't be read.

        SettingsError for a reason that is none, or too long.
        """
        reason = checked_reason(asked.reason)
        sink = self._sink(asked, backfill)
        found = self._ranges.steps(asked.range, chunk=asked.chunk, accepts_expired=asked.accepts_expired)
        refusals = [why for why in (self._refused_for_state(asked), self._refused_for_time(asked)) if why]
        if isinstance(sink, SinkRefused):
            refusals.append(f"{sink.reason}: {sink.way_out}")
        if isinstance(found, RangeRefused):
            refusals += [f"{'; '.join(found.reasons)}: {found.way_out}"]
        if refusals or isinstance(sink, SinkRefused) or isinstance(found, RangeRefused):
            return PlannedBackfill(plan=None, refusals=tuple(refusals), expired=found.expired)
        plan = BackfillPlan(
            id=backfill,
            stream=self.spec.name,
            by=self._author.actor,
            at=self._clock.now(),
            reason=reason,
            asked=str(asked.range),
            start=found.start,
            chunks=found.chunks,
            counted_in=found.counted_in,
            table=sink.table,
            dead_letters=sink.dead_letters,
            is_redirected=sink.is_redirected,
            not_before=found.not_before,
            before=found.before,
            is_approximate=asked.is_approximate,
            notes=(*found.notes, *sink.notes),
            topics=found.topics,
        )
        try:
            backfill_spec(self.spec, plan)
        except ValueError as error:
            return PlannedBackfill(plan=None, refusals=(f"id {backfill} makes no stream: {error}",))
        history = last_progress(self._storage, control_folder(self.spec.checkpoint))
        is_counted = plan.counted_in in (Counted.OFFSETS, Counted.RECORDS)
        estimate = (
            estimate_backfill(plan.records, len(plan.chunks), history)
            if is_counted
            else BackfillEstimate(
                seconds=None, reason=f"how many records {plan.records} {plan.counted_in} hold is not known"
            )
        )
        return PlannedBackfill(plan=plan, expired=found.expired, notes=plan.notes, estimate=estimate)

    def keep(self, plan: BackfillPlan) -> StreamSpec:
        """Put the plan where drivers find it; the stream that it is. ObjectExistsError where its id is taken."""
        write_plan(self._storage, self.spec.checkpoint, plan)
        return backfill_spec(self.spec, plan)

    def known(self) -> tuple[str, ...]:
        """The ids of all backfills of the stream. StorageError."""
        return backfill_ids(self._storage, self.spec.checkpoint)

    def read(self, backfill: str) -> BackfillPlan:
        """The plan of one. SettingsError when there is none, ControlLogError, StorageError."""
        return read_plan(self._storage, self.spec.checkpoint, backfill)

    def progress(self, plan: BackfillPlan) -> BackfillProgress:
        """How far it has come. StorageError."""
        own, companions = read_checkpoints(self._storage, backfill_spec(self.spec, plan).checkpoint)
        return progress_of(plan, [facts.last_commit for facts in (own, *companions)])

    def missing(self, plan: BackfillPlan) -> tuple[Missing, ...]:
        """What of the rest is deleted by now, exactly; none where the source does not tell."""
        done = self.progress(plan).steps_done
        if done == len(plan.chunks):
            return ()
        return tuple(self._ranges.missing(plan, done))

    def refuse_another_source(self, plan: BackfillPlan) -> None:
        """BackfillError where the source is another by now than the one that was planned, and some of the range is left."""
        replaced = () if self.progress(plan).is_done else self._ranges.replaced(plan)
        if replaced:
            raise BackfillError(
                f"backfill {plan.id} of {plan.stream} can't go on: {'; '.join(replaced)}. Its offsets mean other records there:"
                f" ask for a range anew, `streamops backfill {plan.stream} --from … --to … --reason …`"
            )

    def _sink(self, asked: RequestedBackfill, backfill: str) -> SinkChosen | SinkRefused:
        sink = self.spec.sink
        if further := [place.address for place in sink.further]:
            return SinkRefused(
                reason=f"{self.spec.name} writes to {', '.join(further)} as well, and a backfill would write there once more",
                way_out="declare a stream for the range that writes to a Delta table alone",
            )
        own = OwnSink(stream=self.spec.name, table=sink.table, dead_letters=sink.dead_letters, guarantee=sink.guarantee)
        return choose_sink(
            own, backfill=backfill, table=asked.table, dead_letters=asked.dead_letters, others=self._others
        )

    def _refused_for_time(self, asked: RequestedBackfill) -> str:
        """Why a range that has not ended yet is not read: what comes later would be left out without a word."""
        end = asked.range.end_lookup
        if end is None or end <= self._clock.now():
            return ""
        return f"the range ends at {end.isoformat(timespec='seconds')}, which is to come: ask for one that has ended"

    def _refused_for_state(self, asked: RequestedBackfill) -> str:
        """Why a job with state is not run on a range; the driver looks once more, at the job itself."""
        if asked.is_approximate or not self._storage.list(join(self.spec.checkpoint, "state")):
            return ""
        return (
            f"{self.spec.name} keeps state, and a range alone knows nothing of what came before it: its results would be others."
            " Where near enough is good enough: --approximate"
        )
