"""Who a local process is, whether it still lives, and how to signal it and nobody else.

A pid alone proves nothing: numbers are reused, and they mean different processes in another container or after a
reboot. A process is therefore named by host, boot id, pid namespace, pid and start ticks (`/proc/<pid>/stat`, field 22),
and signalled through a pidfd that was opened before the start ticks were compared.
"""

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamops.errors import LaunchError

PROC = Path("/proc")
DEAD_STATES = frozenset("ZXx")
"""States of `/proc/<pid>/stat` in which a process runs no code any more: zombie and dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostIdentity:
    """Where a pid has a meaning: equal identities see the same processes under the same numbers."""

    host: str
    boot_id: str
    pid_namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStat:
    """One line of `/proc/<pid>/stat`, as far as it is needed."""

    pid: int
    state: str
    group: int
    session: int
    start_ticks: int
    threads: int

    @property
    def is_alive(self) -> bool:
        """Whether the process can still run code.

        A zombie cannot, unless it is only the first thread of a process whose others are still about to die: a killed
        JVM is seen like that for some milliseconds, with its sockets and files still open.
        """
        return self.state not in DEAD_STATES or self.threads > 1


def this_host() -> HostIdentity:
    """The identity of the place where this process runs; LaunchError where `/proc` does not tell."""
    try:
        return HostIdentity(
            host=socket.gethostname(),
            boot_id=(PROC / "sys/kernel/random/boot_id").read_text().strip(),
            pid_namespace=os.readlink(PROC / "self/ns/pid"),
        )
    except OSError as error:
        raise LaunchError(f"cannot tell this host's boot id and pid namespace from /proc: {error}") from error


def read_stat(pid: int) -> ProcessStat | None:
    """The process with this number, or None when there is none. LaunchError when `/proc` hides it (hidepid)."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except PermissionError as error:
        raise LaunchError(f"/proc hides process {pid} from this user: run as the user that started it") from error
    # The command name may hold spaces and parentheses: the fields start behind the last one.
    fields = text[text.rindex(")") + 2 :].split()
    return ProcessStat(
        pid=pid,
        state=fields[0],
        group=int(fields[2]),
        session=int(fields[3]),
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
    )


def live_process(pid: int, *, start_ticks: int) -> ProcessStat | None:
    """The process with this number and this start, or None when it has ended."""
    stat = read_stat(pid)
    return stat if stat and stat.is_alive and stat.start_ticks == start_ticks else None


def live_group(group: int) -> tuple[ProcessStat, ...]:
    """The living members of a process group, zombies left out."""
    return tuple(stat for stat in _all_processes() if stat.group == group and stat.is_alive)


def processes_with_argument(argument: str) -> tuple[tuple[ProcessStat, tuple[str, ...]], ...]:
    """Living processes that were started with exactly this argument, each with all its arguments."""
    wanted = argument.encode()
    found = ((stat, _arguments(stat.pid)) for stat in _all_processes() if stat.is_alive)
    return tuple(
        (stat, tuple(part.decode(errors="replace") for part in arguments))
        for stat, arguments in found
        if wanted in arguments
    )


def send_signal(pid: int, *, start_ticks: int, signal_number: signal.Signals) -> bool:
    """Signal this very process; False when it has already ended.

    The pidfd is opened first and the start compared after, so the number cannot be reused in between.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if live_process(pid, start_ticks=start_ticks) is None:
            return False
        signal.pidfd_send_signal(pidfd, signal_number)
    except ProcessLookupError:
        return False
    except PermissionError as error:
        raise LaunchError(f"not allowed to signal process {pid}: run as the user that started it") from error
    finally:
        os.close(pidfd)
    return True


def reap(pid: int) -> int | None:
    """Collect a finished child, so that a long-lived parent leaves no zombies; its exit code.

    Negative for the signal that ended it, as `subprocess` has it. None for a child that runs and for other processes.
    """
    with contextlib.suppress(ChildProcessError):
        ended, status = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if ended else None
    return None


def _all_processes() -> Iterator[ProcessStat]:
    for name in os.listdir(PROC):
        with contextlib.suppress(LaunchError):  # another user's, and hidden
            if name.isdigit() and (stat := read_stat(int(name))):
                yield stat


def _arguments(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
