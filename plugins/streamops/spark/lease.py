"""The driver's hold on its claim: beat, then read the log, and end itself where no beat can be shown.

A supervisor appends its claim and *then* reads beats; a driver writes its beat and *then* reads the log. Whoever comes
second sees the other.
"""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from streamops.clock import Clock
from streamops.control import codec
from streamops.control.drivers import ExitRecord, Heartbeat, driver_instances
from streamops.control.follow import ClaimWatch, LeaseState
from streamops.control.layout import EXIT, HEARTBEAT, PROGRESS, driver_folder
from streamops.errors import StorageError
from streamops.spark.driver_process import CappedLog
from streamops.spark.report import DriverReport
from streamops.storage import FileKind, WritableStorage, join, write_file

log = logging.getLogger(__name__)

_TICK = timedelta(milliseconds=500)


class DriverProcesses:
    """JVM and Python of this driver, to be killed together.

    The JVM is held by a pidfd from now on: Python may outlive it by the halt time, and its number may be another process'
    by then. Made while the JVM is known to live.
    """

    def __init__(self, jvm_pid: int) -> None:
        self._jvm_pid = jvm_pid
        self._jvm = _pidfd(jvm_pid)

    def kill(self) -> None:
        """SIGKILL to the JVM, then to this very process, or the JVM would live on. Does no I/O."""
        self.kill_jvm()
        os.kill(os.getpid(), signal.SIGKILL)

    def kill_jvm(self) -> None:
        """SIGKILL to the JVM alone; nothing happens when it is gone."""
        with suppress(ProcessLookupError):
            if self._jvm is None:
                os.kill(self._jvm_pid, signal.SIGKILL)
            else:
                signal.pidfd_send_signal(self._jvm, signal.SIGKILL)


def _pidfd(pid: int) -> int | None:
    """A hold on the process with this number; None where the system has no pidfd: Linux before 5.3, a filter of system
    calls that does not know it, a Python that was built without it. ProcessLookupError where there is no such process."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError) as error:
        log.warning(
            "no pidfd of the JVM (%s): should it have to be killed, its number %d is all that names it", error, pid
        )
        return None


class Watchdog:
    """A thread without I/O and without py4j, since either can hang just when it is needed.

    It kills the driver when more than the halt time has passed since the *start* of the last beat that was acknowledged:
    an answer can be late, and what counts is when it was asked. A graceful stop can hang, so `kill` is to be a SIGKILL.
    """

    def __init__(self, *, clock: Clock, halt: timedelta, kill: Callable[[], None]) -> None:
        self._clock = clock
        self._halt = halt
        self._kill = kill
        self._acknowledged = clock.monotonic()
        self._ended = False
        self._thread = threading.Thread(target=self._watch, name="streamops-watchdog", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def acknowledge(self, beat_started: timedelta) -> None:
        """A beat that was begun at this monotonic moment has been written and the claim was found to hold."""
        self._acknowledged = beat_started

    def stand_down(self) -> None:
        """The query has ended: there is nothing left to guard."""
        self._ended = True

    def is_overdue(self) -> bool:
        """Whether the halt time has passed since the last acknowledged beat began."""
        return self._clock.monotonic() - self._acknowledged > self._halt

    def _watch(self) -> None:
        while not self._ended:
            if self.is_overdue():
                self._kill()
            time.sleep(_TICK.total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverIdentity:
    """Which driver this is."""

    control: str
    record: int
    """Number of the claim's record in the control log."""
    epoch: int
    token: str
    instance: str
    """Random for each process: a manager that restarts a driver behind our back makes a second instance."""
    application_id: str
    host: str = field(default_factory=socket.gethostname)
    boot_id: str = field(default_factory=lambda: _told(Path("/proc/sys/kernel/random/boot_id").read_text))
    pid_namespace: str = field(default_factory=lambda: _told(lambda: os.readlink("/proc/self/ns/pid")))
    uid: int = field(default_factory=os.geteuid)


def _told(ask: Callable[[], str]) -> str:
    """What `/proc` says; empty where it does not: a driver runs without it."""
    try:
        return ask().strip()
    except OSError:
        return ""


class Lease:
    """Shows life and learns where the driver stands."""

    def __init__(
        self, storage: WritableStorage, identity: DriverIdentity, report: DriverReport, *, clock: Clock
    ) -> None:
        self._storage = storage
        self._identity = identity
        self._report = report
        self._clock = clock
        self._folder = driver_folder(identity.control, identity.epoch, identity.instance)
        self._sequence = 0
        self._lock = threading.Lock()
        self.watch = ClaimWatch(storage, identity.control, number=identity.record, token=identity.token)

    def first_beat(self) -> LeaseState:
        """The beat before anything else; lost too when another instance of this epoch has been here before."""
        standing = self.beat()
        others = [
            instance
            for epoch, instance in driver_instances(self._storage, self._identity.control)
            if epoch == self._identity.epoch and instance != self._identity.instance
        ]
        if others and standing.holds_claim:
            return LeaseState(lost=f"epoch {self._identity.epoch} was already run by instance {', '.join(others)}")
        return standing

    def beat(self) -> LeaseState:
        """Write the next beat and the new progress, then read the log. StorageError: the beat does not count."""
        with self._lock:
            self._sequence += 1
            state = self._report.state()
            heartbeat = Heartbeat(
                epoch=self._identity.epoch,
                instance=self._identity.instance,
                token=self._identity.token,
                sequence=self._sequence,
                phase=state.phase,
                at=self._clock.now().isoformat(),
                host=self._identity.host,
                pid=os.getpid(),
                query_id=state.query_id,
                batch=state.batch,
                application_id=self._identity.application_id,
                phase_seconds=state.phase_seconds,
                report_age_seconds=state.report_age_seconds,
                executors=state.executors,
                queries=state.queries,
                boot_id=self._identity.boot_id,
                pid_namespace=self._identity.pid_namespace,
                uid=self._identity.uid,
            )
            write_file(self._storage, FileKind.HEARTBEAT, join(self._folder, HEARTBEAT), codec.encode(heartbeat))
            standing = self.watch.look()
            self._write_progress()
            return standing

    def leave(self, record: ExitRecord) -> None:
        """Write the exit record and the last progress. StorageError."""
        self._write_progress()
        write_file(self._storage, FileKind.EXIT, join(self._folder, EXIT), codec.encode(record))

    def _write_progress(self) -> None:
        progress = self._report.take_progress()
        if progress is None:
            return
        try:
            write_file(self._storage, FileKind.PROGRESS, join(self._folder, PROGRESS), progress)
        except StorageError as error:
            self._report.keep_progress()
            log.warning("progress of epoch=%d not written: %s", self._identity.epoch, error)


class BeatThread:
    """Beats at a fixed pace, feeds the watchdog, and keeps what the log said last."""

    def __init__(
        self,
        lease: Lease,
        watchdog: Watchdog,
        log_file: CappedLog,
        *,
        clock: Clock,
        interval: timedelta,
        on_lost: Callable[[LeaseState], None],
    ) -> None:
        self._lease = lease
        self._watchdog = watchdog
        self._log_file = log_file
        self._clock = clock
        self._interval = interval
        self._on_lost = on_lost
        self._ending = threading.Event()
        self._standing = LeaseState()
        self._thread = threading.Thread(target=self._run, name="streamops-beat", daemon=True)

    def start(self) -> None:
        """Beat from now on."""
        self._thread.start()

    @property
    def standing(self) -> LeaseState:
        """What the log said at the last beat that succeeded."""
        return self._standing

    def end(self) -> None:
        """Stop beating."""
        self._ending.set()

    def _run(self) -> None:
        while not self._ending.wait(self._interval.total_seconds()):
            self._log_file.cap()
            self._beat()
            if not self._standing.holds_claim:
                self._on_lost(self._standing)
                return

    def _beat(self) -> None:
        started = self._clock.monotonic()
        try:
            self._standing = self._lease.beat()
        except StorageError as error:
            log.warning("beat failed, the driver halts unless one succeeds in time: %s", error)
            return
        if self._standing.holds_claim:
            self._watchdog.acknowledge(started)
