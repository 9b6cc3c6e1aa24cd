"""What a decision rests on: one stream at one moment, as plain values. No reader is imported here."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from streamops.checkpoint.facts import CheckpointFacts
from streamops.clock import CLOCK_ERROR
from streamops.control.drivers import DriverTraces, Heartbeat, QueryBeat
from streamops.control.records import DriverHandle
from streamops.control.registry import RegistryEntry
from streamops.control.state import Epoch, LogState, Note
from streamops.diagnosis.restart_plan import SAFETIES, UNREAD, CheckpointPlan, RestartPlan
from streamops.formatting import listed
from streamops.launch import DriverState, DriverStatus
from streamops.progress import ProgressHistory

SHOWN = 5
"""Topics that a sentence names."""
QUIET_AFTER = timedelta(seconds=20)
"""Longer than a source that answers lets a batch be planned: time to ask whether it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachability:
    """The answer of a probe."""

    target: str
    is_reachable: bool | None
    """None where this place can't tell; then only the back-off counts."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochFacts:
    """One epoch whose driver may live."""

    epoch: Epoch
    traces: tuple[DriverTraces, ...]
    status: DriverStatus | None
    """The launcher's word; None where no submit is on record."""
    found: tuple[DriverHandle, ...]
    """Living drivers with this epoch's token, looked for where no submit is on record."""
    stood_still: timedelta
    """How long its beat, or the lack of one, has not changed under this observer's eyes."""
    watched: timedelta
    """How long this observer has known the epoch in its present standing (claimed, or submitted)."""
    status_for: timedelta = timedelta(0)
    """How long the launcher has said the same."""
    foreign_batch: int | None = None
    """A batch in the checkpoint that this epoch's driver, which runs, can't have planned; None for none."""
    unseen: str = ""
    """Why `found` says nothing of a driver that left these traces; empty where a living one would be found."""
    progress: ProgressHistory = field(default_factory=ProgressHistory)
    """Of the newest instance; read only when it can change the judgement."""

    @property
    def is_beat_hidden(self) -> bool:
        """Whether a beat is there that can't be read: it may move all the time."""
        return any(trace.hides_beat for trace in self.traces)

    def is_at_work(self, halt: timedelta) -> bool:
        """Whether its one driver lives by the launcher's word and by its beat, and has not said that it ends."""
        if self.status is None or self.status.state is not DriverState.RUNNING or len(self.traces) != 1:
            return False
        is_beating = self.heartbeat is not None and self.stood_still < halt
        return is_beating and self.traces[0].exit is None and self.foreign_batch is None

    @property
    def heartbeat(self) -> Heartbeat | None:
        """The newest beat of the epoch's newest instance."""
        return newest_beat(self.traces)

    @property
    def quiet(self) -> QueryBeat | None:
        """A query that has been planning or at one batch for a while: what it reads may not answer. A broker that goes away in
        the middle of a batch is waited for by Spark's tasks, for two minutes each (Spark 4.2, kafkaConsumer.pollTimeoutMs).
        """
        return busy_query(self.heartbeat.queries) if self.heartbeat else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One stream at one moment."""

    now: datetime
    state: LogState
    epochs: tuple[EpochFacts, ...]
    """Epochs whose end nobody has proven, oldest first."""
    checkpoint: CheckpointFacts | None
    """Read only when no submitted epoch is open: a running query owns its checkpoint."""
    companions: tuple[CheckpointFacts, ...] = ()
    plans: tuple[CheckpointPlan, ...] = (CheckpointPlan(checkpoint="", plan=UNREAD),)
    """What a start would do on the stream's own checkpoint, then on its companions'."""
    absent_topics: tuple[str, ...] = ()
    """Declared topics that are not there, asked for before the first batch."""
    registry_conflicts: tuple[str, ...] = ()
    registered: RegistryEntry | None = None
    """What the registry knows of the stream, read with `checkpoint`."""
    unchanged_for: timedelta = timedelta(0)
    """How long the log has not grown under this observer's eyes."""
    epochs_ahead: int = 0
    """The highest epoch that left traces here and that the log knows nothing of; 0 for none."""
    dependency: Reachability | None = None
    """What the last failure makes the stream wait for, or what a quiet query of its driver reads, and whether it answers."""
    host: str = ""
    """Where the observer is."""
    wish_watched: timedelta = timedelta(0)
    """How long the present wish for the driver's end has been on record under this observer's eyes."""

    @property
    def plan(self) -> RestartPlan:
        """The plan that decides: the worst, and the stream's own among equals."""
        return max((one.plan for one in self.plans), key=lambda plan: SAFETIES.index(plan.safety))

    @property
    def without_topics(self) -> str:
        """What a first driver would fail on; empty where it finds its topics, or nobody could be asked."""
        if not self.absent_topics:
            return ""
        are = "topics" if len(self.absent_topics) > 1 else "topic"
        return (
            f"the cluster has no {are} {listed(self.absent_topics, SHOWN)}: create what is missing, or correct `topics`; then"
            " it starts"
        )

    def since(self, moment: datetime) -> timedelta:
        """How long ago a record of the log was written; one from a clock that is ahead is as old as the log's silence."""
        return self.now - moment if moment <= self.now else self.unchanged_for

    def asked_for(self, wish: Note) -> timedelta:
        """How long ago somebody asked. The stamp of another host counts only as far as this observer has watched.

        Its clock may be behind, and a driver must not lose its grace by that. A stamp older than CLOCK_ERROR is believed,
        so that observers who never stay long come to an end too.
        """
        stamped = self.since(wish.at)
        is_believed = wish.by.host == self.host or stamped > CLOCK_ERROR
        return stamped if is_believed else min(stamped, self.wish_watched)


def quiet_query(queries: Iterable[QueryBeat]) -> QueryBeat | None:
    """The first that has been planning for QUIET_AFTER."""
    return next((query for query in queries if query.is_planning_for(QUIET_AFTER)), None)


def busy_query(queries: Iterable[QueryBeat]) -> QueryBeat | None:
    """The first that has been planning, or at one batch, for QUIET_AFTER."""
    return next((query for query in queries if query.is_busy_for(QUIET_AFTER)), None)


def newest_beat(traces: tuple[DriverTraces, ...]) -> Heartbeat | None:
    """Of whichever instance wrote last."""
    beats = [trace.heartbeat for trace in traces if trace.heartbeat]
    return max(beats, key=lambda beat: beat.at, default=None)
