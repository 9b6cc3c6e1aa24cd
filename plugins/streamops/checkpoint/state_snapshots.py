"""Whether the RocksDB snapshots that a start loads are whole: each file in their manifests is there, with its size.

Spark classes: RocksDBFileManager, RocksDBCheckpointMetadata; 3.5 to 4.3. Told without RocksDB: from sizes, and for small files
from the checksums that they hold themselves.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from streamops.checkpoint.sst_blocks import sst_number, sst_trouble
from streamops.checkpoint.state_metadata import ManifestFile, parse_snapshot_zip, parse_spark_checksum
from streamops.errors import CheckpointError, ObjectNotFoundError, ObjectTooLargeError, ObjectUnreadableError
from streamops.formatting import listed
from streamops.storage import ReadableStorage, join, parent
from streamops.storage.side_files import is_stale, side_file

MAX_SNAPSHOTS = 20
"""Snapshots that are opened: of more stores the first ones stand for all."""
MAX_COMPARED = 1 << 20
"""Bytes of a file of a snapshot up to which it is compared with Hadoop's side file."""
SHOWN = 5
_SST = ".sst"
_NUMBER = re.compile(r"\d+(?=[-.])")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenStateFile:
    """A snapshot that its store can't be loaded from."""

    file: str
    """Relative to the checkpoint: `state/0/1/7.zip`."""
    reason: str
    is_spare: bool = False
    """Whether newer releases of Spark go round it, see `StoreFiles.spare_for`."""
    is_schema: bool = False
    """Whether it is the schema of a store, and none of its versions."""
    is_left_behind: bool = False
    """Whether it is Hadoop's side file of a file that is gone: it keeps a start from writing that anew."""
    may_stay_unread: bool = False
    """Whether it shows only where its rows are looked for, in a batch or when RocksDB writes files anew."""
    lacks_files: bool = False
    """Whether files are missing; otherwise the snapshot itself is cut, or a file has another size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFileFacts:
    """The snapshots of one checkpoint that were opened."""

    checked: int = 0
    total: int = 0
    """Stores that a start loads from a snapshot."""
    broken: tuple[BrokenStateFile, ...] = ()
    stale: tuple[str, ...] = ()
    """Files that can be loaded and that Hadoop's side file does not fit: something else was written there, and Spark does not
    notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checksums:
    """Beside which files, relative to the checkpoint, checksums lie."""

    of_spark: frozenset[str] = frozenset()
    of_hadoop: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    """Files of changes without Hadoop's, though both an older and a newer one of their operator have theirs."""


NO_CHECKSUMS = Checksums()


def read_snapshots(
    storage: ReadableStorage,
    checkpoint: str,
    files: Sequence[str],
    *,
    spares: Collection[str] = (),
    checksums: Checksums = NO_CHECKSUMS,
) -> StateFileFacts:
    """Open the snapshots at these places below a checkpoint. Raises StorageError when a place can't be asked.

    A snapshot that was cleaned up meanwhile is no longer the one that a start loads, and nothing is said of it.
    """
    found = [_judged(storage, checkpoint, file, checksums) for file in files[:MAX_SNAPSHOTS]]
    broken = tuple(replace(one, is_spare=one.file in spares) for one in found if one is not None)
    return StateFileFacts(checked=len(found), total=len(files), broken=broken)


def _judged(storage: ReadableStorage, checkpoint: str, file: str, checksums: Checksums) -> BrokenStateFile | None:
    address = join(checkpoint, file)
    try:
        content = storage.read(address)
        manifest = parse_snapshot_zip(content, address=file)
    except (ObjectNotFoundError, ObjectTooLargeError):
        return None
    except CheckpointError as error:
        return BrokenStateFile(file=file, reason=str(error))
    if file in checksums.of_hadoop and is_stale(storage, address, content):
        return BrokenStateFile(file=file, reason=f"{side_file(file)} does not fit")
    if file in checksums.of_spark and (trouble := spark_trouble(storage, address, content)):
        return BrokenStateFile(file=file, reason=trouble)
    folder = parent(address)
    wrong = [
        *_wrong(storage, folder, "SSTs", manifest.ssts),
        *_wrong(storage, folder, "logs", manifest.logs),
    ]
    # The maintenance deletes a snapshot before the files that it alone refers to.
    if not wrong or address.rpartition("/")[2] not in storage.list(folder):
        return None
    return BrokenStateFile(
        file=file,
        reason=listed([one.reason for one in wrong], SHOWN),
        may_stay_unread=all(one.may_stay_unread for one in wrong),
        lacks_files=any(one.is_missing for one in wrong),
    )


@dataclass(frozen=True, slots=True)
class _Wrong:
    """What is wrong with a file of a manifest."""

    reason: str
    is_missing: bool = False
    may_stay_unread: bool = False


def _wrong(storage: ReadableStorage, folder: str, name: str, files: Sequence[ManifestFile]) -> list[_Wrong]:
    if not files:
        return []
    sizes = {
        detail.name: detail.size for detail in storage.details(join(folder, name), only=[file.name for file in files])
    }
    wrong = []
    for file in files:
        if file.name not in sizes:
            wrong.append(_Wrong(f"{name}/{file.name} is missing", is_missing=True))
        elif sizes[file.name] != file.size:
            reason = f"{name}/{file.name} has {sizes[file.name]} bytes, the manifest says {file.size}"
            wrong.append(_Wrong(reason))
        elif file.size <= MAX_COMPARED:
            wrong += _within(storage, join(folder, name, file.name), shown=f"{name}/{file.name}")
    return wrong


def _within(storage: ReadableStorage, address: str, *, shown: str) -> list[_Wrong]:
    """What is wrong within a file: Spark asks Hadoop's side file when it copies it, and RocksDB the checksums that it holds."""
    try:
        content = storage.read(address)
        if is_stale(storage, address, content):
            return [_Wrong(f"{shown} is not what its side file was written for")]
    except ObjectNotFoundError:
        return []
    if not address.endswith(_SST):
        return []
    if trouble := sst_trouble(content):
        return [_Wrong(f"{shown}: {trouble.reason}", may_stay_unread=trouble.is_data)]
    named, own = _NUMBER.match(address.rpartition("/")[2]), sst_number(content)
    if named and own is not None and own != int(named[0]):
        return [_Wrong(f"{shown}: it is a copy of the file with number {own}")]
    return []


def spark_trouble(storage: ReadableStorage, address: str, content: bytes) -> str:
    """Why Spark's own checksum refuses a file; empty where it fits or is gone. A broken one refuses it, too. StorageError."""
    try:
        return parse_spark_checksum(storage.read(f"{address}.crc"), address=f"{address}.crc").trouble(content)
    except (ObjectNotFoundError, ObjectUnreadableError):
        return ""
    except CheckpointError as error:
        return f"its checksum file can't be read: {error}"
