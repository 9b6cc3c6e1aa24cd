"""Whether the files of changes that a start loads are whole: deltas and snapshots of the HDFS provider, RocksDB's changelogs.

Spark classes: HDFSBackedStateStoreProvider, StateStoreChangelogWriter; 3.5 to 4.3. A load fails on an empty or cut file and
on one with a changed byte, and reads nothing behind the mark at the end (tried on 4.2.0 with each provider, with and without
side files; Hadoop's side files are not asked for them).
"""

from collections.abc import Collection, Sequence

from streamops.checkpoint.lz4_blocks import MAGIC, unpacked
from streamops.checkpoint.state_snapshots import BrokenStateFile, StateFileFacts
from streamops.errors import ObjectNotFoundError, ObjectTooLargeError
from streamops.storage import ReadableStorage, join, parent

MAX_FILES = 400
"""Files that are read: of more stores the first ones stand for all."""
MAX_BYTES = 32 * 1024 * 1024
"""Bytes of all files that are read; of the others only the size is asked."""
END = b"\xff\xff\xff\xff"
"""The length -1, where the next key would begin."""
LZ4 = "lz4"


def read_changes(
    storage: ReadableStorage,
    checkpoint: str,
    files: Sequence[str],
    *,
    spares: Collection[str] = (),
    codec: str = LZ4,
) -> StateFileFacts:
    """Look into the files at these places below a checkpoint. Raises StorageError when a place can't be asked.

    `codec`: as the offset log pins it; of another than LZ4 only that a file is not empty is known. A file that was cleaned up
    meanwhile is no longer loaded, and nothing is said of it.
    """
    broken = []
    left = MAX_BYTES
    for file in files[:MAX_FILES]:
        size = _size(storage, join(checkpoint, file))
        if size == 0:
            broken.append(BrokenStateFile(file=file, reason="it is empty", is_spare=file in spares))
        elif size is not None and size <= left and codec == LZ4:
            left -= size
            if reason := _trouble(storage, join(checkpoint, file)):
                broken.append(BrokenStateFile(file=file, reason=reason, is_spare=file in spares))
    return StateFileFacts(checked=min(len(files), MAX_FILES), total=len(files), broken=tuple(broken))


def _size(storage: ReadableStorage, address: str) -> int | None:
    details = storage.details(parent(address), only=[address.rpartition("/")[2]])
    return details[0].size if details else None


def _trouble(storage: ReadableStorage, address: str) -> str:
    """Why a load can't read the file; empty where it can, or where the file is gone or too large to be read here."""
    try:
        content = storage.read(address)
    except (ObjectNotFoundError, ObjectTooLargeError):
        return ""
    if not content.startswith(MAGIC):
        return f"it does not begin with a block of {LZ4}"
    changes, trouble = unpacked(content)
    return "" if changes.endswith(END) else trouble
