"""The commits of a Delta table that a streaming source has yet to read, and which of them stop its query, under which options.

Delta's streaming source reads rows that were added. On rows that were taken out it stops, unless an option says what to make of
them; on columns that its query does not have it stops each time (DeltaSource, Delta 4.4; tried with Spark 4.2.0).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

from streamops.deltalog.log_size import DELTA_LOG, actions_in, commits_from
from streamops.errors import DeltaLogError, StorageError
from streamops.storage import ReadableStorage, join

MAX_COMMITS = 1_000
"""As many are read, the oldest first."""
MAX_BYTES = 64 * 1024 * 1024
"""Of those commits together."""
MAX_FILES_ASKED = 1_000
"""Removed data files that are looked for, those of the oldest versions first."""

MAX_LOOKED_BACK = 50
"""Commits below the first that are read to see which columns the table had."""

Columns = tuple[tuple[str, str], ...]
"""Names and types of a table's columns, the types as the log has them."""

_NAMES_A_FILE = re.compile(r"[^\0\ud800-\udfff]+").fullmatch
"""Else no file system is asked: it would not be an answer but an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedFile:
    """A data file that a commit added, and a later one took out of the table, so that VACUUM may delete it; or that is gone."""

    path: str
    """As the log has it: escape it before you show it."""
    version: int
    """Of the commit that added it."""
    index: int
    """Its place among the files of that commit."""
    removed_at: datetime | None
    """By the clock of whoever removed it; None where the commit does not say, or no commit did."""
    is_there: bool | None = None
    """None where nobody has looked, or it lies outside of the table's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotableCommit:
    """A commit that does more than add rows."""

    version: int
    adds: bool = False
    """Whether it has files with new rows."""
    removes: bool = False
    """Whether it takes rows out: files that only moved rows about don't count (OPTIMIZE)."""
    columns: Columns | None = None
    """Of the table from this version on; None where the commit does not say, or says it in a form that is not known."""
    changes_metadata: bool = False
    has_blank_line: bool = False
    """Whoever reads the table's state passes over it; the source reads each line as an action."""
    reader_version: int = 0
    """`minReaderVersion`, where it changes the protocol."""
    reader_features: tuple[str, ...] = ()


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
    notable: tuple[NotableCommit, ...] = ()
    columns_before: Columns | None = None
    """Of the table before the first commit that changes its metadata; None where nothing near tells."""
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
        reading = _Reading()
        for version, name in chosen:
            address = join(table, DELTA_LOG, name)
            reading.take(version, storage.read(address, limit=MAX_BYTES), address)
        removed = reading.removed
        looked_for = _looked_for(storage, table, [*removed, *reading.kept][:MAX_FILES_ASKED])
        lost = (*looked_for[: len(removed)], *(file for file in looked_for[len(removed) :] if file.is_there is False))
        return replace(
            found,
            read_to=max((version for version, _ in chosen), default=-1),
            removed=tuple(sorted(lost, key=lambda file: (file.version, file.index))),
            is_whole=found.is_whole and len(removed) <= MAX_FILES_ASKED,
            notable=tuple(reading.notable),
            columns_before=_columns_before(storage, table, reading.notable),
        )
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


class _Reading:
    """What commits do that are taken one after the other."""

    def __init__(self) -> None:
        self.notable: list[NotableCommit] = []
        self._added: dict[str, tuple[int, int]] = {}
        self._removed: dict[str, RemovedFile] = {}

    @property
    def removed(self) -> list[RemovedFile]:
        """Files that one of these commits added and a later one removed, by the version that added them."""
        return sorted(self._removed.values(), key=lambda file: (file.version, file.index))

    @property
    def kept(self) -> list[RemovedFile]:
        """Files that one of these commits added, and none removed, the next to be read first."""
        kept = [
            RemovedFile(path=path, version=version, index=index, removed_at=None)
            for path, (version, index) in self._added.items()
            if path not in self._removed
        ]
        return sorted(kept, key=lambda file: (file.version, file.index))

    def take(self, version: int, content: bytes, address: str) -> None:
        """The next commit."""
        index = 0
        has_blank_line = any(not line.strip() for line in content.splitlines())
        commit = NotableCommit(version=version, has_blank_line=has_blank_line)
        for action in actions_in(content, address):
            add, remove = action.get("add"), action.get("remove")
            metadata, protocol = action.get("metaData"), action.get("protocol")
            # Files that only moved rows about are no input: their rows were read where they came in (OPTIMIZE).
            if isinstance(add, dict) and add.get("dataChange") is not False:
                self._added[str(add.get("path", ""))] = (version, index)
                commit = replace(commit, adds=True)
                index += 1
            if isinstance(remove, dict):
                self._take_out(remove)
                commit = replace(commit, removes=commit.removes or remove.get("dataChange") is not False)
            if isinstance(metadata, dict):
                commit = _with_metadata(commit, metadata)
            if isinstance(protocol, dict):
                commit = _with_protocol(commit, protocol)
        if commit.removes or commit.changes_metadata or commit.has_blank_line or commit.reader_version:
            self.notable.append(commit)

    def _take_out(self, remove: dict[str, object]) -> None:
        if (path := str(remove.get("path"))) in self._added:
            came, place = self._added[path]
            when = _moment(remove.get("deletionTimestamp"))
            self._removed[path] = RemovedFile(path=path, version=came, index=place, removed_at=when)


def _with_metadata(commit: NotableCommit, metadata: dict[str, object]) -> NotableCommit:
    return replace(commit, changes_metadata=True, columns=columns_of(metadata.get("schemaString")))


def _with_protocol(commit: NotableCommit, protocol: dict[str, object]) -> NotableCommit:
    version, features = protocol.get("minReaderVersion"), protocol.get("readerFeatures")
    return replace(
        commit,
        reader_version=version if type(version) is int else 0,
        reader_features=tuple(map(str, features)) if isinstance(features, list) else (),
    )


def columns_of(schema: object) -> Columns | None:
    """The columns in a table's `schemaString`; None for what is none."""
    try:
        fields = json.loads(schema).get("fields") if isinstance(schema, str) else None
    except (ValueError, RecursionError, AttributeError):
        return None
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        return None
    return tuple((str(field.get("name")), json.dumps(field.get("type"), sort_keys=True)) for field in fields)


def _columns_before(storage: ReadableStorage, table: str, notable: Sequence[NotableCommit]) -> Columns | None:
    """Looked for where the metadata change; the nearest commit below says it, among MAX_LOOKED_BACK of them."""
    first = next((commit.version for commit in notable if commit.changes_metadata), None)
    if first is None:
        return None
    commits = commits_from(storage, table, max(0, first - MAX_LOOKED_BACK))
    for name in reversed([name for version, name in commits if version < first]):
        address = join(table, DELTA_LOG, name)
        for action in actions_in(storage.read(address, limit=MAX_BYTES), address):
            if isinstance(metadata := action.get("metaData"), dict):
                return columns_of(metadata.get("schemaString"))
    return None


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


Options = Sequence[tuple[str, str]]

_ALLOW_CHANGES = frozenset({"ignorechanges", "skipchangecommits", "ignorefiledeletion"})
_ALLOW_DELETES = _ALLOW_CHANGES | {"ignoredeletes"}
_CHANGE_FEED = frozenset({"readchangefeed", "readchangedata"})
_TRACKS_SCHEMA = frozenset({"schematrackinglocation", "schemalocation"})
_KNOWN_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    }
)
"""Reader features of Delta 4.4 that need nothing of whoever reads the table."""
_NEWEST_READER = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why the source stops at a commit."""

    what: str
    repair: str
    error: str = ""
    is_doubt: bool = False
    """Whether it only may stop there."""


def stop_of(commit: NotableCommit, pending: PendingVersions, options: Options) -> Stop | None:
    """Why a source with these options stops at one of the commits that it has yet to read; None where it does not."""
    given = {name.lower() for name, value in options if value.strip().lower() != "false"}
    if commit.has_blank_line:
        return _BLANK
    reads_changes = bool(given & _CHANGE_FEED)
    if commit.removes and not reads_changes:
        if commit.adds and not given & _ALLOW_CHANGES:
            return _CHANGED
        if not commit.adds and not given & _ALLOW_DELETES:
            return _DELETED
    if commit.changes_metadata and not given & _TRACKS_SCHEMA:
        return _columns_stop(commit, pending)
    unknown = sorted(set(commit.reader_features) - _KNOWN_FEATURES)
    if commit.reader_version > _NEWEST_READER or unknown:
        named = ", ".join(unknown) or f"reader version {commit.reader_version}"
        return Stop(
            what=f"asks its readers for {named}",
            repair="see whether the Delta of the query knows it, and upgrade it otherwise",
            is_doubt=True,
        )
    return None


def _columns_stop(commit: NotableCommit, pending: PendingVersions) -> Stop | None:
    """A query has the columns of the newest version; what is older must not have others."""
    metadata = [one for one in pending.notable if one.changes_metadata]
    newest = metadata[-1].columns
    place = metadata.index(commit)
    before = pending.columns_before if place == 0 else metadata[place - 1].columns
    if newest is None or before is None or commit.columns is None:
        return None if commit.columns is not None and commit.columns == newest == before else _UNKNOWN_COLUMNS
    kept = dict(newest)
    lost = [name for name, kind in (*before, *commit.columns) if kept.get(name) != kind]
    if not lost:
        return None
    return Stop(
        what=f"changes the columns, {lost[0]!r} among them",
        repair="with columns that were dropped, renamed or retyped the query needs a `schemaTrackingLocation`, or a new"
        " checkpoint with `startingVersion` behind the change",
        error="SCHEMA",
    )


_CHANGED = Stop(
    what="changes or overwrites rows",
    repair="set `skipChangeCommits` on the source, which leaves such commits out; or begin a new checkpoint with"
    " `startingVersion` behind it",
    error="DELTA_SOURCE_TABLE_IGNORE_CHANGES",
)
_BLANK = Stop(
    what="has a blank line in its commit, where the source expects an action",
    repair="take the blank lines out of the commit's file in `_delta_log`, and delete its hidden `.crc` if there is one",
    error="end-of-input",
)
_DELETED = Stop(
    what="deletes rows",
    repair="set `ignoreDeletes` or `skipChangeCommits` on the source; or begin a new checkpoint with `startingVersion` behind it",
    error="DELTA_SOURCE_IGNORE_DELETE",
)
_UNKNOWN_COLUMNS = Stop(
    what="changes the table's metadata, and which columns it had before is not known",
    repair="compare the columns of the version before with those of the newest one",
    is_doubt=True,
)
