"""Folders that become read-only or full for a while, for root too, by mounts. Linux, with the right to mount.

Permissions do not stop root, so a folder is laid read-only over itself, or lies on a small file system that is filled.
"""

import contextlib
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from streamops_sandbox.errors import SandboxError

SMALL_DISK_MIB = 64
"""Hundreds of epochs leave about 20 KiB each."""

_FILLER = ".chaos-filler"
_REFILL_SECONDS = 0.05
_UNMOUNT_TRIES = 20
_UNMOUNT_PAUSE_SECONDS = 0.1


def why_no_mounts(scratch: Path) -> str:
    """Empty when this process may mount, else what the system says."""
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        mount_small_disk(scratch)
    except SandboxError as error:
        return str(error)
    unmount(scratch)
    scratch.rmdir()
    return ""


def mount_small_disk(folder: Path) -> None:
    """A file system of its own for an empty folder; SandboxError when that is not allowed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={SMALL_DISK_MIB}m,mode=700", "streamops-chaos", str(folder))


def unmount(folder: Path) -> None:
    """Undo the topmost mount on the folder; files that are open there stay readable until they are closed."""
    for _ in range(_UNMOUNT_TRIES):
        if subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(_UNMOUNT_PAUSE_SECONDS)
    _run("umount", "--lazy", str(folder))


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder can be read and not be written, whoever tries."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        unmount(folder)


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    """No byte is left on the small disk, nor is one got back: what a failed write gives up is taken at once."""
    filler = folder / _FILLER
    _fill(filler)
    is_over = threading.Event()
    keeper = threading.Thread(target=_keep_full, args=(filler, is_over), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        is_over.set()
        keeper.join()
        filler.unlink(missing_ok=True)


def _keep_full(filler: Path, is_over: threading.Event) -> None:
    while not is_over.wait(_REFILL_SECONDS):
        _fill(filler)


def _fill(filler: Path) -> None:
    for piece in (bytes(1 << 16), b"\0"):
        with open(filler, "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(piece)


def mounts_below(root: Path, table: str | None = None) -> tuple[Path, ...]:
    """What is mounted below a folder, the newest first; `table` is the text of `/proc/self/mounts`."""
    text = table if table is not None else Path("/proc/self/mounts").read_text(encoding="utf-8")
    places = [Path(line.split(" ")[1].encode().decode("unicode_escape")) for line in text.splitlines() if line]
    return tuple(place for place in reversed(places) if place.is_relative_to(root))


def keep_and_unmount(root: Path) -> None:
    """Undo all mounts below a folder; what lay on a small disk is copied to where it was mounted."""
    for place in mounts_below(root):
        with tempfile.TemporaryDirectory(dir=root) as copy:
            # What can't be copied must not keep the mount: the next experiment needs the place.
            with contextlib.suppress(OSError):
                shutil.copytree(place, copy, dirs_exist_ok=True)
            unmount(place)
            with contextlib.suppress(OSError):
                shutil.copytree(copy, place, dirs_exist_ok=True)


def _mount(*arguments: str) -> None:
    _run("mount", *arguments)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SandboxError(f"{command[0]} can't be run: {error.strerror}") from error
    if done.returncode != 0:
        raise SandboxError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
