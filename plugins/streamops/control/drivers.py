"""What drivers leave in their own folders: heartbeat, progress, exit record."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from streamops.control import codec
from streamops.control.layout import DRIVER_FOLDER, EXIT, HEARTBEAT, driver_folder, drivers_folder
from streamops.control.records import Outcome
from streamops.errors import CorruptRecordError, ObjectNotFoundError, ObjectUnreadableError
from streamops.storage import FileKind, ReadableStorage, join, read_file

T = TypeVar("T")


class DriverPhase(StrEnum):
    """What a driver says it is doing."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class QueryStep(StrEnum):
    """What one query is at, in words that outlive Spark's own."""

    STARTING = "starting"
    """Its sources and its position are being read."""
    WAITING = "waiting"
    """Between two triggers."""
    PLANNING = "planning"
    """It asks its sources what there is to read, and writes the plan of a batch down."""
    BATCH = "batch"
    """It runs a batch."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryBeat:
    """One query of a driver, as the driver saw it last. Seconds are differences of the driver's own monotonic clock."""

    query_id: str
    name: str
    step: QueryStep
    step_seconds: float
    """Since its step, its message or its progress last changed: nothing of it has moved for so long."""
    progress_seconds: float
    """Since its progress was last renewed, or since it started. An idle query renews it every 10 s (Spark 4.2)."""
    batch: int = -1
    """The newest batch that it has run under this driver; -1 before the first."""
    batches: int = 0
    """How many it has run under this driver."""
    input_rows: int = 0
    """Rows that they read, all sources together (Spark's numInputRows)."""
    is_exact: bool = False
    """Whether `batch` and `batches` rest on progress events alone, and all of them could be read."""
    message: str = ""
    """Spark's own words, cut."""

    @property
    def still(self) -> timedelta:
        """Since the freshest sign of life: an idle query writes no offsets, a long batch renews no progress."""
        return timedelta(seconds=min(self.step_seconds, self.progress_seconds))

    def is_planning_for(self, moment: timedelta) -> bool:
        """Whether it has been planning its next batch for so long."""
        return self.step is QueryStep.PLANNING and self.still >= moment

    def is_busy_for(self, moment: timedelta) -> bool:
        """Whether it has been planning, or at one batch, for so long."""
        return self.step in (QueryStep.PLANNING, QueryStep.BATCH) and self.still >= moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Replaced at every beat. Only a moving sequence number shows life; the wall clock is for people."""

    epoch: int
    instance: str
    token: str
    sequence: int
    phase: DriverPhase
    at: str
    host: str
    pid: int
    query_id: str = ""
    batch: int = -1
    """The newest batch that the query has run; -1 before the first."""
    application_id: str = ""
    phase_seconds: float = 0.0
    """Since the phase began; like every duration here by the driver's own monotonic clock."""
    report_age_seconds: float = 0.0
    """Since the driver last looked at its queries. It looks twice a second: an old look means that Spark does not answer."""
    executors: int = -1
    """Executors that the driver has, counted every few seconds; -1 where it does not know."""
    queries: tuple[QueryBeat, ...] = ()
    """The stream's own query first, then its companions; empty before they start, and from drivers of older versions."""
    boot_id: str = ""
    """With `pid_namespace` and `uid` it tells from where the driver can be seen, as in a DriverHandle; empty from drivers of
    older versions, and where `/proc` does not tell."""
    pid_namespace: str = ""
    uid: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitRecord:
    """Written once, as the last thing: it gives the reason of an end, never the proof."""

    epoch: int
    instance: str
    outcome: Outcome
    at: str
    error_classes: tuple[str, ...] = ()
    text: str = ""
    batch: int = -1
    input_rows: int = -1
    """Rows that the stream's own query has read under this driver; -1 where it does not tell."""
    is_batch_final: bool = False
    """Whether `batch` was read after the query had ended, from progress without a gap: nothing that this driver planned
    is newer than the batch behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverTraces:
    """What one instance of a driver has left so far."""

    epoch: int
    instance: str
    heartbeat: Heartbeat | None
    exit: ExitRecord | None
    is_readable: bool = True
    """False when a file is there that can't be read: known to have been there, not known what it says."""

    @property
    def hides_beat(self) -> bool:
        """Whether it may beat unseen: a beat is there that can't be read, so nobody knows whether it moves."""
        return self.heartbeat is None and not self.is_readable


def read_traces(storage: ReadableStorage, control: str, epoch: int) -> tuple[DriverTraces, ...]:
    """The traces of every instance of an epoch; more than one means that a manager restarted it behind our back."""
    return traces_among(driver_instances(storage, control), storage, control, epoch)


def traces_among(
    instances: Sequence[tuple[int, str]], storage: ReadableStorage, control: str, epoch: int
) -> tuple[DriverTraces, ...]:
    """As `read_traces`, for whoever has the list of instances already."""
    return tuple(
        _read_instance(storage, control, found_epoch, instance)
        for found_epoch, instance in instances
        if found_epoch == epoch
    )


def read_heartbeat(storage: ReadableStorage, control: str, epoch: int, instance: str) -> Heartbeat | None:
    """The beat of one instance, read alone; None where there is none that can be read."""
    address = join(driver_folder(control, epoch, instance), HEARTBEAT)
    return _read(storage, Heartbeat, FileKind.HEARTBEAT, address)[0]


def driver_instances(storage: ReadableStorage, control: str) -> tuple[tuple[int, str], ...]:
    """Epoch and instance of every driver that ever wrote a beat here, by epoch."""
    names = storage.list(drivers_folder(control))
    return tuple(sorted((int(match[1]), match[2]) for name in names if (match := DRIVER_FOLDER.match(name))))


def highest_epoch(instances: Iterable[tuple[int, str]]) -> int:
    """The highest epoch of which a driver ever left a trace; 0 for none."""
    return max((epoch for epoch, _ in instances), default=0)


def _read_instance(storage: ReadableStorage, control: str, epoch: int, instance: str) -> DriverTraces:
    folder = driver_folder(control, epoch, instance)
    heartbeat, is_beat_readable = _read(storage, Heartbeat, FileKind.HEARTBEAT, join(folder, HEARTBEAT))
    exit_record, is_exit_readable = _read(storage, ExitRecord, FileKind.EXIT, join(folder, EXIT))
    return DriverTraces(
        epoch=epoch,
        instance=instance,
        heartbeat=heartbeat,
        exit=exit_record,
        is_readable=is_beat_readable and is_exit_readable,
    )


def _read(storage: ReadableStorage, kind: type[T], file: FileKind, address: str) -> tuple[T | None, bool]:
    """What a file says, and whether what is there can be read.

    A file that does not parse, is too large, is a folder, or is closed to this user (EACCES) is a fact about one driver, and no
    reason to lose sight of its stream: its process and its other files still tell. A storage that does not answer is an error.
    """
    try:
        return codec.decode(kind, read_file(storage, file, address), address=address), True
    except ObjectNotFoundError:
        return None, True
    except (CorruptRecordError, ObjectUnreadableError):
        return None, False
