"""Recorded checkpoints are kept packed, one archive for each version of Spark, and read from an unpacked copy.

They are 7 800 small files, much alike: packed they take a hundredth of the space, and a clone does not consist of recordings.
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

_PROJECT = Path(__file__).parents[2]
ARCHIVES = _PROJECT / "tests" / "data" / "checkpoints"
_COPIES = _PROJECT / ".sandbox" / "recordings"
_SUFFIX = ".tar.xz"


def archive_of(version: str, folder: Path = ARCHIVES) -> Path:
    """Where the recordings of one version of Spark are kept."""
    return folder / f"{version}{_SUFFIX}"


def unpacked() -> Path:
    """The folder with all recordings, `<version>/<recording>/…`. Made once for the archives as they are; not to be written to."""
    archives = sorted(ARCHIVES.glob(f"*{_SUFFIX}"))
    content = hashlib.sha256(b"".join(hashlib.sha256(archive.read_bytes()).digest() for archive in archives))
    copy = _COPIES / content.hexdigest()[:16]
    if copy.is_dir():
        return copy
    _COPIES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_COPIES, ignore_cleanup_errors=True) as folder:
        made = Path(folder) / "recordings"
        unpack_all(made)
        # Several test processes begin at once: the first one's copy stays, it is the same.
        try:
            os.rename(made, copy)
        except OSError:
            if not copy.is_dir():
                raise
    return copy


def unpack_all(folder: Path) -> None:
    """Every archive, into a folder that need not exist. Files get the present as their time, as those of a clone do."""
    folder.mkdir(parents=True, exist_ok=True)
    for archive in sorted(ARCHIVES.glob(f"*{_SUFFIX}")):
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter=_without_time)


def pack(folder: Path, version: str, *, into: Path = ARCHIVES) -> None:
    """Keep `<folder>/<version>` instead of what was kept of that version. The same files give the same bytes."""
    target = archive_of(version, into)
    draft = target.with_suffix(".draft")
    with tarfile.open(draft, "w:xz", preset=9) as packed:
        for file in sorted(file for file in (folder / version).rglob("*") if file.is_file()):
            member = tarfile.TarInfo(str(file.relative_to(folder)))
            member.size = file.stat().st_size
            with file.open("rb") as content:
                packed.addfile(member, content)
    shutil.move(draft, target)


def _without_time(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
    return tarfile.data_filter(member, path).replace(mtime=None, deep=False)
