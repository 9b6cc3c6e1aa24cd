"""What the sources keep for themselves in a checkpoint, `sources/<i or name>/`.

Spark classes: FileStreamSourceLog (which files a batch took), the initial offset logs of KafkaMicroBatchStream and
RateStreamMicroBatchStream; 3.5 to 4.3. The folder's name tells no kind, the content does. A file source's log id is not
the batch id: it is the `logOffset` of the offset log.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import TypeVar

from streamops.checkpoint.compact_log import CompactLog, IdRange, compact_bytes, compact_log, gaps
from streamops.checkpoint.source_entries import (
    SourceFile,
    SourceKind,
    content_kind,
    parse_initial_offsets,
    parse_source_entries,
    parse_start_time,
)
from streamops.errors import (
    CheckpointError,
    ObjectIsNoFileError,
    ObjectNotFoundError,
    ObjectTooLargeError,
    StorageError,
)
from streamops.storage import DEFAULT_READ_LIMIT, ReadableStorage, join
from streamops.storage.side_files import is_stale

T = TypeVar("T")

SOURCES = "sources"
MAX_FOLDERS = 100
MAX_LOG_FILES = 100
"""Log files read of one source: ten times what Spark itself reads between two compact files."""
MAX_INPUT_FILES = 10_000
SHOWN = 20
NEGATIVE_BATCH = "has a negative batchId"
NULL_PATH = "path is null"

_FOLDER = re.compile(r"[A-Za-z0-9_]{1,255}")
_DELTA_SCHEMA_LOG = "_schema_log"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenSourceFile:
    """A file of a source that Spark could not read."""

    file: str
    """Relative to the checkpoint: `sources/0/4`."""
    reason: str
    """Names the line where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLogFacts:
    """One source's folder at one moment."""

    folder: str
    """`0`, `1` … in plan order, or a name with source evolution (4.2+)."""
    kind: SourceKind = SourceKind.UNKNOWN
    log: CompactLog = field(default_factory=CompactLog)
    initial_offsets: str | None = None
    """Kafka's own JSON text; Spark uses it only while the offset log has no value for the source."""
    started_ms: int | None = None
    """When a rate source began to count."""
    files: tuple[SourceFile, ...] = ()
    """Input files of the log ids that were asked for, at most MAX_INPUT_FILES."""
    files_total: int = 0
    ahead: tuple[SourceFile, ...] = ()
    """Input files of ids that the source has written down and no batch has planned: the next one takes them."""
    unlisted: tuple[int, ...] = ()
    """Log ids above the newest compact file whose file names no input of its own: it is empty, or a copy of another one."""
    renumbered: tuple[int, ...] = ()
    """Those whose file names input of its own, under another id: it is known to have been read, and no batch takes it."""
    exchanged: tuple[int, ...] = ()
    """Those of `renumbered` whose own entries stand in another file of the log."""
    left_out: tuple[int, ...] = ()
    """Log ids up to the newest compact file that had input of which the compact file, the only one read, says nothing."""
    repeated: tuple[tuple[SourceFile, SourceFile], ...] = ()
    """Entries with the path of one before them, behind that one; of those that a start reads, the first of them."""
    youngest_ms: int = 0
    """The latest time of any input file in the entries that were read; 0 for none."""
    absent: tuple[IdRange, ...] = ()
    """Log ids that were asked for and that no file holds."""
    unread: tuple[str, ...] = ()
    """Log files passed over because they are too large or too many, the first of them."""
    unread_total: int = 0
    broken: tuple[BrokenSourceFile, ...] = ()
    stale: tuple[str, ...] = ()
    """Files that can be read, and that Hadoop's side file beside them was not written for; relative to the checkpoint."""
    unreachable: tuple[BrokenSourceFile, ...] = ()
    """What could not be asked: not known to be damaged, nor to be whole."""
    compact_bytes: int | None = None
    """Of the newest compact file, which repeats everything before it; None where there is none."""

    @property
    def is_named(self) -> bool:
        """Whether the folder carries the source's name instead of its number."""
        return not self.folder.isdecimal()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLogs:
    """All folders of sources in a checkpoint."""

    sources: tuple[SourceLogFacts, ...] = ()
    foreign: int = 0
    """Names below `sources/` that no source can have."""
    unread_folders: int = 0


def read_source_logs(
    storage: ReadableStorage,
    checkpoint: str,
    *,
    log_ids: Mapping[str, range] | None = None,
    limit: int = DEFAULT_READ_LIMIT,
) -> SourceLogs:
    """The sources of a checkpoint; of file sources, which have a key in `log_ids`, the entries of the ids asked for.

    A compact file repeats the whole history: one above `limit` bytes is named in `unread`. Raises StorageError when
    `sources/` can't be asked; a single folder that can't is told in `unreachable`.
    """
    place = join(checkpoint, SOURCES)
    names = storage.list(place)
    folders = sorted((name for name in names if _FOLDER.fullmatch(name)), key=_plan_order)
    read = [
        read_source_log(
            storage,
            checkpoint,
            folder,
            log_ids=(log_ids or {}).get(folder, range(0)),
            reads_files=folder in (log_ids or {}),
            limit=limit,
        )
        for folder in folders[:MAX_FOLDERS]
    ]
    sources = tuple(source for source in read if not (source.unreachable and _is_file(storage, place, source.folder)))
    return SourceLogs(
        sources=sources,
        foreign=len(names) - len(folders) + len(read) - len(sources),
        unread_folders=len(folders[MAX_FOLDERS:]),
    )


def read_source_log(
    storage: ReadableStorage,
    checkpoint: str,
    folder: str,
    *,
    log_ids: range = range(0),
    reads_files: bool = False,
    is_restored: bool = False,
    limit: int = DEFAULT_READ_LIMIT,
) -> SourceLogFacts:
    """One source's folder; `log_ids` counts in steps of one. `reads_files`: whether its offsets are those of files.

    `is_restored`: what a start takes as read, which goes by the newest compact file alone for all ids up to it, and by whatever
    stands in a file; a batch takes the entries with its own id from the file of that id, as long as there is one.
    """
    path = f"{SOURCES}/{folder}"
    try:
        names = storage.list(join(checkpoint, path))
        log = compact_log(names)
        size = compact_bytes(storage, join(checkpoint, path), log)
    except StorageError as error:
        return SourceLogFacts(folder=folder, unreachable=(BrokenSourceFile(file=path, reason=str(error)),))
    reading = _Reading(storage, checkpoint, path, limit=limit, has_side_files=log.checksums > 0)
    kind = SourceKind.FILE if reads_files and (log.plain or log.compact) else reading.kind(names, log)
    if kind is SourceKind.FILE:
        reading.take_entries(log, log_ids, is_restored=is_restored)
        if reads_files:
            reading.take_ahead(log, above=log_ids.stop - 1)
        reading.compare_ids(log, compact_bytes=size)
    return replace(reading.facts(folder, kind, log), compact_bytes=size)


class _Reading:
    """Collects what one source's folder holds."""

    def __init__(
        self, storage: ReadableStorage, checkpoint: str, path: str, *, limit: int, has_side_files: bool
    ) -> None:
        self._storage = storage
        self._checkpoint = checkpoint
        self._path = path
        self._limit = limit
        self._has_side_files = has_side_files
        self._initial_offsets: str | None = None
        self._started_ms: int | None = None
        self._files: list[SourceFile] = []
        self._files_total = 0
        self._ahead: list[SourceFile] = []
        self._absent: tuple[IdRange, ...] = ()
        self._unlisted: tuple[int, ...] = ()
        self._renumbered: tuple[int, ...] = ()
        self._exchanged: tuple[int, ...] = ()
        self._left_out: tuple[int, ...] = ()
        self._repeated: tuple[tuple[SourceFile, SourceFile], ...] = ()
        self._entries: dict[str, list[SourceFile]] = {}
        self._nameless: dict[str, list[int]] = {}
        """Ids of entries without a path."""
        self._unread: list[str] = []
        self._gone = False
        """Whether a file was cleaned up since the listing: what it held is in a compact file by now."""
        self._broken: dict[str, BrokenSourceFile] = {}
        self._unreachable: dict[str, BrokenSourceFile] = {}
        self._stale: dict[str, None] = {}

    def kind(self, names: Iterable[str], log: CompactLog) -> SourceKind:
        """The folder's kind, by names where they tell, else by the first and then the newest file."""
        if any(name.startswith(_DELTA_SCHEMA_LOG) for name in names):
            return SourceKind.DELTA_SCHEMA_LOG
        if log.compact:
            return SourceKind.FILE
        if not log.plain:
            return SourceKind.OTHER if log.foreign else SourceKind.UNKNOWN
        tastes = (self._read(str(log_id), self._taste) for log_id in dict.fromkeys((min(log.plain), max(log.plain))))
        return next((kind for kind in tastes if kind), SourceKind.UNKNOWN)

    def take_entries(self, log: CompactLog, log_ids: range, *, is_restored: bool) -> None:
        """Read each log id's own file, and the newest compact file for ids whose file was cleaned up, as Spark does."""
        if not log_ids:
            return
        newest_compact = log.newest_compact
        first_own = newest_compact + 1 if is_restored else 0
        own = {
            known for known in log.plain | log.compact if known in log_ids and log.holds(known) and known >= first_own
        }
        missing = gaps(own, first=log_ids[0], last=log_ids[-1])
        self._absent = tuple(
            IdRange(first=max(gap.first, newest_compact + 1), last=gap.last)
            for gap in missing
            if gap.last > newest_compact
        )
        if any(gap.first <= newest_compact for gap in missing):
            own.discard(newest_compact)
            self._take(log.file_name(newest_compact), log_ids, without=own, is_restored=is_restored)
        wanted = sorted(own)
        for log_id in wanted[:MAX_LOG_FILES]:
            self._take(log.file_name(log_id), range(log_id, log_id + 1), is_restored=is_restored)
        self._unread.extend(f"{self._path}/{log.file_name(log_id)}" for log_id in wanted[MAX_LOG_FILES:])

    def take_ahead(self, log: CompactLog, *, above: int) -> None:
        """The ids that the source has written down, and no batch has planned."""
        for log_id in sorted(known for known in log.plain | log.compact if known > above and log.holds(known))[:SHOWN]:
            self._ahead += [entry for entry in self._entries_of(log.file_name(log_id)) if entry.log_id == log_id]
            self._tell_nameless(log.file_name(log_id), range(log_id, log_id + 1))

    def compare_ids(self, log: CompactLog, *, compact_bytes: int | None) -> None:
        """Whether each id from the newest compact file on, which is what a start reads, has entries of its own."""
        newer = sorted(known for known in log.plain if known > log.newest_compact and log.holds(known))[-MAX_LOG_FILES:]
        if compact_bytes is not None and compact_bytes <= MAX_COMPARED:
            newer.insert(0, log.newest_compact)
        files = {known: self._entries_of(log.file_name(known)) for known in newer}
        self._check_last_entry(files, log)
        if self._broken or self._unread or self._gone:
            return
        listed = {entry.log_id for entries in files.values() for entry in entries}
        named = Counter(path for entries in files.values() for path in {entry.path for entry in entries})
        astray = [known for known in newer if all(entry.log_id != known for entry in files[known])]
        # A compact file repeats all before it, so that one without its own id is a copy of another one.
        own = {
            known
            for known in astray
            if known != log.newest_compact and any(named[entry.path] == 1 for entry in files[known])
        }
        lost = set(astray) - listed
        empty = {known for known in astray if not files[known]}
        # A file that names nothing took the entries of an id with it, perhaps those of another file that changed places with it.
        self._unlisted = tuple(sorted(lost | empty if lost and empty else lost - own))
        self._renumbered = tuple(sorted(own))
        self._exchanged = tuple(sorted(own & listed))
        if not astray:
            self._repeated = tuple(_repeated(entry for known in newer for entry in files[known]))[:SHOWN]
        if log.newest_compact in files and log.newest_compact not in astray:
            self._left_out = self._not_carried_over(log, files[log.newest_compact])

    def _not_carried_over(self, log: CompactLog, compacted: list[SourceFile]) -> tuple[int, ...]:
        """Ids that a compact file should repeat, and of which it lacks input.

        Spark writes no id without input (FileStreamSource.fetchMaxOffset, 4.2.0) and keeps their order, so that a missing
        number is an entry that was taken out. The single files tell more, for as long as Spark keeps them: where one has more
        entries of its own id. Where it has others, it may be the one that was edited or replaced, and no start reads it.
        """
        ids = [entry.log_id for entry in compacted]
        kept = Counter(ids)
        single = [log_id for log_id in log.plain if log.newest_compact - log.interval < log_id < log.newest_compact]
        named = {
            log_id: {entry.path for entry in self._peek(str(log_id)) if entry.log_id == log_id and entry.path}
            for log_id in sorted(single)[-MAX_LOG_FILES:]
        }
        lacking = {log_id for log_id, paths in named.items() if kept[log_id] < len(paths)}
        if ids == sorted(ids) and ids[0] >= 0 and ids[-1] == log.newest_compact:
            skipped = (gap.first for gap in gaps(set(ids), first=0, last=log.newest_compact))
            lacking |= {log_id for log_id in skipped if not named.get(log_id)}
        return tuple(sorted(lacking))

    def _peek(self, name: str) -> list[SourceFile]:
        """The entries of a file that no start reads: one that can't be read says nothing."""
        file = f"{self._path}/{name}"
        try:
            return parse_source_entries(
                self._storage.read(join(self._checkpoint, file), limit=self._limit), address=file
            )
        except (StorageError, CheckpointError):
            return []

    def _check_last_entry(self, files: Mapping[int, list[SourceFile]], log: CompactLog) -> None:
        """What FileStreamSourceLog.restore does at a start: the batch of the very last entry must not be negative (4.2.0)."""
        filled = [known for known, entries in files.items() if entries]
        if filled and files[filled[-1]][-1].log_id < 0:
            file = f"{self._path}/{log.file_name(filled[-1])}"
            self._broken[file] = BrokenSourceFile(file=file, reason=f"{file}: its last entry {NEGATIVE_BATCH}")

    def facts(self, folder: str, kind: SourceKind, log: CompactLog) -> SourceLogFacts:
        """Everything collected."""
        return SourceLogFacts(
            folder=folder,
            kind=kind,
            log=log,
            initial_offsets=self._initial_offsets,
            started_ms=self._started_ms,
            files=tuple(self._files),
            files_total=self._files_total,
            ahead=tuple(self._ahead[:MAX_INPUT_FILES]),
            unlisted=self._unlisted,
            renumbered=self._renumbered,
            exchanged=self._exchanged,
            left_out=self._left_out,
            repeated=self._repeated,
            youngest_ms=max((entry.modified_ms for read in self._entries.values() for entry in read), default=0),
            absent=self._absent,
            unread=tuple(self._unread[:SHOWN]),
            unread_total=len(self._unread),
            broken=tuple(self._broken.values()),
            stale=tuple(self._stale),
            unreachable=tuple(self._unreachable.values()),
        )

    def _taste(self, content: bytes, file: str) -> SourceKind:
        kind = content_kind(content)
        if not content:
            raise CheckpointError(f"{file} is empty")
        try:
            if kind is SourceKind.KAFKA:
                self._initial_offsets = parse_initial_offsets(content, address=file)
            elif kind is SourceKind.RATE:
                self._started_ms = parse_start_time(content, address=file)
            elif kind is SourceKind.FILE:
                parse_source_entries(content, address=file)
        except CheckpointError as error:
            self._broken[file] = BrokenSourceFile(file=file, reason=str(error))
        return kind

    def _take(self, name: str, log_ids: range, *, without: Set[int] = frozenset(), is_restored: bool = False) -> None:
        found = [
            entry
            for entry in self._entries_of(name)
            if is_restored or (entry.log_id in log_ids and entry.log_id not in without)
        ]
        if not is_restored:
            self._tell_nameless(name, log_ids)
        self._files_total += len(found)
        self._files.extend(found[: MAX_INPUT_FILES - len(self._files)])

    def _tell_nameless(self, name: str, log_ids: range) -> None:
        """What the next batch reads, or the last one has read, a start asks for: there an entry without a path is in the way."""
        if any(log_id in log_ids for log_id in self._nameless.get(name, ())):
            file = f"{self._path}/{name}"
            self._broken[file] = BrokenSourceFile(file=file, reason=f"{file}: an entry's {NULL_PATH}")

    def _entries_of(self, name: str) -> list[SourceFile]:
        """Of one file, read once: those that name an input file; none where it can't be read."""
        if name not in self._entries:
            entries = self._read(name, lambda content, file: parse_source_entries(content, address=file)) or []
            self._entries[name] = [entry for entry in entries if entry.path]
            self._nameless[name] = [entry.log_id for entry in entries if not entry.path]
        return self._entries[name]

    def _read(self, name: str, parse: Callable[[bytes, str], T]) -> T | None:
        """The parsed file; None when it is broken, too large, or was cleaned up since the listing."""
        file = f"{self._path}/{name}"
        address = join(self._checkpoint, file)
        try:
            content = self._storage.read(address, limit=self._limit)
            parsed = parse(content, file)
            if self._has_side_files and is_stale(self._storage, address, content):
                self._stale[file] = None
            return parsed
        except ObjectNotFoundError:
            self._gone = True
        except ObjectTooLargeError:
            self._unread.append(file)
        except (CheckpointError, ObjectIsNoFileError) as error:
            self._broken[file] = BrokenSourceFile(file=file, reason=str(error))
        except StorageError as error:
            self._unreachable[file] = BrokenSourceFile(file=file, reason=str(error))
        return None


def _repeated(entries: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, SourceFile]]:
    known: dict[str, SourceFile] = {}
    for entry in entries:
        if entry.path in known:
            yield known[entry.path], entry
        known[entry.path] = entry


def _is_file(storage: ReadableStorage, place: str, name: str) -> bool:
    """Whether a name that can't be listed is a stray file, which no source can be."""
    try:
        return bool(storage.details(place, only=[name]))
    except StorageError:
        return False


def _plan_order(folder: str) -> tuple[int, str]:
    return (int(folder) if folder.isdecimal() and len(folder) < 10 else 1 << 32, folder)


MAX_COMPARED = 1 << 20
"""Bytes of a compact file up to which its entries are looked at at each check: some seven thousand input files."""
