"""A range of files, by what lies in the folder, and in steps. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streamops.backfill.asked import PatternBound, RangeRefused, RequestedRange, StepsFound, TimeBound
from streamops.control.backfill_places import FilesPlace, PlannedFile
from streamops.control.backfill_plan import Counted

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
