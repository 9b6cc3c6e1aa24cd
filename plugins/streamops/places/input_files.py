"""The input folder of a file source beside what the source's log says was read of it.

Spark classes: FileStreamSource, FileStreamSourceLog, InMemoryFileIndex; 3.5 to 4.3. The log knows files by their full address
only, so a file of the same name with another content is an old acquaintance, and one in another place is new.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

from streamops.checkpoint.inspect import CheckpointSnapshot, input_in_flight, input_written_down
from streamops.checkpoint.source_entries import SourceKind
from streamops.checkpoint.source_log import SourceLogFacts, read_source_log
from streamops.errors import SettingsError, StorageError
from streamops.storage import ReadableStorage, canonical_address, is_inside, join, parent

MAX_FOLDERS = 200
MAX_FILES = 10_000

_PATTERN = re.compile(r"[*?\[{]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFile:
    """A file that a batch took."""

    address: str
    """Canonical, so that two spellings of one place are one."""
    modified_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that lies in the folder."""

    address: str
    modified_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFile:
    """A file that the next batch takes, by what is planned or written down."""

    address: str
    modified_at: datetime
    """When the source took it for the batch."""
    found_at: datetime | None
    """The time that it has now; None where it is gone, or could not be asked for."""
    is_in_flight: bool
    """Whether it belongs to the batch in flight; else the source has written it down for the batch after the newest one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFacts:
    """One input folder and the log of the source that reads it."""

    address: str
    """Without the part that is a pattern."""
    problem: str = ""
    """Why the folder could not be listed."""
    source: str = ""
    """`sources/0`; empty where no source of the checkpoint reads files."""
    files: tuple[InputFile, ...] = ()
    recorded: tuple[RecordedFile, ...] = ()
    planned: tuple[TakenFile, ...] = ()
    is_whole: bool = True
    """Whether all files in the folder and all entries of the log are here: only then a file can be told unread."""

    @property
    def is_moved(self) -> bool:
        """Whether nothing that was ever read lies here."""
        return bool(self.recorded) and not any(is_inside(file.address, self.address) for file in self.recorded)

    @property
    def outside(self) -> tuple[RecordedFile, ...]:
        """Files that were read elsewhere after others had been read here: those before may be of a folder that it had then."""
        inside = [is_inside(file.address, self.address) for file in self.recorded]
        first = inside.index(True) if True in inside else len(inside)
        return tuple(file for file, is_here in list(zip(self.recorded, inside, strict=True))[first:] if not is_here)

    @property
    def unread(self) -> tuple[InputFile, ...]:
        """Files that no batch has taken; none where that can't be told."""
        known = {file.address for file in self.recorded}
        return tuple(file for file in self.files if file.address not in known) if self.is_whole else ()

    @property
    def renamed(self) -> tuple[tuple[RecordedFile, InputFile], ...]:
        """Files that were read and are not there, each with the one unread file that has its very time.

        Only where a file that was read before is still there: what cleans a folder up begins with the oldest.
        """
        here = {file.address for file in self.files}
        kept = next((index for index, file in enumerate(self.recorded) if file.address in here), len(self.recorded))
        at = Counter(file.modified_at for file in self.files)
        unread = {file.modified_at: file for file in self.unread if at[file.modified_at] == 1}
        gone = [file for file in self.recorded[kept:] if file.address not in here]
        times = Counter(file.modified_at for file in gone)
        return tuple(
            (file, unread[file.modified_at])
            for file in gone
            if file.modified_at in unread and times[file.modified_at] == 1
        )


def read_input(
    storage: ReadableStorage, checkpoint: str, snapshot: CheckpointSnapshot, *, address: str, chooses: bool = False
) -> InputFacts:
    """Compare a canonical input address with the sources' logs. Whatever can't be asked is told in `problem`.

    `chooses`: whether the source takes some of the files there only, by an option.
    """
    folder, has_pattern = _without_pattern(address)
    source, recorded, is_log_whole = _recorded(storage, checkpoint, snapshot, folder)
    try:
        planned = tuple(_planned(storage, snapshot, folder))
        files, is_all = _files_below(storage, folder)
        problem = "" if files or _is_there(storage, folder) else "there is no such folder"
    except StorageError as error:
        planned, files, is_all, problem = (), (), False, str(error)
    return InputFacts(
        address=folder,
        problem=problem,
        source=source,
        files=files,
        recorded=recorded,
        planned=planned,
        is_whole=is_all and is_log_whole and not has_pattern and not chooses,
    )


def _planned(storage: ReadableStorage, snapshot: CheckpointSnapshot, folder: str) -> Iterator[TakenFile]:
    """Asked for by name: a folder may hold far more than what is listed of it."""
    folders: dict[str, str] = {}
    taken = [
        (_canonical(file.path, folders, folder), _moment(file.modified_ms), is_in_flight)
        for files, is_in_flight in (
            (input_in_flight(snapshot.facts, snapshot.sources), True),
            (input_written_down(snapshot.sources), False),
        )
        for file in files
    ]
    names: dict[str, set[str]] = {}
    for address, _, _ in taken:
        if is_inside(address, folder):
            names.setdefault(parent(address), set()).add(address.rpartition("/")[2])
    found = {
        join(place, detail.name): detail.modified_at
        for place, only in list(names.items())[:MAX_FOLDERS]
        for detail in storage.details(place, only=only)
    }
    for address, modified_at, is_in_flight in taken:
        yield TakenFile(
            address=address, modified_at=modified_at, found_at=found.get(address), is_in_flight=is_in_flight
        )


def _without_pattern(address: str) -> tuple[str, bool]:
    """`/in/2026-*/x` is `/in`: what a pattern may stand for is not followed."""
    head, separator, path = address.partition("://")
    parts = path.split("/")
    plain = next((index for index, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    return head + separator + "/".join(parts[:plain]), plain < len(parts)


def _recorded(
    storage: ReadableStorage, checkpoint: str, snapshot: CheckpointSnapshot, folder: str
) -> tuple[str, tuple[RecordedFile, ...], bool]:
    """Of several sources that read files the one that has read most in this folder; none where none of them has read there."""
    candidates = [
        _history(storage, checkpoint, source, folder)
        for source in snapshot.sources.sources
        if source.kind is SourceKind.FILE and not source.unreachable
    ]
    inside = [sum(is_inside(file.address, folder) for file in found[1]) for found in candidates]
    # Where one source alone reads files, it is this one, and the folder is another than before.
    if not candidates or (len(candidates) > 1 and not any(inside)):
        return "", (), False
    return candidates[inside.index(max(inside))]


def _history(
    storage: ReadableStorage, checkpoint: str, source: SourceLogFacts, base: str
) -> tuple[str, tuple[RecordedFile, ...], bool]:
    """As much as is read of a log, and its newest entries in any case."""
    every = range(source.log.latest + 1)
    found = read_source_log(storage, checkpoint, source.folder, log_ids=every, reads_files=True, is_restored=True)
    is_whole = not (found.unread or found.broken or found.unreachable or found.absent)
    is_whole = is_whole and found.files_total == len(found.files)
    files = found.files
    if not is_whole:
        newest = read_source_log(storage, checkpoint, source.folder, log_ids=every[-NEWEST:], reads_files=True).files
        files = tuple(dict.fromkeys((*files, *newest)))
    # Each folder once: to follow its links takes a question for every part of its path.
    folders: dict[str, str] = {}
    recorded = tuple(
        RecordedFile(address=_canonical(file.path, folders, base), modified_at=_moment(file.modified_ms))
        for file in files
    )
    return f"sources/{source.folder}", recorded, is_whole


NEWEST = 20


def _canonical(path: str, folders: dict[str, str], base: str) -> str:
    """The address behind a URI with escapes; the text itself where it is none that we know, or that no listing gives.

    Spark notes a file below a folder as it lists it, and follows no links there: only a base that is spelled otherwise is. It
    compares texts, and its `Path` leaves no `.` or `..` in one (tried on 4.2.0).
    """
    place = unquote(path)
    if not {".", ".."}.isdisjoint(place.split("/")):
        return place
    folder = parent(place)
    if folder not in folders:
        plain = _LOCAL.sub("file:///", folder)
        folders[folder] = plain if is_inside(join(plain, "x"), base) else _canonical_folder(folder)
    return join(folders[folder], place.rpartition("/")[2])


_LOCAL = re.compile(r"^file:/+")


def _canonical_folder(folder: str) -> str:
    try:
        return canonical_address(folder)
    except (SettingsError, ValueError):
        return folder


def _moment(milliseconds: int) -> datetime:
    """Far beyond what a calendar holds is as good as its end, or its beginning."""
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return (datetime.max if milliseconds > 0 else datetime.min).replace(tzinfo=UTC)


def _files_below(storage: ReadableStorage, folder: str) -> tuple[tuple[InputFile, ...], bool]:
    """The files that Spark would see, and whether these are all: below the folder itself only partitions are followed."""
    files: list[InputFile] = []
    waiting, is_cut = [folder], False
    for _ in range(MAX_FOLDERS):
        if not waiting or len(files) > MAX_FILES:
            break
        place = waiting.pop()
        # Names cost one question, times one for each of them.
        names = [name for name in storage.list(place) if not _is_hidden(name)]
        asked = names[: MAX_FILES + 1 - len(files)]
        details = storage.details(place, only=asked)
        files += [InputFile(address=join(place, detail.name), modified_at=detail.modified_at) for detail in details]
        is_cut = is_cut or len(asked) < len(names)
        known = {detail.name for detail in details}
        waiting += [join(place, name) for name in asked if name not in known and "=" in name]
    return tuple(files[:MAX_FILES]), not is_cut and not waiting and len(files) <= MAX_FILES


def _is_hidden(name: str) -> bool:
    """As Spark takes it: `.x`, `_x`, and copies that are under way. A folder of a partition may begin with an underscore."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _is_there(storage: ReadableStorage, folder: str) -> bool:
    return bool(storage.list(folder)) or folder.rpartition("/")[2] in storage.list(parent(folder))
