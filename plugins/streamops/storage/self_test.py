"""Tries what the suite needs of a folder: what it is mounted from, exclusive creates, fresh names, durable writes. Linux.

A network file system shows each host its own, kept view: names that another host has just made may be unknown for up to a
minute (nfs(5): acdirmax, lookupcache). A driver looks for the next record of the control log, and a supervisor for the
folders of drivers: both must see a fresh name at once.

Other processes take part, since one process alone is always of one mind. Other hosts do not: what they see late is a matter
of mount options, see `Mount`.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
import uuid
from dataclasses import dataclass
from datetime import timedelta

from streamops.errors import ObjectExistsError, StorageError
from streamops.storage.address import join, local_path
from streamops.storage.local import LocalStorage

_OCTAL = re.compile(r"\\([0-7]{3})")

NEEDED = {
    "nfs": ("lookupcache=none", "noac"),
    "nfs4": ("lookupcache=none", "noac"),
    "cifs": ("actimeo=0", "cache=none"),
    "smb3": ("actimeo=0", "cache=none"),
}
"""By kind of file system: the mount options of which one is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    point: str
    kind: str
    """`ext4`, `tmpfs`, `nfs4` …"""
    options: frozenset[str]
    """Those of the mount and those of the file system."""

    @property
    def trouble(self) -> str:
        """Which options are missing; empty where the suite can rely on it."""
        needed = NEEDED.get(self.kind, ())
        if not needed or self.options & set(needed):
            return ""
        return (
            f"{self.point} is a network file system ({self.kind}) that may show names of another host late: mount it with"
            f" {' or '.join(needed)}"
        )


def mount_of(path: str, table: str) -> Mount:
    """The mount that a path without symlinks lies on; `table` is the text of /proc/self/mountinfo. The last one is on top."""
    found = Mount(point="/", kind="unknown", options=frozenset())
    for line in table.splitlines():
        mount = _parsed(line)
        is_around = mount is not None and (path + "/").startswith(mount.point.rstrip("/") + "/")
        if mount is not None and is_around and len(mount.point) >= len(found.point):
            found = mount
    return found


def _parsed(line: str) -> Mount | None:
    """`36 35 98:0 / /mnt rw,noatime shared:1 - ext3 /dev/root rw,errors=continue` (proc_pid_mountinfo(5))"""
    head, separator, tail = line.partition(" - ")
    first, last = head.split(" "), tail.split(" ")
    if not separator or len(first) < 6 or len(last) < 3:
        return None
    return Mount(
        point=_OCTAL.sub(lambda match: chr(int(match[1], 8)), first[4]),
        kind=last[0],
        options=frozenset((*first[5].split(","), *last[2].split(","))),
    )


RIVALS = 4
"""Processes that create one name at once."""
PATIENCE = timedelta(seconds=60)
"""For all of them together."""

_CHILD = "import sys; sys.path[:0] = {path!r}; from streamops.storage.self_test import take_part; take_part({folder!r})"


def folder_problems(address: str) -> tuple[str, ...]:
    """What does not work in a local folder that exists, a sentence each; nothing is left there. StorageError."""
    folder = join(address, f".streamops-self-test-{uuid.uuid4().hex}")
    storage, path = LocalStorage(), local_path(folder)
    if path is None:
        raise StorageError(f"{address} is not a local folder: only those can be tested")
    try:
        storage.write(join(folder, "replaced"), b"old")  # A file that is synced, renamed and found again.
        storage.write(join(folder, "replaced"), b"new")
        if storage.read(join(folder, "replaced")) != b"new":
            return (f"{address}: a file that was replaced by rename still has its old content",)
        return _with_others(address, folder, storage)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def take_part(folder: str) -> None:
    """What another process does: told on stdin to create a name, then to look for one that is made after its first look."""
    storage = LocalStorage()
    _say("ready" if "fresh" not in storage.list(folder) else "early")
    sys.stdin.readline()
    try:
        storage.create(join(folder, "one-winner"), str(os.getpid()).encode())
        _say("won")
    except ObjectExistsError:
        _say("lost")
    sys.stdin.readline()
    _say("seen" if "fresh" in storage.list(folder) else "unseen")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def _with_others(address: str, folder: str, storage: LocalStorage) -> tuple[str, ...]:
    code = _CHILD.format(path=sys.path, folder=folder)
    rivals = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(RIVALS)
    ]
    limit = threading.Timer(PATIENCE.total_seconds(), _kill, args=[rivals])
    limit.start()
    try:
        ready = _asked(rivals, "")
        answers = _asked(rivals, "create\n")
        storage.create(join(folder, "fresh"), b"")
        seen = _asked(rivals, "look\n")
    finally:
        limit.cancel()
        _kill(rivals)
        for rival in rivals:
            rival.communicate()
    problems = []
    if set(ready) != {"ready"}:
        problems.append(f"{address}: a folder can't be listed by other processes")
    elif sorted(answers) != ["lost"] * (RIVALS - 1) + ["won"]:
        won = answers.count("won")
        problems.append(f"{address}: of {RIVALS} processes that created one name at once {won} succeeded, not one")
    if "unseen" in seen:
        problems.append(f"{address}: a name that was just made is not seen by another process")
    return tuple(problems)


def _kill(rivals: list[subprocess.Popen[str]]) -> None:
    for rival in rivals:
        rival.kill()


def _asked(rivals: list[subprocess.Popen[str]], question: str) -> list[str]:
    """All are asked before anyone's answer is read, so that they act at once."""
    try:
        for rival in rivals:
            if rival.stdin and question:
                rival.stdin.write(question)
                rival.stdin.flush()
    except BrokenPipeError:
        return []
    return [rival.stdout.readline().strip() if rival.stdout else "" for rival in rivals]
