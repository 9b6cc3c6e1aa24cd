"""How much of a Delta log a reader of the table takes in, and the actions of one commit: a JSON object a line.

Names as the Delta protocol has them: `…07.json` for a commit, `…05.checkpoint.parquet`, its parts
`…05.checkpoint.0000000001.0000000002.parquet`, or `…05.checkpoint.<uuid>.json` with files in `_sidecars`.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from streamops.errors import DeltaLogError, ObjectNotFoundError, ObjectUnreadableError
from streamops.storage import FileDetail, ReadableStorage, join
from streamops.storage.side_files import is_stale

ACTIONS = frozenset(
    {
        "add",
        "remove",
        "metaData",
        "protocol",
        "txn",
        "cdc",
        "commitInfo",
        "domainMetadata",
        "checkpointMetadata",
        "sidecar",
    }
)
"""Names of the Delta protocol, version 3 and 7."""


def actions_in(content: bytes, address: str) -> Iterator[dict[str, object]]:
    """Each action; what is no object is passed over. DeltaLogError naming the file for what is no JSON."""
    try:
        for line in content.splitlines():
            action = json.loads(line) if line.strip() else None
            if isinstance(action, dict):
                yield action
    except (ValueError, RecursionError) as error:
        raise DeltaLogError(f"{address} can't be read: it is no JSON") from error


def is_action(line: dict[str, object]) -> bool:
    """Whether an object is an action that is known here: it has one key, its name."""
    return len(line) == 1 and not ACTIONS.isdisjoint(line)


DELTA_LOG = "_delta_log"
SHOWN = 5
MAX_CHECKED = 100
"""Commits that are held against their side files: Delta writes a checkpoint every 10 or every 100."""

_COMMIT = re.compile(r"(\d{20})\.json", re.ASCII)
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.(?:\d{10}\.\d{10}\.)?(?:[0-9a-f-]{36}\.)?(?:parquet|json)", re.ASCII)
_CHECKSUM = re.compile(r"(\d{20})\.crc", re.ASCII)
_SIDECARS = "_sidecars"
_LAST_CHECKPOINT = "_last_checkpoint"


class _Damage(Enum):
    """What is wrong with a commit, the first that holds."""

    STALE = auto()
    NO_JSON = auto()
    NO_ACTION = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSize:
    """What it takes to read the table as it stands."""

    files: int
    size: int
    """Bytes."""
    earliest_commit: int | None = None
    """The lowest version that is there as a commit of its own, as a streaming source reads it; None where none is."""
    missing: tuple[int, ...] = ()
    """Versions above the newest checkpoint that are not there, although newer ones are, at most SHOWN of them."""
    stale: tuple[str, ...] = ()
    """Names of commits among them that Hadoop's side file does not fit, at most SHOWN: a reader fails on each (Delta 4.4)."""
    without_json: tuple[str, ...] = ()
    """Names of commits among them with a line that is no JSON in UTF-8, at most SHOWN: Spark fails on each (Delta 4.4)."""
    taken_back: tuple[int, ...] = ()
    """Versions above the newest one that have left a checksum of the table behind, at most SHOWN: nothing of Delta removes the
    newest commit."""
    foreign: tuple[str, ...] = ()
    """Names of commits among them without any action of Delta, at most SHOWN: Spark passes over some, and fails on others."""


def log_size(storage: ReadableStorage, table: str) -> LogSize:
    """The part of a table's log that its newest version is read from.

    Raises ObjectNotFoundError where no table lies there, StorageError where the place can't be asked, DeltaLogError for a name
    of the log that is no file: the library would wait for ever for the writer of a FIFO.
    """
    folder = join(table, DELTA_LOG)
    names = storage.list(folder)
    commits = {name: int(match[1]) for name in names if (match := _COMMIT.fullmatch(name))}
    checkpoints = {name: int(match[1]) for name in names if (match := _CHECKPOINT.fullmatch(name))}
    if not commits and not checkpoints:
        raise ObjectNotFoundError(f"{table}: no Delta table, {DELTA_LOG} has no version")
    newest = max(checkpoints.values(), default=-1)
    needed = [name for name, version in checkpoints.items() if version == newest]
    needed += [name for name, version in commits.items() if version > newest]
    details = storage.details(folder, only=needed)
    _refuse_what_is_no_file(storage, table, {*needed, _LAST_CHECKPOINT} & {*names}, details)
    if _SIDECARS in names and newest >= 0:
        details += storage.details(join(folder, _SIDECARS))
    versions = {*commits.values(), *checkpoints.values()}
    checked = tuple(_checked(storage, folder, [name for name in needed if name in commits], {*names}))
    return LogSize(
        files=len(details),
        size=sum(detail.size for detail in details),
        earliest_commit=min(commits.values(), default=None),
        missing=_missing({version for version in commits.values() if version > newest}, above=newest),
        taken_back=_taken_back(storage, folder, names, above=max(versions)),
        stale=tuple(name for name, damage in checked if damage is _Damage.STALE)[:SHOWN],
        without_json=tuple(name for name, damage in checked if damage is _Damage.NO_JSON)[:SHOWN],
        foreign=tuple(name for name, damage in checked if damage is _Damage.NO_ACTION)[:SHOWN],
    )


def _checked(
    storage: ReadableStorage, folder: str, commits: list[str], names: Collection[str]
) -> Iterator[tuple[str, _Damage]]:
    """The damaged ones of the newest MAX_CHECKED commits."""
    for name in sorted(commits)[-MAX_CHECKED:]:
        address = join(folder, name)
        try:
            content = storage.read(address)
        except (ObjectNotFoundError, ObjectUnreadableError):
            continue
        # Of an empty file nothing is compared with its side file (ChecksumFileSystem, Hadoop 3.4).
        if content and f".{name}.crc" in names and is_stale(storage, address, content):
            yield name, _Damage.STALE
        elif damage := _damage_in(content):
            yield name, damage


def _damage_in(content: bytes) -> _Damage | None:
    try:
        # All lines are read: a first one that is well does not speak for those that follow.
        return None if any([is_action(action) for action in actions_in(content, "")]) else _Damage.NO_ACTION
    except DeltaLogError:
        return _Damage.NO_JSON


def _taken_back(storage: ReadableStorage, folder: str, names: Collection[str], *, above: int) -> tuple[int, ...]:
    """A commit that came while the names were listed is looked for once more: its checksum is written after it."""
    newer = sorted(int(match[1]) for name in names if (match := _CHECKSUM.fullmatch(name)) and int(match[1]) > above)
    if not newer:
        return ()
    there = {detail.name for detail in storage.details(folder, only=[f"{version:020d}.json" for version in newer])}
    return tuple(version for version in newer if f"{version:020d}.json" not in there)[:SHOWN]


def _missing(versions: Collection[int], *, above: int) -> tuple[int, ...]:
    """Never a loop over what is missing: a name may claim any version."""
    missing: list[int] = []
    expected = above + 1
    for version in sorted(versions):
        missing += range(expected, min(version, expected + SHOWN))
        expected = version + 1
    return tuple(missing[:SHOWN])


def _refuse_what_is_no_file(
    storage: ReadableStorage, table: str, read: Collection[str], found: Collection[FileDetail]
) -> None:
    unseen = {*read} - {detail.name for detail in found}
    if not unseen:
        return
    folder = join(table, DELTA_LOG)
    unseen -= {detail.name for detail in storage.details(folder, only=unseen)}
    # One that Delta has cleaned up meanwhile is not listed any more.
    if wrong := sorted(unseen & {*storage.list(folder)} if unseen else ()):
        raise DeltaLogError(f"{table}: {DELTA_LOG}/{wrong[0]} is no regular file")


def commits_from(storage: ReadableStorage, table: str, version: int) -> tuple[tuple[int, str], ...]:
    """Versions and names of the commits from a version on, in order. Raises StorageError."""
    names = storage.list(join(table, DELTA_LOG), after=f"{version:020d}")
    return tuple((int(match[1]), name) for name in names if (match := _COMMIT.fullmatch(name)))
