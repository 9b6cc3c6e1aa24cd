"""The driver's hold on its claim: beat, then read the log, and never the other way round.

A supervisor appends its claim and *then* reads beats; a driver writes its beat and *then* reads the log. Whoever comes
second sees the other.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from streamops.clock import Clock
from streamops.control import codec
from streamops.control.drivers import ExitRecord, Heartbeat, driver_instances
from streamops.control.follow import ClaimWatch, LeaseState
from streamops.control.layout import EXIT, HEARTBEAT, PROGRESS, driver_folder
from streamops.errors import StorageError
from streamops.spark.report import DriverReport
from streamops.storage import FileKind, WritableStorage, join, write_file

log = logging.getLogger(__name__)


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
