"""Seeing the drivers of one stream from outside: in the process table, not through the suite's own eyes."""

import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

from streamops.launch.processes import PROC, live_group, read_stat

_SAMPLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveDriver:
    """A driver process group: the JVM that leads it and the job's Python."""

    epoch: int
    leader: int
    members: tuple[int, ...]


def live_drivers(control: str) -> tuple[LiveDriver, ...]:
    """The drivers of the stream with this control folder that have a living process, by epoch."""
    groups: dict[int, int] = {}
    for name in os.listdir(PROC):
        if not name.isdigit():
            continue
        epoch = _epoch_of(int(name), control)
        stat = read_stat(int(name)) if epoch else None
        if epoch and stat and stat.is_alive:
            groups[stat.group] = epoch
    drivers = (
        LiveDriver(epoch=epoch, leader=group, members=tuple(member.pid for member in live_group(group)))
        for group, epoch in groups.items()
    )
    return tuple(sorted((driver for driver in drivers if driver.members), key=lambda driver: driver.epoch))


def _epoch_of(pid: int, control: str) -> int:
    """The epoch in the arguments of a driver of this stream; 0 for any other process."""
    try:
        arguments = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return 0
    if b"--control" not in arguments or control.encode() not in arguments:
        return 0
    return int(arguments[arguments.index(b"--epoch") + 1])


class DoubleWriterWatch:
    """Samples the process table all the time and keeps every pair of drivers that lived at once."""

    def __init__(self, control: str) -> None:
        self._control = control
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.pairs: set[tuple[int, ...]] = set()
        self.samples = 0

    def __enter__(self) -> "DoubleWriterWatch":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            epochs = tuple(driver.epoch for driver in live_drivers(self._control))
            self.samples += 1
            if len(epochs) > 1:
                self.pairs.add(epochs)


def is_alive(pid: int) -> bool:
    """Whether a process still runs code."""
    stat = read_stat(pid)
    return stat is not None and stat.is_alive


def kill(pid: int) -> bool:
    """SIGKILL; False when the process has ended meanwhile."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def process_titled(title: str) -> int | None:
    """The process whose whole command line is this text, as setproctitle leaves it; None when there is none."""
    for entry in Path(PROC).iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace")
        except OSError:
            continue
        if text == title and is_alive(int(entry.name)):
            return int(entry.name)
    return None
