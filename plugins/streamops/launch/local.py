"""Drivers as processes of this host: any spark-submit master in client mode (`local[*]`, `spark://…`).

The driver leads its own session and process group, reads nothing and writes to files, so it outlives the process that
started it; it does not outlive its container or its systemd unit. Its death is proven when the group is empty, seen
from the same host, boot and pid namespace, by a user from whom it is not hidden. PySpark's worker daemon leaves the group,
but it ends with its driver and writes nothing on its own.
"""

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from streamops.control.drivers import Heartbeat
from streamops.control.records import DriverHandle
from streamops.errors import LaunchError, StorageError
from streamops.launch.environment import driver_environment, missing_variables
from streamops.launch.port import DriverState, DriverStatus, FoundDriver, SubmitRequest
from streamops.launch.processes import (
    PROC,
    HostIdentity,
    live_group,
    live_process,
    owner,
    processes_with_argument,
    read_stat,
    reap,
    send_signal,
    this_host,
    why_group_is_hidden,
    why_hidden,
)
from streamops.storage.local import make_folder, open_new


def spark_submit_command(request: SubmitRequest) -> list[str]:
    """The argument list; nothing secret is in it, since every user of the host can read it."""
    command = [request.spark_submit, "--master", request.master, "--deploy-mode", request.deploy_mode]
    command += ["--name", request.name]
    if request.queue:
        command += ["--queue", request.queue]
    for key, value in request.conf:
        command += ["--conf", f"{key}={value}"]
    if request.jars:
        command += ["--jars", ",".join(request.jars)]
    if request.py_files:
        command += ["--py-files", ",".join(request.py_files)]
    return [*command, request.application, *request.arguments]


KIND = "local"


class LocalLauncher:
    """Starts, finds and kills drivers on this host."""

    def __init__(self) -> None:
        self._exit_codes: dict[str, int] = {}
        """Of drivers that were children of this process, once it has collected them."""

    def missing(self, variables: tuple[str, ...]) -> tuple[str, ...]:
        return missing_variables(os.environ, variables)

    def submit(self, request: SubmitRequest) -> DriverHandle:
        host = this_host()
        if missing := self.missing(request.variables):
            raise LaunchError(f"{request.name}: {', '.join(missing)} (launch.environment) are not set on {host.host}")
        try:
            make_folder(os.path.dirname(request.log), request.access)
            with open(open_new(request.log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, request.access), "ab") as log:
                process = subprocess.Popen(
                    spark_submit_command(request),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=request.folder,
                    env=driver_environment(os.environ, request.variables) | dict(request.environment),
                    start_new_session=True,
                )
        except (OSError, StorageError) as error:
            raise LaunchError(f"{request.spark_submit} could not be started for {request.name}: {error}") from error
        # The supervisor may end long before the driver: whoever collects the child then, it is not this object.
        process.returncode = 0
        stat = read_stat(process.pid)
        if stat is None:
            raise LaunchError(f"{request.spark_submit} for {request.name} ended at once: see {request.log}")
        return _handle(host, pid=process.pid, start_ticks=stat.start_ticks, log=request.log, uid=host.uid)

    def find(self, token: str) -> tuple[DriverHandle, ...]:
        host = this_host()
        groups = {stat.group: owner(stat.pid) for stat, _ in processes_with_argument(token)}
        return tuple(_found(host, group, uid=uid) for group, uid in sorted(groups.items()))

    def living(self) -> tuple[FoundDriver, ...]:
        host = this_host()
        found: dict[int, FoundDriver] = {}
        for stat, arguments in processes_with_argument("--control"):
            named = _driver_arguments(arguments)
            if not named or stat.group in found or not _is_in_namespace(stat.pid, host.pid_namespace):
                continue
            found[stat.group] = FoundDriver(
                handle=_found(host, stat.group, uid=owner(stat.pid), log=named["--log"]),
                control=named["--control"],
                epoch=int(named["--epoch"]),
                token=named["--token"],
            )
        return tuple(sorted(found.values(), key=lambda driver: (driver.control, driver.epoch)))

    def why_unseen(self, beat: Heartbeat) -> str:
        return _why_elsewhere(beat, this_host()) or why_hidden(beat.uid)

    def poll(self, handle: DriverHandle) -> DriverStatus:
        try:
            elsewhere = _why_elsewhere(handle, this_host())
        except LaunchError as error:
            elsewhere = str(error)
        if elsewhere:
            return DriverStatus(state=DriverState.UNKNOWN, evidence=elsewhere)
        pid, start_ticks = _process(handle)
        exit_code = reap(pid)
        if exit_code is not None:
            self._exit_codes[handle.process] = exit_code
        try:
            status = self._poll_here(pid, start_ticks, uid=handle.uid)
        except LaunchError as error:
            return DriverStatus(state=DriverState.UNKNOWN, evidence=str(error))
        return replace(status, exit_code=self._exit_codes.get(handle.process))

    def _poll_here(self, pid: int, start_ticks: int, *, uid: int) -> DriverStatus:
        if live_process(pid, start_ticks=start_ticks):
            return DriverStatus(state=DriverState.RUNNING, evidence=f"process {pid} runs")
        members = _members(pid, start_ticks)
        if members:
            rest = ", ".join(str(member) for member, _ in members)
            return DriverStatus(
                state=DriverState.BROKEN, evidence=f"process {pid} is gone, of its group there are still {rest}"
            )
        if unseen := why_group_is_hidden(pid, start_ticks=start_ticks, uid=uid):
            return DriverStatus(state=DriverState.UNKNOWN, evidence=unseen)
        return DriverStatus(state=DriverState.ENDED, evidence=f"process group {pid} is empty")

    def stop(self, handle: DriverHandle) -> None:
        self._signal(handle, signal.SIGTERM)

    def kill(self, handle: DriverHandle) -> None:
        self._signal(handle, signal.SIGKILL)

    def _signal(self, handle: DriverHandle, signal_number: signal.Signals) -> None:
        in_vain = f"the driver {handle.process} can't be signalled from here"
        if elsewhere := _why_elsewhere(handle, this_host()):
            raise LaunchError(f"{in_vain}: {elsewhere}")
        leader, start_ticks = _process(handle)
        members = _members(leader, start_ticks)
        if not members and (hidden := why_group_is_hidden(leader, start_ticks=start_ticks, uid=handle.uid)):
            raise LaunchError(f"{in_vain}: {hidden}")
        for pid, ticks in members:
            send_signal(pid, start_ticks=ticks, signal_number=signal_number)


_DRIVER_ARGUMENTS = ("--control", "--epoch", "--token", "--log")


def _driver_arguments(arguments: Sequence[str]) -> dict[str, str]:
    """What a driver of streamops was told, by name; empty for any other process."""
    pairs = dict(pairwise(arguments))
    named = {name: pairs[name] for name in _DRIVER_ARGUMENTS if name in pairs}
    is_driver = len(named) == len(_DRIVER_ARGUMENTS) and named["--epoch"].isdecimal()
    return named if is_driver else {}


def _is_in_namespace(pid: int, namespace: str) -> bool:
    """Whether a process belongs here and not to a container of this host, where the same path is another folder.

    Another user's process does not tell; it is taken for ours, as nobody here could signal it anyway.
    """
    try:
        return os.readlink(PROC / str(pid) / "ns" / "pid") == namespace
    except PermissionError:
        return True
    except OSError:
        return False


def _members(leader: int, start_ticks: int) -> list[tuple[int, int]]:
    """Living members of the driver's group, as pid and start ticks.

    A group number can't be reused while the group has members. A stranger that got the number later leads its group, or
    has led it and is gone; the driver leads its own session, so a member of another session is a stranger's.
    """
    stat = read_stat(leader)
    if stat and stat.start_ticks != start_ticks:
        return []
    members = (member for member in live_group(leader) if member.session == leader)
    return [(member.pid, member.start_ticks) for member in members if member.start_ticks >= start_ticks]


def _why_elsewhere(driver: DriverHandle | Heartbeat, here: HostIdentity) -> str:
    """Why pids of the driver mean nothing here; empty when they do, or when an older version's beat does not tell."""
    if driver.host != here.host:
        return f"it was started on host {driver.host}, this is {here.host}"
    if driver.boot_id not in ("", here.boot_id):
        return f"host {here.host} was booted again since, or its name is used twice"
    if driver.pid_namespace not in ("", here.pid_namespace):
        return f"it runs in another pid namespace ({driver.pid_namespace}, here {here.pid_namespace})"
    return ""


def _process(handle: DriverHandle) -> tuple[int, int]:
    try:
        pid, start_ticks = (int(part) for part in handle.process.split(":"))
    except ValueError as error:
        raise LaunchError(f"driver handle {handle.process!r} is not <pid>:<start ticks>") from error
    return pid, start_ticks


def _found(host: HostIdentity, group: int, *, uid: int, log: str = "") -> DriverHandle:
    """Of a group whose leader is gone only the number is left; no process started at tick 0, so that none is ever
    signalled as its leader."""
    leader = read_stat(group)
    return _handle(host, pid=group, start_ticks=leader.start_ticks if leader else 0, log=log, uid=uid)


def _handle(host: HostIdentity, *, pid: int, start_ticks: int, log: str, uid: int) -> DriverHandle:
    return DriverHandle(
        launcher=KIND,
        host=host.host,
        boot_id=host.boot_id,
        pid_namespace=host.pid_namespace,
        process=f"{pid}:{start_ticks}",
        log=log,
        uid=uid,
    )
