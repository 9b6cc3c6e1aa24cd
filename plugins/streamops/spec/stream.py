"""A declared stream, resolved: addresses are canonical, durations have a type, nothing is left to look up."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from streamops.health import StallPolicy
from streamops.restart import RestartPolicy, SinkGuarantee

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")


class Mode(StrEnum):
    """How a stream runs."""

    LIVE = "live"
    """A query that is always meant to run."""


class TriggerKind(StrEnum):
    """When Spark starts the next batch."""

    PROCESSING_TIME = "processing_time"
    DEFAULT = "default"
    """As soon as the batch before is done."""
    AVAILABLE_NOW = "available_now"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The trigger of the live query."""

    kind: TriggerKind = TriggerKind.PROCESSING_TIME
    interval: timedelta = timedelta(seconds=10)
    """For processing time only."""

    def __post_init__(self) -> None:
        if self.interval < timedelta(0):
            raise ValueError("the trigger interval must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    """Where the records come from."""

    bootstrap_servers: str
    topics: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    """Options of Spark's Kafka source, as Spark names them."""
    connection: str = ""
    """Id of an Airflow connection of type `kafka` with the credentials for looking at the topics; used inside Airflow only."""
    tolerated_outage: timedelta = timedelta(0)
    """How long the stream may be down without a loss, as its owner says; zero where nobody has said."""

    def __post_init__(self) -> None:
        if self.tolerated_outage < timedelta(0):
            raise ValueError("the tolerated outage must not be negative")

    @property
    def fails_on_data_loss(self) -> bool:
        """Whether lost records are an error: Spark's `failOnDataLoss`, true unless it is declared otherwise."""
        given = {name.lower(): value for name, value in self.options}
        return given.get("failondataloss", "true").strip().lower() != "false"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSpec:
    """Where the rows go."""

    table: str
    """Canonical address of the Delta table."""
    dead_letters: str
    """Canonical address of the Delta table for records that can't be parsed."""
    guarantee: SinkGuarantee = SinkGuarantee.IDEMPOTENT


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """One stream as it is declared."""

    name: str
    job: str
    """Path of the job's Python file."""
    source: KafkaSource
    sink: SinkSpec
    checkpoint: str
    """Canonical address."""
    mode: Mode = Mode.LIVE
    trigger: Trigger = field(default_factory=Trigger)
    launch: LaunchSpec = field(default_factory=LaunchSpec)
    restart: RestartPolicy = field(default_factory=RestartPolicy)
    stall: StallPolicy = field(default_factory=StallPolicy)
    timings: Timings = field(default_factory=Timings)
    description: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name {self.name!r}: lower-case letters, digits and underscores, a letter first")


def is_stream_name(text: str) -> bool:
    """Whether a stream may be called that: the name is part of file names, DAG ids and process lists."""
    return bool(_NAME.fullmatch(text))
