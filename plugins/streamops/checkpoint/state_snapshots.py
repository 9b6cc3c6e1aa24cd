"""Whether the RocksDB snapshots that a start loads are whole: each file in their manifests is there, with its size.

Spark classes: RocksDBFileManager, RocksDBCheckpointMetadata; 3.5 to 4.3. Told from sizes, without RocksDB: what is inside an
SST file of the right size is not looked at.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from streamops.checkpoint.state_metadata import ManifestFile, parse_snapshot_zip, parse_spark_checksum
from streamops.errors import CheckpointError, ObjectNotFoundError, ObjectTooLargeError, ObjectUnreadableError
from streamops.storage import ReadableStorage, join, parent
from streamops.storage.side_files import is_stale, side_file

MAX_SNAPSHOTS = 20
"""Snapshots that are opened: of more stores the first ones stand for all."""
MAX_COMPARED = 1 << 20
"""Bytes of a file of a snapshot up to which it is compared with Hadoop's side file."""
SHOWN = 5


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
    shown = ", ".join(text for text, _ in wrong[:SHOWN])
    return BrokenStateFile(
        file=file,
        reason=f"{shown}{' …' if len(wrong) > SHOWN else ''}",
        lacks_files=any(is_missing for _, is_missing in wrong),
    )


def _wrong(storage: ReadableStorage, folder: str, name: str, files: Sequence[ManifestFile]) -> list[tuple[str, bool]]:
    """What is wrong with the files of a manifest, and whether they are missing."""
    if not files:
        return []
    sizes = {
        detail.name: detail.size for detail in storage.details(join(folder, name), only=[file.name for file in files])
    }
    wrong = []
    for file in files:
        if file.name not in sizes:
            wrong.append((f"{name}/{file.name} is missing", True))
        elif sizes[file.name] != file.size:
            wrong.append((f"{name}/{file.name} has {sizes[file.name]} bytes, the manifest says {file.size}", False))
        elif file.size <= MAX_COMPARED and _is_changed(storage, join(folder, name, file.name)):
            wrong.append((f"{name}/{file.name} is not what its side file was written for", False))
    return wrong


def _is_changed(storage: ReadableStorage, address: str) -> bool:
    """Whether a file is not the one that Hadoop's side file was written for, which Spark asks when it copies it."""
    try:
        return is_stale(storage, address, storage.read(address))
    except ObjectNotFoundError:
        return False


def spark_trouble(storage: ReadableStorage, address: str, content: bytes) -> str:
    """Why Spark's own checksum refuses a file; empty where it fits or is gone. A broken one refuses it, too. StorageError."""
    try:
        return parse_spark_checksum(storage.read(f"{address}.crc"), address=f"{address}.crc").trouble(content)
    except (ObjectNotFoundError, ObjectUnreadableError):
        return ""
    except CheckpointError as error:
        return f"its checksum file can't be read: {error}"
