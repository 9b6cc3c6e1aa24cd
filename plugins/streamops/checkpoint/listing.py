"""The names in `offsets/` or `commits/`, sorted by what they are.

Spark classes: HDFSMetadataLog for what counts as a batch, CheckpointFileManager and Hadoop's ChecksumFileSystem for what
lies beside them; 3.5 to 4.3.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import filterfalse, pairwise

from streamops.checkpoint.layout import ORDINARY_ID, batch_id
from streamops.storage import ReadableStorage

SHOWN_NAMES = 20
"""Enough to recognise what lies there; a folder may hold any number of strangers."""

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TEMPORARY = re.compile(rf"\.([^.]+)\.{_UUID}(?:\.TID\d+)?\.tmp", re.ASCII)
_CHECKSUM_END = ".crc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of one kind, as they are on disk: escape them before you show them."""

    count: int = 0
    first: tuple[str, ...] = ()
    """At most SHOWN_NAMES, in the order of the listing."""

    @classmethod
    def of(cls, names: list[str]) -> "Names":
        """Counts all, keeps the first."""
        return cls(count=len(names), first=tuple(names[:SHOWN_NAMES]))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogListing:
    """One log's folder at one moment."""

    ids: tuple[int, ...] = ()
    """Every batch that Spark counts, in order and once."""
    odd: tuple[str, ...] = ()
    """Names that count as a batch and that Spark never writes: `00004`, `-1`, `+3`."""
    temporaries: Names = Names()
    """`.7.<uuid>.tmp` and `.7.<uuid>.TID3.tmp`: left by a crash, never read, never deleted by Spark."""
    checksums: Names = Names()
    """`.7.crc`: Hadoop's side files on local file systems, of batches and of temporaries; that one is missing proves nothing."""
    foreign: Names = Names()
    """Everything else. Spark passes over it."""
    orphan_checksums: tuple[int, ...] = ()
    """Batches above the newest whose side file is there without them: whoever writes that batch finds it in the way."""

    @classmethod
    def of(cls, names: Iterable[str]) -> "LogListing":
        """Sorts the names of a folder."""
        names = tuple(names)
        # In one go: a log that nobody cleans up has a hundred thousand of them, and next to nothing else.
        ordinary = list(filter(ORDINARY_ID.fullmatch, names))
        ids = list(map(int, ordinary))
        others = () if len(ordinary) == len(names) else filterfalse(frozenset(ordinary).__contains__, names)
        odd: list[str] = []
        temporaries: list[str] = []
        checksums: list[str] = []
        foreign: list[str] = []
        for name in others:
            if name.startswith("."):
                _hidden_kind(name, temporaries, checksums, foreign).append(name)
            elif (batch := batch_id(name)) is None:
                foreign.append(name)
            else:
                ids.append(batch)
                if batch < 0 or name != str(batch):
                    odd.append(name)
        return cls(
            ids=tuple(sorted(set(ids) if odd else ids)),
            odd=tuple(odd),
            temporaries=Names.of(temporaries),
            checksums=Names.of(checksums),
            foreign=Names.of(foreign),
            orphan_checksums=_orphans(checksums, newest=max(ids, default=-1)),
        )

    @property
    def highest(self) -> int:
        """The newest batch; -1 for a log without entries."""
        return self.ids[-1] if self.ids else -1

    def holes(self) -> tuple[range, ...]:
        """The batches that are missing between the lowest and the highest, as ranges: one may span the whole of a long.

        Normal with async progress tracking when both logs have the same; below the newest two entries Spark never looks.
        """
        if not self.has_holes:
            return ()
        return tuple(range(low + 1, high) for low, high in pairwise(self.ids) if high - low > 1)

    @property
    def has_holes(self) -> bool:
        """Whether a batch is missing between the lowest and the highest; told without a walk over them."""
        return bool(self.ids) and self.ids[-1] - self.ids[0] + 1 > len(self.ids)


def read_listing(storage: ReadableStorage, folder: str) -> LogListing:
    """The listing of a folder; empty when there is no such folder. Raises StorageError when it can't be asked."""
    return LogListing.of(storage.list(folder))


def _orphans(checksums: list[str], *, newest: int) -> tuple[int, ...]:
    batches = (batch_id(name[1:].removesuffix(".crc")) for name in checksums)
    return tuple(sorted({batch for batch in batches if batch is not None and batch > newest}))


def _hidden_kind(name: str, temporaries: list[str], checksums: list[str], foreign: list[str]) -> list[str]:
    if name.endswith(_CHECKSUM_END):
        main = name[1:].removesuffix(_CHECKSUM_END)
        return checksums if batch_id(main) is not None or _is_temporary(main) else foreign
    return temporaries if _is_temporary(name) else foreign


def _is_temporary(name: str) -> bool:
    temporary = _TEMPORARY.fullmatch(name)
    return temporary is not None and batch_id(temporary[1]) is not None
