"""Processes that outlive the command that starts them: started detached, recorded, found again, stopped by identity.

A daemon is named by pid, start ticks and boot id from its record, never by its program's name: nobody else's process is
ever signalled. Only its main process is asked to stop (a SIGTERM for the whole group leaves Airflow's scheduler
hanging); what remains of its session after that is killed.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from streamops.clock import Clock
from streamops.launch.processes import ProcessStat, live_process, read_stat, reap, send_signal, this_host
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.json_file import OWNER_ONLY, read_json, write_json
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.log_tail import log_tail
from streamops_sandbox.waiting import POLL, Narrator, wait_until_nothing_is_missing

_KILL_LIMIT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonRecord:
    """Who a started daemon is; on disk as `daemons/<name>.json`."""

    name: str
    pid: int
    start_ticks: int
    boot_id: str
    started_at: datetime
    """Wall clock, UTC: what is older was left by a predecessor."""

    command: tuple[str, ...]
    log: Path


class DaemonEndedError(SandboxError):
    """A daemon ended while it was waited for; the message holds the end of its log."""


class Daemons:
    """The daemons of one sandbox."""

    def __init__(self, layout: SandboxLayout, *, clock: Clock, narrator: Narrator) -> None:
        self._layout = layout
        self._clock = clock
        self._narrator = narrator

    def start(self, name: str, command: Sequence[str], *, environment: Mapping[str, str]) -> DaemonRecord:
        """Start the daemon in its own session unless it is alive; returns at once, before the daemon is ready.

        What an earlier daemon of this name left running in its session is killed first, as a service manager does.
        Raises SandboxError when the program can't be executed.
        """
        if record := self.running(name):
            return record
        self.clear_remains(name)
        record = self._spawn(name, command, environment)
        write_json(
            self._record_path(name),
            asdict(record) | {"started_at": record.started_at.isoformat(), "log": str(record.log)},
        )
        return record

    def wait_ready(self, *names: str, missing: Callable[[], str], what: str, limit: timedelta) -> None:
        """Wait until `missing` answers with an empty text while all the named daemons live.

        Raises SandboxError with the end of the log of the daemon that ended, or of all when the limit passes.
        """

        def missing_while_alive() -> str:
            for name in names:
                if self.running(name) is None:
                    raise DaemonEndedError(f"{what}: {name} has ended\n{self.log_tail(name)}")
            return missing()

        try:
            wait_until_nothing_is_missing(
                missing_while_alive, what=what, limit=limit, clock=self._clock, narrator=self._narrator
            )
        except DaemonEndedError:
            raise
        except SandboxError as error:
            tails = "\n".join(self.log_tail(name) for name in names)
            raise SandboxError(f"{error}\n{tails}") from error

    def running(self, name: str) -> DaemonRecord | None:
        """The daemon's record while its main process is alive."""
        record = self._recorded(name)
        if record is None or record.boot_id != this_host().boot_id:
            return None
        return record if live_process(record.pid, start_ticks=record.start_ticks) else None

    def stop(self, *names: str, grace: timedelta) -> tuple[str, ...]:
        """Ask all of them to stop at once, wait for them together, then kill what is left; the names that were alive.

        A name that is not running is not an error, but its remains are killed too.
        """
        alive = tuple(record for name in names if (record := self.running(name)))
        for record in alive:
            send_signal(record.pid, start_ticks=record.start_ticks, signal_number=signal.SIGTERM)
        self._await_end(alive, grace)
        for name in names:
            self.clear_remains(name)
            self._record_path(name).unlink(missing_ok=True)
        for record in alive:
            self._narrator.note(f"{record.name}: stopped (pid {record.pid})")
        return tuple(record.name for record in alive)

    def kill(self, name: str) -> bool:
        """SIGKILL for the main process alone, as the out-of-memory killer does; False when it was not alive."""
        record = self.running(name)
        if record is None:
            return False
        killed = send_signal(record.pid, start_ticks=record.start_ticks, signal_number=signal.SIGKILL)
        self._await_end((record,), _KILL_LIMIT)
        return killed

    def clear_remains(self, name: str) -> None:
        """Kill what the daemon has left in its session; afterwards its ports and files are free.

        To be asked only after `running` said that the main process is not alive, or to have it killed too.
        """
        record = self._recorded(name)
        if record is None:
            return
        end = self._clock.monotonic() + _KILL_LIMIT
        # Again until none is left: a member may have forked between the look and the signal, and a successor must not
        # meet the files and ports of a process that is still dying.
        while remains := _remains(record):
            for member in remains:
                send_signal(member.pid, start_ticks=member.start_ticks, signal_number=signal.SIGKILL)
            if self._clock.monotonic() > end:
                pids = [member.pid for member in remains]
                raise SandboxError(f"{name}: processes {pids} do not end on SIGKILL: see `ps`")
            self._clock.sleep(POLL)
        reap(record.pid)

    def log_path(self, name: str) -> Path:
        """Where the daemon's stdout and stderr go."""
        return self._layout.logs / f"{name}.log"

    def log_tail(self, name: str) -> str:
        """The log's path and its last lines, for an error message."""
        return log_tail(self.log_path(name))

    def _spawn(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> DaemonRecord:
        log = self.log_path(name)
        started_at = self._clock.now()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, OWNER_ONLY)
        try:
            os.write(descriptor, f"=== {started_at:%Y-%m-%dT%H:%M:%SZ} {' '.join(command)}\n".encode())
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=self._layout.project,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError(f"cannot start {name}: {command[0]}: {error.strerror}\n{log_tail(log)}") from error
        finally:
            os.close(descriptor)
        # The daemon outlives this object on purpose. With a return code set, Popen neither warns about that nor
        # collects the process itself: `reap` does.
        process.returncode = 0
        stat = read_stat(process.pid)
        if stat is None:
            raise SandboxError(f"{name} ended at once\n{log_tail(log)}")
        return DaemonRecord(
            name=name,
            pid=process.pid,
            start_ticks=stat.start_ticks,
            boot_id=this_host().boot_id,
            started_at=started_at,
            command=tuple(command),
            log=log,
        )

    def _await_end(self, records: Sequence[DaemonRecord], grace: timedelta) -> None:
        end = self._clock.monotonic() + grace
        try:
            while left := [r.name for r in records if live_process(r.pid, start_ticks=r.start_ticks)]:
                if self._clock.monotonic() > end:
                    return
                self._narrator.waiting(f"stopping {', '.join(left)}")
                self._clock.sleep(POLL)
        finally:
            self._narrator.settle()

    def _recorded(self, name: str) -> DaemonRecord | None:
        path = self._record_path(name)
        content = read_json(path)
        if content is None:
            return None
        try:
            return DaemonRecord(
                name=name,
                pid=int(content["pid"]),
                start_ticks=int(content["start_ticks"]),
                boot_id=str(content["boot_id"]),
                started_at=datetime.fromisoformat(content["started_at"]),
                command=tuple(content["command"]),
                log=Path(content["log"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SandboxError(
                f"{path} is no daemon record ({error!r}): look for the process with `ps`, then remove the file"
            ) from error

    def _record_path(self, name: str) -> Path:
        return self._layout.daemons / f"{name}.json"


def _remains(record: DaemonRecord) -> tuple[ProcessStat, ...]:
    """What lives of the daemon's process and of its session, if the numbers still mean the same processes.

    The session rather than the process group: a running Airflow task has a group of its own (seen with 3.3.2). A
    detached Spark driver has a session of its own and is not among them.
    """
    if record.boot_id != this_host().boot_id:
        return ()
    leader = read_stat(record.pid)
    if leader is not None and leader.start_ticks != record.start_ticks:
        # The number was given away again, which happens only after the whole session has ended.
        return ()
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return tuple(stat for pid in pids if (stat := read_stat(pid)) and stat.session == record.pid and stat.is_alive)
