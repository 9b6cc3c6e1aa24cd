"""Folders that nobody can write for a while, root included. Skipped where this process may not mount."""

import errno
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamops_sandbox.chaos import mounts


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    if why := mounts.why_no_mounts(tmp_path / "probe"):
        pytest.skip(why)
    folder = tmp_path / "control"
    folder.mkdir()
    (folder / "kept").write_text("before")
    yield folder
    mounts.keep_and_unmount(tmp_path)


def test_a_read_only_folder_can_be_read_and_not_written_and_is_as_before_afterwards(folder: Path) -> None:
    with mounts.read_only(folder):
        assert (folder / "kept").read_text() == "before"
        with pytest.raises(OSError, match="Read-only") as refused:
            (folder / "new").touch()

    assert refused.value.errno == errno.EROFS
    (folder / "new").touch()
    assert mounts.mounts_below(folder) == ()


def test_a_full_disk_takes_no_byte_and_has_room_again_afterwards(folder: Path) -> None:
    disk = folder / "disk"
    mounts.mount_small_disk(disk)
    (disk / "beat").write_text("1")

    with mounts.full(disk):
        with pytest.raises(OSError, match="No space") as refused:
            (disk / "new").write_text("2")
        assert (disk / "beat").read_text() == "1"

    assert refused.value.errno == errno.ENOSPC
    (disk / "new").write_text("2")


def test_room_that_somebody_gives_up_on_a_full_disk_is_taken(folder: Path) -> None:
    disk = folder / "disk"
    mounts.mount_small_disk(disk)
    (disk / "half a write").write_bytes(bytes(1 << 20))

    with mounts.full(disk):
        (disk / "half a write").unlink()
        time.sleep(1)
        with pytest.raises(OSError, match="No space"):
            (disk / "new").write_text("2")


def test_what_lay_on_a_small_disk_is_kept_when_it_goes(folder: Path) -> None:
    disk = folder / "disk"
    mounts.mount_small_disk(disk)
    (disk / "log").mkdir()
    (disk / "log" / "0").write_text("record")

    mounts.keep_and_unmount(folder)

    assert mounts.mounts_below(folder) == ()
    assert (disk / "log" / "0").read_text() == "record"


def test_where_nothing_is_mounted_nothing_happens(folder: Path) -> None:
    mounts.keep_and_unmount(folder)

    assert (folder / "kept").read_text() == "before"
