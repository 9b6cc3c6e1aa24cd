"""A range of files: what lies in the folder as Spark's file source would see it, within bounds, and the steps to read it in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from streamops.backfill.asked import PatternBound, RangeRefused, RequestedRange, StepsFound, TimeBound
from streamops.control.backfill_places import FilesPlace, PlannedFile, planned_file
from streamops.control.backfill_plan import Counted
from streamops.storage import ReadableStorage, join

MOST_FILES = 1_000
"""Of a step: it has no other size that is known before the files are read."""
MOST_STEPS = 1_000
"""Spark reads the whole log of its file source at each start, a file a step."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFiles:
    """What lies in a folder: the files that Spark would see there, or those of a pattern."""

    address: str
    files: tuple[PlannedFile, ...]
    is_whole: bool = True
    """Whether these are all: more than so many are not listed."""


def steps_of_files(asked: RequestedRange, folder: FolderFiles, *, files: int) -> StepsFound | RangeRefused:
    """The files of the range, the oldest first, in steps of at most so many."""
    if not folder.is_whole:
        return RangeRefused(
            reasons=(f"{folder.address} holds more files or folders than are listed here",),
            way_out="name fewer of them by a pattern (files:2026/11/*.json)",
        )
    chosen = _chosen(asked, folder)
    if isinstance(chosen, RangeRefused):
        return chosen
    size = min(files, MOST_FILES)
    parts = [chosen[at : at + size] for at in range(0, len(chosen), size)]
    if not parts:
        return RangeRefused(
            reasons=(f"the range is empty: no file of {folder.address} belongs to it",), way_out="ask for another range"
        )
    if len(parts) > MOST_STEPS:
        least = -(-len(chosen) // MOST_STEPS)
        return RangeRefused(
            reasons=(f"{len(chosen)} files in steps of {size} are {len(parts)} steps, more than {MOST_STEPS}",),
            way_out=f"take steps of {least} files at least (--chunk)",
        )
    return StepsFound(
        start=FilesPlace(step=-1), chunks=_places(parts), counted_in=Counted.FILES, notes=tuple(_notes(asked))
    )


def _chosen(asked: RequestedRange, folder: FolderFiles) -> list[PlannedFile] | RangeRefused:
    begin, end = asked.begin, asked.end
    if isinstance(begin, PatternBound) and begin == end:
        return _by_age(folder.files)
    if not isinstance(begin, TimeBound) or not isinstance(end, TimeBound):
        return RangeRefused(
            reasons=(f"the range {asked} names no files",),
            way_out="name both ends as times with a zone, which are those of the files' last change, or files by a pattern"
            " (files:2026/11/*.json)",
        )
    first, last = ((bound.at - _EPOCH) // _MILLISECOND for bound in (begin, end))
    return _by_age([file for file in folder.files if first <= file.modified_ms < last])


def _by_age(files: Sequence[PlannedFile]) -> list[PlannedFile]:
    return sorted(files, key=lambda file: (file.modified_ms, file.address))


def _places(parts: Sequence[Sequence[PlannedFile]]) -> tuple[FilesPlace, ...]:
    places: list[FilesPlace] = []
    taken = 0
    for step, part in enumerate(parts):
        taken += len(part)
        places.append(FilesPlace(step=step, files=tuple(part), taken=taken))
    return tuple(places)


def _notes(asked: RequestedRange) -> Sequence[str]:
    notes = ["A file counts as it is now: one that is written over or removed before its step ends the backfill there."]
    if isinstance(asked.begin, TimeBound):
        notes.append("A file's time is that of its last change, as the storage tells it.")
    return notes


MAX_FOLDERS = 1_000
MAX_FILES = 50_000

_PATTERN = re.compile(r"[*?\[]")


def folder_files(storage: ReadableStorage, address: str, *, pattern: str = "") -> FolderFiles:
    """The files at a source's address, which may be a pattern itself; below it those of a pattern where one is given.

    Without one, of the folders below only partitions (`day=1`) are followed, as Spark does (InMemoryFileIndex, 4.2). Raises
    StorageError.
    """
    base, inner = _split(address)
    parts = [*inner, *(pattern.split("/") if pattern else [])]
    *folder_parts, last = parts if pattern else [*parts, ""]
    folders, is_whole = _folders(storage, base, folder_parts)
    files: list[PlannedFile] = []
    while folders and len(files) <= MAX_FILES:
        folder = folders.pop()
        details = [detail for detail in storage.details(folder) if _is_visible(detail.name)]
        files += [planned_file(folder, one) for one in details if not last or fnmatchcase(one.name, last)]
        if not pattern:
            plain = {detail.name for detail in details}
            folders += [join(folder, name) for name in storage.list(folder) if "=" in name and name not in plain]
            is_whole = is_whole and len(folders) <= MAX_FOLDERS
            folders = folders[:MAX_FOLDERS]
    return FolderFiles(address=address, files=tuple(files[:MAX_FILES]), is_whole=is_whole and len(files) <= MAX_FILES)


def _split(address: str) -> tuple[str, Sequence[str]]:
    """The folder in front of the first part that is a pattern, and the parts from there on."""
    head, separator, path = address.partition("://")
    parts = path.split("/")
    plain = next((index for index, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    return head + separator + "/".join(parts[:plain]), parts[plain:]


def _folders(storage: ReadableStorage, base: str, parts: Sequence[str]) -> tuple[list[str], bool]:
    """The folders that a pattern stands for, and whether these are all."""
    folders, is_whole = [base], True
    for part in parts:
        found = [
            join(folder, name)
            for folder in folders
            for name in storage.list(folder)
            if _is_visible(name) and fnmatchcase(name, part)
        ]
        is_whole = is_whole and len(found) <= MAX_FOLDERS
        folders = found[:MAX_FOLDERS]
    return folders, is_whole


def _is_visible(name: str) -> bool:
    """Not one that Spark takes for hidden, or for a copy under way (HadoopFSUtils.shouldFilterOutPathName, 4.2)."""
    return not name.startswith((".", "_")) and not name.endswith("._COPYING_")
