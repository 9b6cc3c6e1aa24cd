"""The versions of a Delta table one by one: when each was written, and what it added, for whoever reads a range of them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.deltalog.log_size import DELTA_LOG, actions_in, commits_from
from streamops.errors import DeltaLogError
from streamops.storage import ReadableStorage, join

MAX_VERSIONS = 10_000
"""Commits of one range that are read at most."""
MAX_COMMIT_BYTES = 64 * 1024 * 1024
"""Of one commit. One at a time is held."""

_TICK = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenVersion:
    """One commit that is still there, and when it was written."""

    version: int
    written_at: datetime
    """As Delta counts it: the time of the commit's file, and later than that of the version before (DeltaHistoryManager, 4.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionContent:
    """What one commit holds for a streaming source."""

    version: int
    files: int = 0
    """Data files that it adds to what readers of its rows see."""
    records: int | None = 0
    """Rows of those; None where one of the files does not tell."""
    removes_rows: bool = False
    """Whether it takes rows away: a streaming source ends with an error there, unless an option says what to do."""
    has_own_time: bool = False
    """Whether the commit says itself when it was written, and not its file (in-commit timestamps)."""


def written_versions(storage: ReadableStorage, table: str) -> tuple[WrittenVersion, ...]:
    """All commits that are there, the lowest version first. Raises StorageError."""
    commits = commits_from(storage, table, 0)
    details = storage.details(join(table, DELTA_LOG), only=[name for _, name in commits])
    times = {detail.name: detail.modified_at for detail in details}
    return tuple(_in_order([(version, times[name]) for version, name in commits if name in times]))


def _in_order(found: Sequence[tuple[int, datetime]]) -> Iterator[WrittenVersion]:
    last: datetime | None = None
    for version, at in found:
        last = at if last is None or at > last else last + _TICK
        yield WrittenVersion(version=version, written_at=last)


def version_contents(storage: ReadableStorage, table: str, versions: Sequence[int]) -> tuple[VersionContent, ...]:
    """What these commits hold. Raises StorageError, DeltaLogError for a commit that is no JSON and for too many."""
    if len(versions) > MAX_VERSIONS:
        raise DeltaLogError(
            f"{table}: {len(versions)} versions are more than are read at once ({MAX_VERSIONS}): ask for fewer"
        )
    return tuple(_content(storage, table, version) for version in versions)


def _content(storage: ReadableStorage, table: str, version: int) -> VersionContent:
    address = join(table, DELTA_LOG, f"{version:020d}.json")
    files, records, removes, has_own_time = 0, 0, False, False
    is_counted = True
    for action in actions_in(storage.read(address, limit=MAX_COMMIT_BYTES), address):
        add, remove, info = (action.get(name) for name in ("add", "remove", "commitInfo"))
        if isinstance(add, dict) and add.get("dataChange") is not False:
            files += 1
            rows = _rows(add.get("stats"))
            is_counted = is_counted and rows is not None
            records += rows or 0
        removes = removes or (isinstance(remove, dict) and remove.get("dataChange") is not False)
        has_own_time = has_own_time or (isinstance(info, dict) and "inCommitTimestamp" in info)
    return VersionContent(
        version=version,
        files=files,
        records=records if is_counted else None,
        removes_rows=removes,
        has_own_time=has_own_time,
    )


def _rows(stats: object) -> int | None:
    """`{"numRecords":4,…}`, a text within the JSON."""
    if not isinstance(stats, str):
        return None
    try:
        found = json.loads(stats)
    except (ValueError, RecursionError):
        return None
    rows = found.get("numRecords") if isinstance(found, dict) else None
    return rows if type(rows) is int and rows >= 0 else None
