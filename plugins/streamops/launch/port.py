"""What the supervisor asks of a place where drivers run."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from streamops.control.drivers import DriverTraces, Heartbeat
from streamops.control.records import DriverHandle
from streamops.storage import FileAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitRequest:
    """One spark-submit. Knows no spec: whoever asks has resolved everything."""

    token: str
    """Names the driver: it is one of the application's arguments, and `find` looks for it."""
    name: str
    spark_submit: str
    master: str
    deploy_mode: str
    application: str
    arguments: tuple[str, ...]
    conf: tuple[tuple[str, str], ...] = ()
    jars: tuple[str, ...] = ()
    py_files: tuple[str, ...] = ()
    queue: str = ""
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Added to what the driver inherits; may hold secrets, hence not in the repr and never in the arguments."""
    variables: tuple[str, ...] = ()
    """Names of environment variables that the driver inherits besides those that all drivers do; `AWS_*` for all alike."""
    log: str
    """Path of the file that takes the driver's stdout and stderr."""
    folder: str
    """Working directory of the driver."""
    access: FileAccess = FileAccess.OWNER
    """Who may read the log."""


class DriverState(StrEnum):
    """What the place says about a driver."""

    RUNNING = "running"
    BROKEN = "broken"
    """Its main process is gone, others of it still live: it can only be killed."""
    ENDED = "ended"
    """Proven: nothing of it lives."""
    GONE = "gone"
    """A manager elsewhere says that it ended: one sign of two, since managers are wrong at times."""
    UNKNOWN = "unknown"
    """The place can't tell, or it can't be asked from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverStatus:
    """An answer of the launcher and what it rests on."""

    state: DriverState
    evidence: str
    exit_code: int | None = None
    """Of an ended driver, where the place knows it: a local one only tells its parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDriver:
    """A living driver and what its own arguments say."""

    handle: DriverHandle
    control: str
    epoch: int
    token: str


class Launcher(Protocol):
    """Starts drivers that outlive the process that started them."""

    def missing(self, variables: tuple[str, ...]) -> tuple[str, ...]:
        """Of the variables that a stream declares those that a driver started from here would not have."""
        ...

    def submit(self, request: SubmitRequest) -> DriverHandle:
        """Start the driver, return at once; called at most once for a token. LaunchError when it did not start."""
        ...

    def find(self, token: str) -> tuple[DriverHandle, ...]:
        """Living drivers that carry the token, as far as this place can see."""
        ...

    def living(self) -> tuple["FoundDriver", ...]:
        """Every living driver of streamops that this place can see, whoever started it."""
        ...

    def why_unseen(self, beat: Heartbeat) -> str:
        """Why a living driver that beats like this may not show up in `find` and `living`; empty where it would.

        Where it may not, that neither shows it says nothing.
        """
        ...

    def poll(self, handle: DriverHandle) -> DriverStatus:
        """Whether the driver lives. Never raises for a driver that is gone."""
        ...

    def stop(self, handle: DriverHandle) -> None:
        """Ask the driver to end (SIGTERM); nothing happens when it has ended."""
        ...

    def kill(self, handle: DriverHandle) -> None:
        """End every process of the driver without asking (SIGKILL); poll says when it is done."""
        ...


def why_unseen(launcher: Launcher, traces: Iterable[DriverTraces]) -> str:
    """Why a living driver that left one of these may not be found from here; empty where it would be.

    A folder without a beat is of one that has not read the log since, and halts when it does.
    """
    for trace in traces:
        if not trace.is_readable:
            return f"what instance {trace.instance} wrote can't be read, so where it runs isn't known"
        if trace.heartbeat and (reason := launcher.why_unseen(trace.heartbeat)):
            return reason
    return ""
