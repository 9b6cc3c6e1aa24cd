"""One look at a checkpoint: exactly the files that Spark itself reads at a start.

Two offset entries, one commit entry and `metadata` decide what the next start does (MicroBatchExecution, 3.5 to 4.3); a
broken one is a fact here, not an exception that hides the rest.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from streamops.checkpoint.commits import check_commit
from streamops.checkpoint.layout import COMMITS, METADATA, OFFSETS, batch_id
from streamops.checkpoint.offsets import OffsetEntry, parse_offsets
from streamops.errors import CheckpointError, ObjectNotFoundError, ObjectTooLargeError
from streamops.storage import ReadableStorage, join

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenFile:
    """A file that Spark would read and could not."""

    file: str
    """Relative to the checkpoint: `offsets/41`."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFacts:
    """A checkpoint as it stood at one moment; -1 for a log without entries."""

    address: str
    query_id: str | None
    last_offset: int
    last_commit: int
    newest: OffsetEntry | None = None
    """The newest offset entry, when it could be read."""
    has_previous_offset: bool = True
    """Whether the entry below the newest is there; true where none is needed."""
    broken: tuple[BrokenFile, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether no batch was ever planned here. `metadata` alone is no history: an availableNow run without input leaves it."""
        return self.last_offset < 0 and self.last_commit < 0

    @property
    def has_pending_batch(self) -> bool:
        """Whether the newest planned batch is not committed: the next start runs it again."""
        return self.last_offset > self.last_commit


def read_checkpoint(storage: ReadableStorage, address: str) -> CheckpointFacts:
    """Read a checkpoint; a folder that does not exist is a new checkpoint. Raises StorageError when it can't be asked."""
    # Commits first: a batch that ends between the two listings must not look like a commit without its offsets.
    last_commit = max(_batch_ids(storage, join(address, COMMITS)), default=-1)
    offset_ids = _batch_ids(storage, join(address, OFFSETS))
    last_offset = max(offset_ids, default=-1)
    reader = _Reader(storage, address)
    query_id = reader.read(METADATA, _query_id, is_listed=False)
    newest = reader.read_offsets(last_offset) if last_offset >= 0 else None
    if last_offset > 0 and last_offset - 1 in offset_ids:
        reader.read_offsets(last_offset - 1)
    if last_commit >= 0:
        reader.read(f"{COMMITS}/{last_commit}", lambda content, file: check_commit(content, address=file))
    return CheckpointFacts(
        address=address,
        query_id=query_id,
        last_offset=last_offset,
        last_commit=last_commit,
        newest=newest,
        has_previous_offset=last_offset <= 0 or last_offset - 1 in offset_ids,
        broken=tuple(reader.broken),
    )


class _Reader:
    """Reads files of one checkpoint and keeps what is broken."""

    def __init__(self, storage: ReadableStorage, address: str) -> None:
        self._storage = storage
        self._address = address
        self.broken: list[BrokenFile] = []

    def read(self, file: str, parse: Callable[[bytes, str], T], *, is_listed: bool = True) -> T | None:
        """The parsed file; None when it is broken, or not there although Spark would look for it under this name."""
        try:
            return parse(self._storage.read(join(self._address, file)), file)
        except ObjectNotFoundError:
            if is_listed:
                self.broken.append(BrokenFile(file=file, reason="a batch is listed, but not under this, its own name"))
            return None
        except (CheckpointError, ObjectTooLargeError) as error:
            self.broken.append(BrokenFile(file=file, reason=str(error)))
            return None

    def read_offsets(self, batch: int) -> OffsetEntry | None:
        return self.read(f"{OFFSETS}/{batch}", lambda content, file: parse_offsets(content, batch=batch, address=file))


def _batch_ids(storage: ReadableStorage, folder: str) -> frozenset[int]:
    return frozenset(batch for name in storage.list(folder) if (batch := batch_id(name)) is not None)


def _query_id(content: bytes, file: str) -> str:
    try:
        return str(UUID(json.loads(content)["id"]))
    except (ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{file} does not hold a query id: {error!r}") from error
