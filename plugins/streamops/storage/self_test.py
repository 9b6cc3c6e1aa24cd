"""Tries what the suite needs of a local or mounted folder: exclusive creates, fresh names, durable writes.

Other processes take part, since one process alone is always of one mind. Other hosts do not: what they see late is a matter
of mount options, see `mounts`.
"""

import os
import shutil
import subprocess
import sys
import threading
import uuid
from datetime import timedelta

from streamops.errors import ObjectExistsError, StorageError
from streamops.storage.address import join, local_path
from streamops.storage.local import LocalStorage

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
