"""A PostgreSQL server on loopback, its data under the sandbox, never run as root.

PostgreSQL refuses to run as root. A root user's sandbox runs it as another user, to whom the data folder belongs and for whom
the folders above it stay closed: the server is handed its folder as an open descriptor, by the name `/proc/self/fd/9`, and
changes into it once.
"""

import os
import pwd
import shutil
import signal
import socket
import struct
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from streamops.clock import Clock
from streamops.launch.processes import send_signal
from streamops_sandbox.daemon import Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.ports import LOOPBACK
from streamops_sandbox.secret_file import kept_secret, write_secret
from streamops_sandbox.set_up import run_set_up
from streamops_sandbox.waiting import SilentNarrator, wait_until_nothing_is_missing

USER = "streamops"
DATABASE = "postgres"
"""The one that initdb makes; the user owns it."""

START_LIMIT = timedelta(seconds=60)
STOP_GRACE = timedelta(seconds=20)
"""A fast shutdown writes a checkpoint; a killed server reads its log again at the next start."""

_INIT_LIMIT = timedelta(seconds=120)
_REMAINS_LIMIT = timedelta(seconds=10)
_PROBE_TIMEOUT = timedelta(seconds=2)

_UNPRIVILEGED = ("postgres", "nobody")
"""Who runs the server in the place of root: the first that this machine knows."""

_MACHINE = Path("/usr/lib/postgresql")
"""Where Debian puts the programs, one folder a version."""

_FOLDER = "/proc/self/fd/9"
_WITHOUT_PRIVILEGES = (
    'exec 9<"$1"; user=$2 group=$3; shift 3; cd /; '
    'exec setpriv --reuid="$user" --regid="$group" --clear-groups --no-new-privs -- "$@"'
)


class Postgres:
    """The sandbox's database server on the given port."""

    DAEMON: ClassVar[str] = "postgres"

    def __init__(self, layout: SandboxLayout, daemons: Daemons, *, port: int, clock: Clock) -> None:
        self._layout = layout
        self._daemons = daemons
        self._port = port
        self._clock = clock

    @property
    def jdbc_url(self) -> str:
        """Where clients connect, as JDBC has it; user and password stand elsewhere."""
        return f"jdbc:postgresql://{LOOPBACK}:{self._port}/{DATABASE}"

    def start(self) -> None:
        """Start the server unless it runs, and return when it takes connections; the first time a database is made.

        Raises SandboxError without the programs of PostgreSQL, where the folder belongs to somebody else, while another
        server works in it, or when the server does not answer within START_LIMIT.
        """
        if self._daemons.running(self.DAEMON) is None:
            programs = self._programs()
            self._own_folder()
            self._make_database(programs)
            self._clear_lock()
            server = [str(programs / "postgres"), "-D", f"{self._folder_name}/data", *self._settings()]
            self._daemons.start(self.DAEMON, self._unprivileged(server), environment=_environment())
        self._daemons.wait_ready(
            self.DAEMON,
            missing=lambda: "" if self.is_answering() else f"an answer on {LOOPBACK}:{self._port}",
            what=self.DAEMON,
            limit=START_LIMIT,
        )

    def stop(self) -> None:
        """Stop the server, whoever is connected; its data stays."""
        if record := self._daemons.running(self.DAEMON):
            # On SIGTERM it waits for its clients to leave, on SIGINT it sends them away.
            send_signal(record.pid, start_ticks=record.start_ticks, signal_number=signal.SIGINT)
        self._daemons.stop(self.DAEMON, grace=STOP_GRACE)

    def kill(self) -> bool:
        """SIGKILL, as in a crash; False when it was not alive."""
        return self._daemons.kill(self.DAEMON)

    def is_answering(self) -> bool:
        """Whether the server asks a new client for its password; while it starts or recovers it refuses instead."""
        body = struct.pack("!I", 3 << 16) + f"user\0{USER}\0database\0{DATABASE}\0\0".encode()
        try:
            with socket.create_connection((LOOPBACK, self._port), _PROBE_TIMEOUT.total_seconds()) as connection:
                connection.sendall(struct.pack("!I", len(body) + 4) + body)
                return connection.recv(1) == b"R"
        except OSError:
            return False

    @property
    def _folder(self) -> Path:
        return self._layout.postgres

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _folder_name(self) -> str:
        """How the server calls its folder."""
        return _FOLDER if os.geteuid() == 0 else str(self._folder)

    def _settings(self) -> Iterator[str]:
        settings = {
            "listen_addresses": LOOPBACK,
            "port": str(self._port),
            "unix_socket_directories": "",
            "max_connections": "50",
            "shared_buffers": "32MB",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        return (part for name, value in settings.items() for part in ("-c", f"{name}={value}"))

    def _programs(self) -> Path:
        """The folder with `initdb` and `postgres`: those of `make setup`, else the machine's, the newest first."""
        machine = sorted(_MACHINE.glob("*/bin"), key=_major, reverse=True)
        on_path = shutil.which("postgres")
        folders = [self._layout.postgres_programs, *machine, *([Path(on_path).resolve().parent] if on_path else [])]
        complete = [folder for folder in folders if (folder / "initdb").is_file() and (folder / "postgres").is_file()]
        usable = [folder for folder in complete if os.geteuid() != 0 or _is_open_to_all(folder)]
        if usable:
            return usable[0]
        if complete:
            raise SandboxError(
                f"PostgreSQL does not run as root, and other users can't enter {complete[0]}: "
                "run as another user, or install the package postgresql"
            )
        raise SandboxError(
            f"no initdb and postgres in {', '.join(map(str, folders))}: run `make setup`, or install the package postgresql"
        )

    def _own_folder(self) -> None:
        """Make the folder; it belongs to who runs the server, at every later start too."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        owner, mine = self._folder.stat().st_uid, os.geteuid()
        if mine == 0 and owner == 0:
            account = _unprivileged_account()
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        elif mine not in (0, owner):
            raise SandboxError(f"{self._folder} belongs to the user {owner}, this is {mine}: start it as that user")

    def _make_database(self, programs: Path) -> None:
        """Give the folder a database, unless it has one; what an interrupted attempt left is made anew."""
        if self._data.exists():
            if not self._layout.postgres_password.is_file():
                raise SandboxError(
                    f"{self._layout.postgres_password} is gone, nobody can log in to {self._data}: put it back, or remove "
                    f"{self._data} with all its tables"
                )
            return
        fresh, password = self._folder / "data.new", self._folder / "password.new"
        shutil.rmtree(fresh, ignore_errors=True)
        # initdb reads a copy that belongs to the server's user; the kept one belongs to who runs the drivers.
        write_secret(password, kept_secret(self._layout.postgres_password))
        owner = self._folder.stat()
        os.chown(password, owner.st_uid, owner.st_gid)
        command = [str(programs / "initdb"), "-D", f"{self._folder_name}/{fresh.name}", "--no-sync"]
        command += ["--username", USER, "--pwfile", f"{self._folder_name}/{password.name}", "--auth=scram-sha-256"]
        try:
            run_set_up(
                self._unprivileged([*command, "--encoding=UTF8", "--locale=C"]),
                what="make the database",
                log=self._layout.logs / "postgres-initdb.log",
                limit=_INIT_LIMIT,
                environment=_environment(),
            )
        finally:
            password.unlink()
        fresh.rename(self._data)

    def _clear_lock(self) -> None:
        """Remove what a killed server, or one before a reboot, has left; SandboxError while anybody works in the folder.

        PostgreSQL takes `postmaster.pid` for its own as long as its user has any process of that number, which after a reboot
        is soon the case. The processes of a killed server have sessions of their own and end by themselves.
        """
        wait_until_nothing_is_missing(
            lambda: (
                f"the end of processes {pids} in {self._data}" if (pids := _working_in(self._data.resolve())) else ""
            ),
            what=self.DAEMON,
            limit=_REMAINS_LIMIT,
            clock=self._clock,
            narrator=SilentNarrator(),
        )
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _unprivileged(self, command: Sequence[str]) -> list[str]:
        """The command itself, or for root the command as the folder's owner."""
        if os.geteuid() != 0:
            return list(command)
        owner = self._folder.stat()
        return [
            "sh",
            "-c",
            _WITHOUT_PRIVILEGES,
            "sh",
            str(self._folder),
            str(owner.st_uid),
            str(owner.st_gid),
            *command,
        ]


def _environment() -> dict[str, str]:
    """Nothing of what the caller's environment holds: another user need not know it."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _unprivileged_account() -> pwd.struct_passwd:
    for name in _UNPRIVILEGED:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise SandboxError(
        f"PostgreSQL does not run as root, and there is none of the users {', '.join(_UNPRIVILEGED)}: add one"
    )


def _is_open_to_all(folder: Path) -> bool:
    return all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))


def _major(programs: Path) -> int:
    version = programs.parent.name
    return int(version) if version.isdigit() else 0


def _working_in(folder: Path) -> list[int]:
    """The processes whose working directory this is, as it is of every process of a server."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{name}/cwd") == str(folder):
                found.append(int(name))
        except OSError:
            continue  # it has ended, or is another user's
    return sorted(found)
