"""How large each kind of the suite's own files may be: nothing that it writes is larger than what it reads.

The one place where such files are read, written and created. What is too large is refused before anything is written: a
file that nobody can read any more would hold up every later look. What Spark and other tools write has limits of its own,
beside its readers.
"""

from dataclasses import dataclass
from enum import StrEnum

from streamops.errors import ObjectTooLargeError
from streamops.storage.port import ReadableStorage, Storage, WritableStorage

_KIB = 1024
_MIB = 1024 * _KIB


class FileKind(StrEnum):
    """What a file of the suite is, in the words of its errors."""

    RECORD = "control record"
    SNAPSHOT = "snapshot of a control log"
    HEARTBEAT = "heartbeat"
    PROGRESS = "progress file"
    EXIT = "exit record"
    STATE_ROOT = "marker of a state root"
    REGISTRY_ENTRY = "registry entry"
    ATTENDANCE = "sign of attendance"
    BACKFILL_PLAN = "plan of a backfill"
    REPLAY = "file of a replay"
    FINDINGS = "book of findings"
    COVERAGE = "coverage history"
    VERDICTS = "verdicts of a day"
    VERDICT_CHANGE = "change of a verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Bytes of one kind of file. Raises ValueError where more could be written than is read."""

    written: int
    read: int
    """Often more than is written: older versions knew no bound, and what they left must stay readable."""
    way_out: str = "report it: nothing that is put in makes it so large in normal life"

    def __post_init__(self) -> None:
        if self.written > self.read:
            raise ValueError(f"{self.written} bytes may be written and {self.read} are read")


BOUNDS: dict[FileKind, Bound] = {
    FileKind.RECORD: Bound(
        written=_MIB,
        read=16 * _MIB,
        way_out="a claim holds the declaration of its stream: name fewer topics, or move long parameters to a file",
    ),
    # Twice a thousand ends with their error classes, cut as the fold cuts them, are 3 MiB.
    FileKind.SNAPSHOT: Bound(written=8 * _MIB, read=8 * _MIB),
    FileKind.HEARTBEAT: Bound(written=_MIB, read=4 * _MIB),
    FileKind.PROGRESS: Bound(written=4 * _MIB, read=4 * _MIB),
    FileKind.EXIT: Bound(written=256 * _KIB, read=4 * _MIB),
    FileKind.STATE_ROOT: Bound(written=64 * _KIB, read=4 * _MIB),
    FileKind.REGISTRY_ENTRY: Bound(written=64 * _KIB, read=4 * _MIB, way_out="shorten the addresses of the stream"),
    FileKind.ATTENDANCE: Bound(written=64 * _KIB, read=4 * _MIB),
    # A thousand steps over two thousand partitions take half of it.
    FileKind.BACKFILL_PLAN: Bound(
        written=64 * _MIB, read=64 * _MIB, way_out="ask for larger steps (--chunk), or for a shorter range"
    ),
    # A plan of 100 000 dead letters takes some two megabytes, its outcome five.
    FileKind.REPLAY: Bound(written=64 * _MIB, read=64 * _MIB, way_out="choose fewer dead letters at once"),
    # Some 300 bytes a finding: five thousand streams with several each.
    FileKind.FINDINGS: Bound(written=16 * _MIB, read=16 * _MIB),
    FileKind.COVERAGE: Bound(written=4 * _MIB, read=4 * _MIB),
    FileKind.VERDICTS: Bound(written=4 * _MIB, read=4 * _MIB),
    FileKind.VERDICT_CHANGE: Bound(written=64 * _KIB, read=4 * _MIB),
}


def read_file(storage: ReadableStorage, kind: FileKind, address: str) -> bytes:
    """A file of this kind. Raises what `ReadableStorage.read` raises."""
    return storage.read(address, limit=BOUNDS[kind].read)


def write_file(storage: WritableStorage, kind: FileKind, address: str, content: bytes) -> None:
    """Create or replace a file of this kind. ObjectTooLargeError above its bound, StorageError."""
    storage.write(address, _within(kind, address, content))


def create_file(storage: Storage, kind: FileKind, address: str, content: bytes) -> None:
    """Create a file of this kind. ObjectTooLargeError above its bound, and what `Storage.create` raises."""
    storage.create(address, _within(kind, address, content))


def _within(kind: FileKind, address: str, content: bytes) -> bytes:
    bound = BOUNDS[kind]
    if len(content) > bound.written:
        raise ObjectTooLargeError(
            f"{address} was not written: as {kind} it may have {bound.written} bytes, it would have {len(content)}:"
            f" {bound.way_out}"
        )
    return content
