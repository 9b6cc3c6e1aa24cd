"""Who a local process is, whether it still lives, and how to signal it and nobody else.

A pid alone proves nothing: numbers are reused, and they mean different processes in another container or after a
reboot. A process is therefore named by host, boot id, pid namespace, pid and start ticks (`/proc/<pid>/stat`, field 22),
and signalled through a pidfd that was opened before the start ticks were compared.

That `/proc` shows no such process proves nothing either: it may be mounted for another pid namespace, or hide the
processes of other users (`hidepid`, systemd's `ProtectProc`). `this_host` refuses the first; `why_hidden` or
`why_group_is_hidden` is asked before an absence counts as an end.
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
    uid: int
    """Effective user of this process: `/proc` may hide the processes of others."""


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
    """The identity of the place where this process runs.

    LaunchError where `/proc` does not tell, and where it is the one of another pid namespace (`unshare --pid` without a
    new mount, a container that was given its host's): the numbers in it name other processes than ours do.
    """
    try:
        here = HostIdentity(
            host=socket.gethostname(),
            boot_id=(PROC / "sys/kernel/random/boot_id").read_text().strip(),
            pid_namespace=os.readlink(PROC / "self/ns/pid"),
            uid=os.geteuid(),
        )
        named_here = {os.readlink(PROC / "self"), *_own_status("NSpid").split()}
    except OSError as error:
        raise LaunchError(f"cannot tell this host's boot id and pid namespace from /proc: {error}") from error
    if named_here != {str(os.getpid())}:
        raise LaunchError(
            f"/proc belongs to another pid namespace than this process, which is {os.getpid()} in its own and not there:"
            " mount the own one (`mount -t proc proc /proc`, `unshare --mount-proc`)"
        )
    return here


def read_stat(pid: int) -> ProcessStat | None:
    """The process with this number, or None when `/proc` shows none: no proof that there is none, see `why_hidden`.

    LaunchError when it is there and can't be read (hidepid).
    """
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except PermissionError as error:
        raise LaunchError(f"/proc hides process {pid} from this user: {_TO_SEE_IT}") from error
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


def owner(pid: int) -> int:
    """The effective user of a process; -1 where that can't be told any more."""
    try:
        return os.stat(PROC / str(pid)).st_uid
    except OSError:
        return -1


_TO_SEE_IT = "run as the user that started it; where that can't be, a person makes sure of its end and confirms it"

_GROUP_SEES = frozenset({"1", "2", "noaccess", "invisible"})
"""Values of hidepid under which members of the mount's group see all processes; under `ptraceable` they do not."""

_CAP_SYS_PTRACE = 1 << 19


def why_hidden(uid: int) -> str:
    """Why `/proc` may not show a living process of this user to us; empty where it shows them all. -1: of whatever user.

    As the kernel has it (`has_pid_permissions` in fs/proc/base.c): with hidepid only those are shown that we could trace,
    or all of them to members of the mount's group. A capability counts in the user namespace of the host alone, since in
    another one it says nothing of processes outside. LaunchError where `/proc` does not tell.
    """
    if uid == os.geteuid():
        return ""
    try:
        options = _mount_options()
        hidepid = options.get("hidepid", "0")
        if hidepid in ("0", "off") or _may_trace_everybody():
            return ""
    except (OSError, ValueError) as error:
        raise LaunchError(f"cannot tell from /proc whether it hides processes of other users: {error}") from error
    if hidepid in _GROUP_SEES and int(options.get("gid", "0")) in {os.getegid(), *os.getgroups()}:
        return ""
    whose = f"processes of user {uid}" if uid >= 0 else "processes of other users"
    return f"/proc is mounted with hidepid={hidepid} and hides {whose} from user {os.geteuid()}: {_TO_SEE_IT}"


def why_group_is_hidden(leader: int, *, start_ticks: int, uid: int) -> str:
    """Why a group may live although `/proc` shows no living member; empty where it is empty for certain.

    The kernel is asked as well: no mount option keeps it from telling that a group exists. A process of our own user is
    hidden, too, where its group id is another, or where a set-user-id program has become somebody else (seen on 6.18).
    LaunchError where `/proc` does not tell.
    """
    stat = read_stat(leader)
    if stat and stat.start_ticks != start_ticks:
        return ""  # A stranger has the number, which a group with members would have kept from it.
    if hidden := why_hidden(uid):
        return hidden
    is_shown = any(shown.group == leader for shown in _all_processes()) if _group_exists(leader) else True
    if not is_shown and _group_exists(leader):  # Asked again: it may have ended meanwhile.
        return f"process group {leader} exists and /proc hides it: {_TO_SEE_IT}"
    return ""


def _group_exists(group: int) -> bool:
    """Whether the kernel knows a process group of this number, zombies included."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _mount_options() -> dict[str, str]:
    """Options of the file system at `/proc`, by its device: several mounts may lie on each other there."""
    device = os.stat(PROC).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in (PROC / "self/mountinfo").read_text(errors="replace").splitlines():
        # proc(5): id, parent, device, root, mount point, options, optional fields, "-", type, source, super options
        mount, _, file_system = line.partition(" - ")
        if mount.split()[2] == wanted:
            return dict(option.partition("=")[::2] for option in file_system.split()[-1].split(","))
    raise ValueError(f"no mount of device {wanted} in /proc/self/mountinfo")


def _may_trace_everybody() -> bool:
    is_in_first_user_namespace = (PROC / "self/uid_map").read_text().split() == ["0", "0", str(2**32 - 1)]
    return is_in_first_user_namespace and bool(int(_own_status("CapEff"), 16) & _CAP_SYS_PTRACE)


def _own_status(name: str) -> str:
    """A line of `/proc/self/status`; empty where the kernel has none of that name."""
    lines = (PROC / "self/status").read_text(errors="replace").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), "")


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
