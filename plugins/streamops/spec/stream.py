"""A declared stream, resolved: addresses are canonical, durations have a type, nothing is left to look up."""

import re
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from streamops.control.records import ClaimMode
from streamops.errors import SettingsError
from streamops.failures.policy import RestartPolicy
from streamops.liveness import StallPolicy
from streamops.spec.sinks import SinkSpec
from streamops.spec.sources import MAX_FILE_AGE, FilesSource, KafkaSource, Source
from streamops.spec.state import StateSpec
from streamops.storage import FileAccess

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")


class Mode(StrEnum):
    """How a stream runs."""

    LIVE = "live"
    """A query that is always meant to run."""
    SCHEDULED = "scheduled"
    """A query that runs on a schedule, each time until it has read what its source held when it began."""
    BACKFILL = "backfill"
    """A stream derived from a declared one: it reads a range of the source once, on a checkpoint of its own."""


class TriggerKind(StrEnum):
    """When Spark starts the next batch."""

    PROCESSING_TIME = "processing_time"
    DEFAULT = "default"
    """As soon as the batch before is done."""
    AVAILABLE_NOW = "available_now"
    """Batch after batch until all is read that the source held at the begin; then the query ends."""
    ONCE = "once"
    """One batch with everything, whatever rate limits say, or only the batch that is uncommitted; deprecated since Spark 3.4."""
    CONTINUOUS = "continuous"
    """No batches: tasks that run on and mark their positions at an interval. Experimental, at least once, without state."""
    REAL_TIME = "real_time"
    """Batches of a set duration whose rows are written as they come, since Spark 4.1."""


ENDING = frozenset({TriggerKind.AVAILABLE_NOW, TriggerKind.ONCE})
"""Triggers of queries that end by themselves."""


_SHARE_OF_ENDING = 2
"""A batch of real time lasts its interval, and then what it takes to end it: seldom as long again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The trigger of the live query."""

    kind: TriggerKind = TriggerKind.PROCESSING_TIME
    interval: timedelta = timedelta(seconds=10)
    """From batch to batch with processing time, from mark to mark with continuous, length of a batch with real time."""

    def __post_init__(self) -> None:
        if self.interval < timedelta(0):
            raise ValueError("the trigger interval must not be negative")

    @property
    def quiet(self) -> timedelta:
        """How long the query may stay in one step by intent: between two batches, or in one of real time, which then ends."""
        if self.kind is TriggerKind.PROCESSING_TIME:
            return self.interval
        return _SHARE_OF_ENDING * self.interval if self.kind is TriggerKind.REAL_TIME else timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a scheduled stream runs."""

    cron: str
    """Five fields, or one of cron's names such as `@hourly`."""
    timezone: str = "UTC"
    """Name of the time zone that the cron means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchupSpec:
    """How a bounded run differs from the live query, and how long it may take."""

    budget: timedelta = timedelta(hours=6)
    """After it the run is stopped between two batches; the next one goes on."""
    master: str = ""
    """Empty for that of the live query."""
    options: tuple[tuple[str, str], ...] = ()
    """Options of the source that differ, for example a higher rate limit."""
    conf: tuple[tuple[str, str], ...] = ()
    """Spark confs that differ, for example more memory."""

    def __post_init__(self) -> None:
        if self.budget <= timedelta(0):
            raise ValueError("the budget of a run must be positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """How the driver is submitted."""

    spark_submit: str = "spark-submit"
    master: str = "local[2]"
    deploy_mode: str = "client"
    queue: str = ""
    connection: str = ""
    """Id of an Airflow connection of type `spark` that gives master, deploy mode and queue instead."""
    jars: tuple[str, ...] = ()
    conf: tuple[tuple[str, str], ...] = ()
    folder: str = ""
    """Working directory of local drivers."""
    environment: tuple[str, ...] = ()
    """Names of the environment variables that drivers inherit besides those that all do; `AWS_*` for all that begin alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """The clockwork between driver and supervisor; the order of the figures is what keeps two drivers apart."""

    beat: timedelta = timedelta(seconds=5)
    """A driver beats this often."""
    halt: timedelta = timedelta(seconds=30)
    """A driver whose last acknowledged beat is older kills itself."""
    takeover: timedelta = timedelta(seconds=75)
    """A beat that stood still this long, watched by one observer, belongs to a hung or dead driver."""
    start: timedelta = timedelta(minutes=5)
    """A driver without a first beat after this time is hung."""
    claim: timedelta = timedelta(seconds=30)
    """A claim without a submit after this time was left behind by a supervisor that died."""
    stop: timedelta = timedelta(minutes=2)
    """Grace of a stop request; then the driver is killed."""

    def __post_init__(self) -> None:
        if self.beat <= timedelta(0):
            raise ValueError("beat must be positive")
        if self.halt < 3 * self.beat:
            raise ValueError("halt must be at least three beats, or one slow write kills a healthy driver")
        if self.takeover < 2 * self.halt:
            raise ValueError("takeover must be at least twice halt, or a driver is replaced before it has halted")


MOST_DAYS_KEPT = 3650


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long the logs and traces of drivers stay that have ended: whichever of the two keeps more."""

    epochs: int = 20
    """Of the newest drivers so many."""
    days: int = 7
    """Of older ones what was written in so many days."""

    def __post_init__(self) -> None:
        if self.epochs < 2:
            raise ValueError("keep at least two epochs: the newest, and the one that it replaced")
        if not 0 <= self.days <= MOST_DAYS_KEPT:
            raise ValueError(f"days must lie between 0 and {MOST_DAYS_KEPT}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowSpec:
    """How Airflow's pages show the stream. No driver is told."""

    owner: str = "streamops"
    display_name: str = ""
    """Instead of the id of its DAG."""
    tags: tuple[str, ...] = ()
    runbook: str = ""
    """A link: what to read when the stream is ill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """One stream as it is declared."""

    name: str
    job: str
    """Path of the job's Python file."""
    source: Source
    sink: SinkSpec
    checkpoint: str
    """Canonical address."""
    mode: Mode = Mode.LIVE
    trigger: Trigger = field(default_factory=Trigger)
    schedule: Schedule | None = None
    """Of a scheduled stream, and of no other."""
    catchup: CatchupSpec = field(default_factory=CatchupSpec)
    launch: LaunchSpec = field(default_factory=LaunchSpec)
    restart: RestartPolicy = field(default_factory=RestartPolicy)
    stall: StallPolicy = field(default_factory=StallPolicy)
    timings: Timings = field(default_factory=Timings)
    state: StateSpec = field(default_factory=StateSpec)
    keep: Keep = field(default_factory=Keep)
    metrics: bool = False
    """Whether the driver's metrics system tells of its queries (`spark.sql.streaming.metricsEnabled`)."""
    parameters: tuple[tuple[str, str], ...] = ()
    """What the job asks for by name, for example the address of a table that it joins with."""
    description: str = ""
    airflow: AirflowSpec = field(default_factory=AirflowSpec)
    namespace: str = ""
    """Of the settings file: begins the ids of its DAGs. No driver is told."""
    file_access: FileAccess = FileAccess.OWNER
    """Who may read and write what supervisors keep of the stream; common to all streams of a file."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name {self.name!r}: lower-case letters, digits and underscores, a letter first")
        if (self.mode is Mode.SCHEDULED) != (self.schedule is not None):
            raise ValueError("a scheduled stream has a schedule, and no other has one")
        if self.mode is not Mode.LIVE and self.trigger.kind not in ENDING:
            raise ValueError(
                f"a {self.mode} stream needs a trigger whose query ends by itself: {', '.join(sorted(ENDING))}"
            )

    @property
    def reads_kafka(self) -> bool:
        """Whether there are topics and a cluster to ask about."""
        return isinstance(self.source, KafkaSource)

    @property
    def kafka(self) -> KafkaSource:
        """The Kafka source. SettingsError where the stream reads something else; `reads_kafka` tells before."""
        if isinstance(self.source, KafkaSource):
            return self.source
        raise SettingsError(f"stream {self.name} reads {self.source}: there is no Kafka cluster to ask about it")

    @property
    def fails_on_data_loss(self) -> bool:
        """Whether records that Kafka has no more are an error; true where there is no Kafka source to be told otherwise."""
        return not isinstance(self.source, KafkaSource) or self.source.fails_on_data_loss

    @property
    def max_file_age(self) -> timedelta:
        """How much older than the youngest a file of its source may be to count; Spark's own where it reads no files."""
        return self.source.max_file_age if isinstance(self.source, FilesSource) else MAX_FILE_AGE

    @property
    def tracks_progress_async(self) -> bool:
        """Whether the logs of its checkpoint have holes by intent; then Spark needs the same option at the next start."""
        return self.sink.kafka is not None and self.sink.kafka.tracks_progress_async

    @property
    def why_no_bounded_run(self) -> str:
        """Why no run with availableNow or once can go on from its checkpoint; empty where one can. Seen on Spark 4.2.0."""
        if self.trigger.kind is TriggerKind.CONTINUOUS:
            return "its trigger is continuous, and no query by batches can go on from the entries that it writes"
        if self.tracks_progress_async:
            return (
                "its sink tracks progress asynchronously, which Spark refuses together with availableNow and once, and without"
                " which it can't go on from a checkpoint with holes"
            )
        return ""

    @property
    def conf(self) -> tuple[tuple[str, str], ...]:
        """All Spark confs of the driver that are declared, sorted by name."""
        metrics = (("spark.sql.streaming.metricsEnabled", "true"),) if self.metrics else ()
        return _confs((*self.state.conf, *metrics), self.launch.conf)

    @property
    def own_run(self) -> ClaimMode:
        """What a claim for the stream as it is declared is for."""
        return _OWN_RUN[self.mode]

    @property
    def bounded_run(self) -> ClaimMode:
        """What a claim is for that lets the stream read what there is, and end."""
        return ClaimMode.CATCHUP if self.mode is Mode.LIVE else self.own_run

    def as_run(self, run: ClaimMode, *, is_once: bool = False) -> "StreamSpec":
        """What a driver with such a claim is given: a live stream catches up by availableNow, with what `catchup` says.

        On every other claim it is the declaration itself. With `is_once` it runs the batch in flight alone.
        """
        if is_once:
            return replace(self.as_run(run), trigger=Trigger(kind=TriggerKind.ONCE))
        if run is not ClaimMode.CATCHUP or self.mode is not Mode.LIVE:
            return self
        return replace(
            self,
            trigger=Trigger(kind=TriggerKind.AVAILABLE_NOW),
            source=replace(self.source, options=_options(self.source.options, self.catchup.options)),
            launch=replace(
                self.launch,
                master=self.catchup.master or self.launch.master,
                conf=_confs(self.launch.conf, self.catchup.conf),
            ),
        )

    def passing_over_lost_records(self) -> "StreamSpec":
        """For a driver that passes over what Kafka has deleted; the declaration itself where it reads something else."""
        if not isinstance(self.source, KafkaSource):
            return self
        return replace(
            self, source=replace(self.source, options=_options(self.source.options, (("failOnDataLoss", "false"),)))
        )


_OWN_RUN = {
    Mode.LIVE: ClaimMode.LIVE,
    Mode.SCHEDULED: ClaimMode.CATCHUP,
    Mode.BACKFILL: ClaimMode.BACKFILL,
}


def _confs(below: tuple[tuple[str, str], ...], above: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """What is above lies over what is below, sorted by name, as settings are."""
    return tuple(sorted({**dict(below), **dict(above)}.items()))


def _options(below: tuple[tuple[str, str], ...], above: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """As of confs; but names of options have no case in Spark, so one in other letters is the same one."""
    covered = {name.lower() for name, _ in above}
    return tuple(sorted([*(pair for pair in below if pair[0].lower() not in covered), *above]))


def is_stream_name(text: str) -> bool:
    """Whether a stream may be called that: the name is part of file names, DAG ids and process lists."""
    return bool(_NAME.fullmatch(text))
