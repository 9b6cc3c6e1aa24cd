"""Seeing the drivers of streams from outside: in the process table, not through the suite's own eyes."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from streamops.errors import LaunchError
from streamops.launch.processes import PROC, ProcessStat, read_stat, reap, send_signal
from streamops_sandbox.errors import SandboxError

_SAMPLE_SECONDS = 0.1
_KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveDriver:
    """A driver process group: the JVM that leads it and the job's Python."""

    epoch: int
    leader: int
    members: tuple[ProcessStat, ...]

    @property
    def jvm(self) -> ProcessStat | None:
        """The leader while it lives."""
        return next((member for member in self.members if member.pid == self.leader), None)

    @property
    def python(self) -> ProcessStat | None:
        """The job's Python, a child of the JVM; None before the JVM has started it."""
        return next((member for member in self.members if member.pid != self.leader), None)

    @property
    def identity(self) -> tuple[int, int]:
        """Epoch and leader: another pair is another driver."""
        return self.epoch, self.leader


def live_drivers(control: str) -> tuple[LiveDriver, ...]:
    """The drivers of the stream with this control folder that have a living process, by epoch."""
    return live_drivers_of((control,))[control]


def live_drivers_of(controls: Iterable[str]) -> dict[str, tuple[LiveDriver, ...]]:
    """The living drivers of several streams, seen in one pass over the process table."""
    members: dict[int, list[ProcessStat]] = {}
    found: dict[str, dict[int, int]] = {control: {} for control in controls}
    for stat in _living_processes():
        members.setdefault(stat.group, []).append(stat)
        control, epoch = _claim_of(stat.pid)
        if control in found:
            found[control][stat.group] = epoch
    return {
        control: tuple(
            LiveDriver(epoch=epoch, leader=group, members=tuple(members[group]))
            for group, epoch in sorted(groups.items(), key=lambda item: item[1])
        )
        for control, groups in found.items()
    }


def _living_processes() -> Iterator[ProcessStat]:
    for name in os.listdir(PROC):
        with contextlib.suppress(LaunchError):  # another user's, and hidden
            if name.isdigit() and (stat := read_stat(int(name))) and stat.is_alive:
                yield stat


def _claim_of(pid: int) -> tuple[str, int]:
    """Control folder and epoch in the arguments of a driver; nothing for any other process."""
    try:
        arguments = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        control = arguments[arguments.index(b"--control") + 1].decode()
        return control, int(arguments[arguments.index(b"--epoch") + 1])
    except (OSError, ValueError, IndexError):
        return "", 0


class DoubleWriterWatch:
    """Samples the process table all the time and keeps every set of drivers of one stream that lived at once."""

    def __init__(self, *controls: str) -> None:
        self._controls = controls
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.pairs: set[tuple[str, tuple[int, ...]]] = set()
        """Control folder and epochs."""
        self.samples = 0

    def __enter__(self) -> "DoubleWriterWatch":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            seen = live_drivers_of(self._controls)
            self.samples += 1
            for control, drivers in seen.items():
                if len(drivers) > 1:
                    self.pairs.add((control, tuple(driver.epoch for driver in drivers)))


def kill_drivers_below(address: str) -> None:
    """SIGKILL for every driver whose control folder lies below an address: what a crashed experiment has left.

    Raises SandboxError when they do not end.
    """
    end = time.monotonic() + _KILL_SECONDS
    # Again until none is left: a member may have forked between the look and the signal.
    while remains := _members_below(address.rstrip("/") + "/"):
        if time.monotonic() > end:
            raise SandboxError(f"drivers below {address} do not end on SIGKILL: {[member.pid for member in remains]}")
        for member in remains:
            send_signal(member.pid, start_ticks=member.start_ticks, signal_number=signal.SIGKILL)
            reap(member.pid)
        time.sleep(_SAMPLE_SECONDS)


def _members_below(prefix: str) -> tuple[ProcessStat, ...]:
    alive = tuple(_living_processes())
    groups = {stat.group for stat in alive if _claim_of(stat.pid)[0].startswith(prefix)}
    return tuple(stat for stat in alive if stat.group in groups)


def parent_of(pid: int) -> int | None:
    """The parent of a living process."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("PPid:")), None)


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
