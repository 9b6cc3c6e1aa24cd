"""The commits of a Delta table from one version on, as a streaming source is going to read them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

from streamops.deltalog.actions import actions_in
from streamops.deltalog.log_size import DELTA_LOG, commits_from
from streamops.errors import DeltaLogError, StorageError
from streamops.storage import ReadableStorage, join

MAX_COMMITS = 1_000
"""As many are read, the oldest first."""
MAX_BYTES = 64 * 1024 * 1024
"""Of those commits together."""
MAX_FILES_ASKED = 1_000
"""Removed data files that are looked for, those of the oldest versions first."""

_NAMES_A_FILE = re.compile(r"[^\0\ud800-\udfff]+").fullmatch
"""Else no file system is asked: it would not be an answer but an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedFile:
    """A data file that a commit added, and a later one took out of the table: VACUUM may delete it."""

    path: str
    """As the log has it: escape it before you show it."""
    version: int
    """Of the commit that added it."""
    index: int
    """Its place among the files of that commit."""
    removed_at: datetime | None
    """By the clock of whoever removed it; None where the commit does not say."""
    is_there: bool | None = None
    """None where nobody has looked, or it lies outside of the table's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingVersions:
    """What lies in the log from a version on."""

    first: int
    committed_at: datetime | None = None
    """When the commit of `first` was written, by the clock of the storage; None where it is not there."""
    read_to: int = -1
    """The newest version whose commit was read; -1 where none was."""
    is_whole: bool = True
    """Whether all commits from `first` on were read, and all files that they lost were looked for."""
    removed: tuple[RemovedFile, ...] = ()
    problem: str = ""
    """Why the rest could not be read; printable."""


def read_pending(storage: ReadableStorage, table: str, *, first: int) -> PendingVersions:
    """The commits of a table from `first` on, and which of their data files are gone.

    Reads MAX_COMMITS commits at most, one after the other. What can't be read is told in `problem`.
    """
    found = PendingVersions(first=first)
    try:
        commits = commits_from(storage, table, first)
        details = storage.details(join(table, DELTA_LOG), only=[name for _, name in commits[:MAX_COMMITS]])
        sizes = {detail.name: detail.size for detail in details}
        times = {detail.name: detail.modified_at for detail in details}
        lowest = next((name for version, name in commits if version == first), "")
        chosen = list(_within(commits[:MAX_COMMITS], sizes))
        found = replace(found, committed_at=times.get(lowest), is_whole=len(chosen) == len(commits))
        removed, read_to = _removed(storage, table, chosen)
        looked_for = _looked_for(storage, table, removed[:MAX_FILES_ASKED])
        is_whole = found.is_whole and len(removed) == len(looked_for)
        return replace(found, read_to=read_to, removed=looked_for, is_whole=is_whole)
    except (StorageError, DeltaLogError) as error:
        return replace(found, is_whole=False, problem=str(error))


def _within(commits: Sequence[tuple[int, str]], sizes: dict[str, int]) -> Iterator[tuple[int, str]]:
    """Those that fit into MAX_BYTES, the oldest first."""
    total = 0
    for version, name in commits:
        total += sizes.get(name, 0)
        if total > MAX_BYTES:
            return
        yield version, name


def _removed(storage: ReadableStorage, table: str, commits: Sequence[tuple[int, str]]) -> tuple[list[RemovedFile], int]:
    """Files that one of these commits added and a later one removed, by the version that added them."""
    added: dict[str, tuple[int, int]] = {}
    removed: dict[str, RemovedFile] = {}
    for version, name in commits:
        index = 0
        for action in _actions(storage, table, name):
            add, remove = action.get("add"), action.get("remove")
            # Files that only moved rows about are no input: their rows were read where they came in (OPTIMIZE).
            if isinstance(add, dict) and add.get("dataChange") is not False:
                added[str(add.get("path", ""))] = (version, index)
                index += 1
            if isinstance(remove, dict) and (path := str(remove.get("path"))) in added:
                came, place = added[path]
                when = _moment(remove.get("deletionTimestamp"))
                removed[path] = RemovedFile(path=path, version=came, index=place, removed_at=when)
    return sorted(removed.values(), key=lambda file: (file.version, file.index)), max(
        (version for version, _ in commits), default=-1
    )


def _actions(storage: ReadableStorage, table: str, name: str) -> Iterator[dict[str, object]]:
    address = join(table, DELTA_LOG, name)
    return actions_in(storage.read(address, limit=MAX_BYTES), address)


def _looked_for(storage: ReadableStorage, table: str, files: Sequence[RemovedFile]) -> tuple[RemovedFile, ...]:
    """The same with the word of the storage, which is asked folder by folder."""
    places = {file.path: _place(file.path) for file in files}
    folders: dict[str, list[str]] = {}
    for place in places.values():
        if place:
            folders.setdefault(place[0], []).append(place[1])
    there = {
        (folder, detail.name)
        for folder, names in folders.items()
        for detail in storage.details(join(table, folder) if folder else table, only=names)
    }
    return tuple(replace(file, is_there=place in there if (place := places[file.path]) else None) for file in files)


def _place(path: str) -> tuple[str, str] | None:
    """Folder and name within the table; None for a file that lies elsewhere, as those of a shallow clone do, or nowhere."""
    plain = unquote(path)
    if "://" in plain or plain.startswith(("/", "file:")) or ".." in plain.split("/") or not _NAMES_A_FILE(plain):
        return None
    folder, _, name = plain.rpartition("/")
    return folder, name


def _moment(milliseconds: object) -> datetime | None:
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool):
        return None
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
