"""What the sources keep for themselves in a checkpoint, `sources/<i or name>/`.

Spark classes: FileStreamSourceLog (which files a batch took), the initial offset logs of KafkaMicroBatchStream and
RateStreamMicroBatchStream; 3.5 to 4.3. The folder's name tells no kind, the content does. A file source's log id is not
the batch id: it is the `logOffset` of the offset log.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from streamops.checkpoint.compact_log import CompactLog, IdRange, compact_log, entry_lines, gaps, json_object
from streamops.errors import CheckpointError, ObjectNotFoundError, ObjectTooLargeError, StorageError
from streamops.storage import DEFAULT_READ_LIMIT, ReadableStorage, join

T = TypeVar("T")

SOURCES = "sources"
MAX_FOLDERS = 100
MAX_LOG_FILES = 100
"""Log files read of one source: ten times what Spark itself reads between two compact files."""
MAX_INPUT_FILES = 10_000
SHOWN = 20

_FOLDER = re.compile(r"[A-Za-z0-9_]{1,255}")
_MILLISECONDS = re.compile(r"-?[0-9]{1,19}")
_DELTA_SCHEMA_LOG = "_schema_log"


class SourceKind(StrEnum):
    """What a source's folder holds."""

    FILE = "file"
    KAFKA = "kafka"
    RATE = "rate"
    DELTA_SCHEMA_LOG = "delta-schema-log"
    OTHER = "other"
    """Something readable of another form."""
    UNKNOWN = "unknown"
    """Nothing that tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """An input file that a batch of a file source took."""

    path: str
    """An absolute URI, as Spark wrote it."""
    modified_ms: int
    log_id: int


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
    absent: tuple[IdRange, ...] = ()
    """Log ids that were asked for and that no file holds."""
    unread: tuple[str, ...] = ()
    """Log files passed over because they are too large or too many, the first of them."""
    unread_total: int = 0
    broken: tuple[BrokenSourceFile, ...] = ()

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
    """The sources of a checkpoint; of file sources the entries of the log ids asked for, by folder.

    A compact file repeats the whole history: one above `limit` bytes is named in `unread`. Raises StorageError when
    `sources/` can't be asked; a single folder that can't is a broken one.
    """
    names = storage.list(join(checkpoint, SOURCES))
    folders = sorted((name for name in names if _FOLDER.fullmatch(name)), key=_plan_order)
    return SourceLogs(
        sources=tuple(
            read_source_log(storage, checkpoint, folder, log_ids=(log_ids or {}).get(folder, range(0)), limit=limit)
            for folder in folders[:MAX_FOLDERS]
        ),
        foreign=len(names) - len(folders),
        unread_folders=len(folders[MAX_FOLDERS:]),
    )


def read_source_log(
    storage: ReadableStorage,
    checkpoint: str,
    folder: str,
    *,
    log_ids: range = range(0),
    limit: int = DEFAULT_READ_LIMIT,
) -> SourceLogFacts:
    """One source's folder; `log_ids` counts in steps of one."""
    path = f"{SOURCES}/{folder}"
    try:
        names = storage.list(join(checkpoint, path))
    except StorageError as error:
        return SourceLogFacts(folder=folder, broken=(BrokenSourceFile(file=path, reason=str(error)),))
    reading = _Reading(storage, checkpoint, path, limit=limit)
    log = compact_log(names)
    kind = reading.kind(names, log)
    if kind is SourceKind.FILE:
        reading.take_entries(log, log_ids)
    return reading.facts(folder, kind, log)


def parse_source_entries(content: bytes, *, address: str) -> list[SourceFile]:
    """The entries of a file of FileStreamSourceLog; CheckpointError naming file and line."""
    lines = entry_lines(content, address=address)
    return [_entry(line, place=f"{address} line {number}") for number, line in enumerate(lines, start=2)]


def parse_initial_offsets(content: bytes, *, address: str) -> str:
    """Kafka's JSON behind a byte 0 and, since Spark 2.2, a version line; CheckpointError naming the file."""
    if not content.startswith(b"\0"):
        raise CheckpointError(f"{address} does not begin with a byte 0: no initial offsets of Kafka")
    content = content[1:]
    # Spark 2.1 wrote no version, and no JSON object begins with a letter.
    lines = entry_lines(content, address=address) if content.startswith(b"v") else [content.decode(errors="replace")]
    text = "\n".join(lines)
    json_object(text, place=f"{address} line 2")
    return text


def parse_start_time(content: bytes, *, address: str) -> int:
    """The epoch milliseconds at which a rate source began; CheckpointError naming file and line."""
    lines = entry_lines(content, address=address)
    if len(lines) != 1 or not _MILLISECONDS.fullmatch(lines[0]):
        raise CheckpointError(f"{address} line 2: no number of milliseconds")
    return int(lines[0])


def content_kind(content: bytes) -> SourceKind:
    """The kind of source that writes such a file. Never raises."""
    if content.startswith(b"\0"):
        return SourceKind.KAFKA
    version, line, *_ = (*content.decode(errors="replace").split("\n", maxsplit=2), "")
    if version != "v1" or not line:
        return SourceKind.OTHER if version not in ("", "v1") else SourceKind.UNKNOWN
    if _MILLISECONDS.fullmatch(line):
        return SourceKind.RATE
    if not line.startswith("{"):
        return SourceKind.OTHER
    try:
        return SourceKind.FILE if "path" in json_object(line, place="") else SourceKind.OTHER
    except CheckpointError:
        # No other source writes an object here, so a cut one is a file source's.
        return SourceKind.FILE


class _Reading:
    """Collects what one source's folder holds."""

    def __init__(self, storage: ReadableStorage, checkpoint: str, path: str, *, limit: int) -> None:
        self._storage = storage
        self._checkpoint = checkpoint
        self._path = path
        self._limit = limit
        self._initial_offsets: str | None = None
        self._started_ms: int | None = None
        self._files: list[SourceFile] = []
        self._files_total = 0
        self._absent: tuple[IdRange, ...] = ()
        self._unread: list[str] = []
        self._broken: dict[str, BrokenSourceFile] = {}

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

    def take_entries(self, log: CompactLog, log_ids: range) -> None:
        """Read each log id's own file, and the newest compact file for ids whose file was cleaned up, as Spark does."""
        if not log_ids:
            return
        own = {known for known in log.plain | log.compact if known in log_ids and log.holds(known)}
        newest_compact = max(filter(log.holds, log.compact), default=-1)
        missing = gaps(own, first=log_ids[0], last=log_ids[-1])
        self._absent = tuple(
            IdRange(first=max(gap.first, newest_compact + 1), last=gap.last)
            for gap in missing
            if gap.last > newest_compact
        )
        if any(gap.first <= newest_compact for gap in missing):
            own.discard(newest_compact)
            self._take(log.file_name(newest_compact), log_ids, without=own)
        wanted = sorted(own)
        for log_id in wanted[:MAX_LOG_FILES]:
            self._take(log.file_name(log_id), range(log_id, log_id + 1))
        self._unread.extend(f"{self._path}/{log.file_name(log_id)}" for log_id in wanted[MAX_LOG_FILES:])

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
            absent=self._absent,
            unread=tuple(self._unread[:SHOWN]),
            unread_total=len(self._unread),
            broken=tuple(self._broken.values()),
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

    def _take(self, name: str, log_ids: range, *, without: Set[int] = frozenset()) -> None:
        entries = self._read(name, lambda content, file: parse_source_entries(content, address=file)) or []
        found = [entry for entry in entries if entry.log_id in log_ids and entry.log_id not in without]
        self._files_total += len(found)
        self._files.extend(found[: MAX_INPUT_FILES - len(self._files)])

    def _read(self, name: str, parse: Callable[[bytes, str], T]) -> T | None:
        """The parsed file; None when it is broken, too large, or was cleaned up since the listing."""
        file = f"{self._path}/{name}"
        try:
            return parse(self._storage.read(join(self._checkpoint, file), limit=self._limit), file)
        except ObjectNotFoundError:
            return None
        except ObjectTooLargeError:
            self._unread.append(file)
        except (CheckpointError, StorageError) as error:
            self._broken[file] = BrokenSourceFile(file=file, reason=str(error))
        return None


def _entry(line: str, *, place: str) -> SourceFile:
    entry = json_object(line, place=place)
    path, modified, log_id = entry.get("path"), entry.get("timestamp"), entry.get("batchId")
    if not isinstance(path, str) or type(modified) is not int or type(log_id) is not int:
        raise CheckpointError(f"{place}: an entry has a path, a timestamp and a batchId")
    return SourceFile(path=path, modified_ms=modified, log_id=log_id)


def _plan_order(folder: str) -> tuple[int, str]:
    return (int(folder) if folder.isdecimal() and len(folder) < 10 else 1 << 32, folder)
