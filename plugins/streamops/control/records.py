"""The words of the control log, one frozen dataclass a kind.

Records are never changed and live as long as the checkpoint, so this is a wire format: a field may be added with a
default, nothing may be renamed or removed, and a record that an older reader would misunderstand says so in `min_reader`.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, get_args

READER_VERSION = 1
"""What this version understands; a record with a higher `min_reader` must not be folded by it."""


class ClaimMode(StrEnum):
    """What a claim on the checkpoint is for."""

    LIVE = "live"
    CATCHUP = "catchup"
    BACKFILL = "backfill"
    ACT = "act"


class Outcome(StrEnum):
    """How a driver ended, as recorded by the supervisor that made sure of it."""

    FINISHED = "finished"
    """The query ended by itself without an error."""
    STOPPED = "stopped"
    """It obeyed a stop request."""
    FAILED = "failed"
    """It left an exit record with an error."""
    DIED = "died"
    """It is gone and left no exit record: killed, out of memory, host trouble."""
    KILLED = "killed"
    """The supervisor killed it: hung, or over the grace of a stop request."""
    LEASE_LOST = "lease-lost"
    """It halted because a newer claim exists, or because it could not read the log, or its job's file is not the
    one that it claims."""
    LAUNCH_FAILED = "launch-failed"
    """The submit itself failed, or the driver ended before its first beat."""
    NEVER_STARTED = "never-started"
    """Claimed but never submitted as far as anybody can tell; should it appear after all, it sees the newer claim and halts."""
    CONFIRMED_DEAD = "confirmed-dead"
    """A person vouched for its end where the machine could not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverHandle:
    """How to find a submitted driver again.

    For a local process: host, boot id and pid namespace say where the pid has a meaning; `process` is
    "<pid>:<start ticks>" of the group's leader, so that a reused number is never taken for it. `uid` is whose it is: on
    some hosts a process is hidden from other users. -1 where it isn't known, as in older records.
    """

    launcher: str
    host: str = ""
    boot_id: str = ""
    pid_namespace: str = ""
    process: str = ""
    log: str = ""
    uid: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The newest batch ids of the checkpoint's two logs at one moment; -1 where a log is empty."""

    query_id: str = ""
    offset: int = -1
    commit: int = -1
    companions: tuple["Position", ...] = ()
    """Of the further queries in the same driver, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSeen:
    """A topic as a start found it: one that is deleted and created again has the same name and another id."""

    topic: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """A checkpoint with history but without a log was taken over by a person's word."""

    kind: ClassVar[str] = "adopted"
    stream: str
    position: Position
    epochs_seen: int = 0
    """The highest epoch that ever left a trace here: the next claim goes above it, or its driver would take the folder
    of an earlier one for a second instance of itself."""
    from_stream: str = ""
    """Whose log it was until now, where a stream takes it over under another name; empty where the owner stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """An epoch begins: its driver, and nobody else, may start batches."""

    kind: ClassVar[str] = "claimed"
    stream: str
    epoch: int
    token: str
    mode: ClaimMode
    position: Position
    spec: str
    """The resolved spec as JSON text, without secrets: what the driver runs, and what `status` compares."""
    job_sha256: str
    library_version: str
    accepts_unsafe: bool = False
    """Whether a person accepted this start although its plan was not safe."""
    is_unsafe: bool = False
    """Whether its plan, which the reason tells, was not safe: without that word it would not have been made."""
    given_up: int = 0
    """Offsets of Kafka that it passes over although they were needed: at most so many records."""
    topics: tuple[TopicSeen, ...] = ()
    """Of the source, as the start found them; those of which the cluster did not tell are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The one submit of an epoch was made."""

    kind: ClassVar[str] = "submitted"
    epoch: int
    handle: DriverHandle
    bundle: str = ""
    """Name of the library that the driver was given and reads as long as it lives; empty where that was not noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillBegun:
    """The driver of an epoch is about to be killed by a supervisor: hung, superseded, or over the grace of a stop."""

    kind: ClassVar[str] = "kill_begun"
    epoch: int
    foreign_batch: int | None = None
    """The batch that somebody else planned in the checkpoint while this driver ran: the reason for the kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverEnded:
    """The driver of an epoch is proven to be gone."""

    kind: ClassVar[str] = "driver_ended"
    epoch: int
    outcome: Outcome
    position: Position
    error_classes: tuple[str, ...] = ()
    text: str = ""
    """Of its exit record; without one the end of its log."""
    instance: str = ""
    failure_class: str = ""
    """What went wrong, as judged when the end was recorded (`restart.FailureClass`)."""
    remedy: str = ""
    """What a restart can do about it (`restart.Remedy`)."""
    last_sign_at: datetime | None = None
    """Its last beat or exit record, by the driver's own clock: no batch of its own was planned much later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested:
    """From now on the stream is meant to stand still; a living driver stops between two batches."""

    kind: ClassVar[str] = "stop_requested"
    epoch: int
    """The epoch that was newest when it was asked; 0 when none was."""
    force: bool = False
    """Whether the driver is killed at once instead of being given the grace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequested:
    """From now on the stream is meant to run again."""

    kind: ClassVar[str] = "start_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartRequested:
    """The driver of an epoch is to be replaced by one with the present declaration and job file.

    It counts for that epoch and older ones only: a newer one has begun after it was asked.
    """

    kind: ClassVar[str] = "restart_requested"
    epoch: int
    force: bool = False
    """Whether the driver is killed at once instead of being given the grace."""
    is_stuck: bool = False
    """Asked by a supervisor, because the driver lives and gets nowhere: its end counts as a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceBegun:
    """The stream is somebody's until then: a live query yields.

    With `run` a bounded run is made meanwhile, and its end is the end of the maintenance, too. A version that knows nothing
    of runs keeps the live query away and ends the run's driver as well: all of them are upgraded before the first run.
    """

    kind: ClassVar[str] = "maintenance_begun"
    until: datetime
    run: ClaimMode | None = None
    """What is run meanwhile; None for nothing."""
    estimated_seconds: float | None = None
    """How long the run was expected to take, where anybody could tell."""
    is_once: bool = False
    """Whether the run is to finish the batch in flight and no more, by the trigger `once`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceEnded:
    """The live query may run again; a driver of a bounded run that still lives stops between two batches."""

    kind: ClassVar[str] = "maintenance_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """No more restarts until a person releases the stream."""

    kind: ClassVar[str] = "parked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A person looked, and the failures so far are forgotten.

    `accepts_unsafe` lets exactly the next start pass although its plan is not safe.
    """

    kind: ClassVar[str] = "released"
    accepts_unsafe: bool = False
    accepts_expired: bool = False
    """Whether that start passes over records that Kafka has deleted: its driver gets `failOnDataLoss` false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A person knows of the unsafe starts up to this epoch: nobody need be reminded of them."""

    kind: ClassVar[str] = "acknowledged"
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ActBegun:
    """A destructive act begins; `plan` names what was approved."""

    kind: ClassVar[str] = "act_begun"
    act: str
    plan: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActEnded:
    """A destructive act ended, well or not."""

    kind: ClassVar[str] = "act_ended"
    act: str
    plan: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChanged:
    """The checkpoint is judged otherwise than before. It decides nothing: who runs and who may write stays as it was."""

    kind: ClassVar[str] = "verdict_changed"
    after: str
    """As `health.Verdict` spells it."""
    before: str = ""
    """Empty where no verdict was on record."""
    rules: tuple[str, ...] = ()
    """Ids of the rules that make the verdict, worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownBody:
    """A kind that a newer version wrote and that this one may skip: counted, not understood."""

    kind: str


Body = (
    Adopted
    | Claimed
    | Submitted
    | KillBegun
    | DriverEnded
    | StopRequested
    | StartRequested
    | RestartRequested
    | MaintenanceBegun
    | MaintenanceEnded
    | Parked
    | Released
    | Acknowledged
    | ActBegun
    | ActEnded
    | VerdictChanged
    | UnknownBody
)

KNOWN_BODIES: dict[str, type] = {body.kind: body for body in get_args(Body) if body is not UnknownBody}


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who appends: a supervisor, an Airflow task, a person."""

    actor: str
    """For example `person:ana`, `airflow:stream__orders/supervise`, `supervise`."""
    host: str
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One entry of the log: who, when, why, and what."""

    number: int
    at: datetime
    by: Author
    reason: str
    nonce: str
    """Random, so that the writer of a create whose answer got lost can tell its own record from another's."""
    body: Body
    min_reader: int = READER_VERSION
