"""Processes of this host that seem to run a query on a checkpoint and are no drivers of ours: an old script, a notebook.

Seen are those that have the checkpoint among their arguments, in the script that they run, or open for writing. One that
is idle and got the address from elsewhere is not seen, nor is a process of another host or of another user where `/proc`
hides it: nothing found is no proof.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamops.launch.processes import PROC

_RUNTIMES = re.compile(r"java|python|pyspark|spark|scala|jupyter|R$")
"""Executables that can run a query; an editor or a copy that names the checkpoint is none."""

_SCRIPTS = (".py", ".scala", ".R", ".ipynb")

_SCRIPT_LIMIT = 1024 * 1024
"""Bytes of a script that are searched."""

_SHOWN = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Outsider:
    """One process and why it is taken for a writer."""

    pid: int
    command: str
    evidence: str

    @property
    def in_words(self) -> str:
        """`process 4711 (python legacy.py): its script names the checkpoint`"""
        return f"process {self.pid} ({self.command}): {self.evidence}"


def find_outsiders(checkpoint: str) -> tuple[Outsider, ...]:
    """Living processes of this host, by pid, that seem to run a query on the checkpoint at this path."""
    ours = _own_line()
    found = (_outsider(pid, checkpoint) for pid in sorted(_pids()) if pid not in ours)
    return tuple(outsider for outsider in found if outsider)


def _outsider(pid: int, checkpoint: str) -> Outsider | None:
    arguments = _arguments(pid)
    if not arguments or "--control" in arguments or not _RUNTIMES.match(os.path.basename(_executable(pid))):
        return None  # Drivers of ours carry the address of their control folder.
    if evidence := _evidence(pid, arguments, re.compile(re.escape(checkpoint) + r"(?![\w.-])")):
        return Outsider(pid=pid, command=_command(arguments), evidence=evidence)
    return None


def _evidence(pid: int, arguments: list[str], named: re.Pattern[str]) -> str:
    if any(named.search(argument) for argument in arguments):
        return "the checkpoint is among its arguments"
    if any(named.search(text) for text in _scripts(pid, arguments)):
        return "the script that it runs names the checkpoint"
    if any(named.match(path) for path in _written_files(pid)):
        return "it has a file of the checkpoint open for writing"
    return ""


def _scripts(pid: int, arguments: list[str]) -> Iterator[str]:
    for argument in arguments[1:]:
        if not argument.endswith(_SCRIPTS):
            continue
        with contextlib.suppress(OSError, ValueError):
            script = Path(os.readlink(PROC / str(pid) / "cwd"), argument)
            if script.is_file():
                with open(script, "rb") as file:
                    yield file.read(_SCRIPT_LIMIT).decode(errors="replace")


def _written_files(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for descriptor in os.listdir(PROC / str(pid) / "fd"):
            with contextlib.suppress(OSError, IndexError, ValueError):
                flags = (PROC / str(pid) / "fdinfo" / descriptor).read_text().split("flags:")[1].split()[0]
                if int(flags, 8) & os.O_ACCMODE != os.O_RDONLY:
                    yield os.readlink(PROC / str(pid) / "fd" / descriptor)


def _own_line() -> set[int]:
    """This process and those that it descends from: they name the checkpoint because they ask about it."""
    line, pid = set[int](), os.getpid()
    while pid > 0 and pid not in line:
        line.add(pid)
        pid = _parent(pid)
    return line


def _parent(pid: int) -> int:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
        return int(text[text.rindex(")") + 2 :].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def _executable(pid: int) -> str:
    try:
        return os.readlink(PROC / str(pid) / "exe")
    except OSError:
        return ""


def _arguments(pid: int) -> list[str]:
    try:
        content = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [part.decode(errors="replace") for part in content.split(b"\0") if part]


def _command(arguments: list[str]) -> str:
    """Runtime and script alone: other arguments may hold secrets."""
    script = next((argument for argument in arguments[1:] if argument.endswith(_SCRIPTS)), "")
    return f"{os.path.basename(arguments[0])} {script}".strip()[:_SHOWN]
