"""A checkpoint in full: besides the logs what its sources keep, which input is still there, and what state can be loaded."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.layout import COMMITS, OFFSETS, read_listing
from streamops.checkpoint.offsets import OffsetEntry
from streamops.checkpoint.place import Place, Twin, read_place, read_twins
from streamops.checkpoint.reader import read_checkpoint
from streamops.checkpoint.source_entries import SourceFile
from streamops.checkpoint.source_log import SourceLogFacts, SourceLogs, read_source_logs
from streamops.checkpoint.source_offsets import FileOffset
from streamops.checkpoint.state import StateFacts, read_state
from streamops.checkpoint.state_changes import LZ4, read_changes
from streamops.checkpoint.state_snapshots import BrokenStateFile, StateFileFacts, read_snapshots
from streamops.errors import StorageError
from streamops.storage import ReadableStorage, join, parent

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
STATE_CODEC = "spark.sql.streaming.stateStore.compression.codec"
MAX_INPUT_FOLDERS = 20
"""Folders of input that are listed to see whether a pending batch's files are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """A source that reads files, as the newest offset entry has it."""

    folder: str
    """Below `sources/`."""
    log_offset: int
    """The last id of the source's log that the batch uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSnapshot:
    """Everything that is read of a checkpoint without Spark."""

    facts: CheckpointFacts
    file_sources: tuple[FileSource, ...] = ()
    sources: SourceLogs = field(default_factory=SourceLogs)
    lost_inputs: tuple[str, ...] = ()
    """Input files of the batch to run that are gone; files in places that can't be asked are not among them."""
    state: StateFacts | None = None
    """None where the batch to run can't be told."""
    snapshots: StateFileFacts = field(default_factory=StateFileFacts)
    changes: StateFileFacts = field(default_factory=StateFileFacts)
    changes_next: StateFileFacts = field(default_factory=StateFileFacts)
    """Those that only the batch after the one to run loads, where they are there already."""
    place: Place | None = None
    """What lies there, where the logs are empty; None where they are not."""
    twins: tuple[Twin, ...] = ()
    """Checkpoints under other spellings of the same address."""

    def source(self, folder: str) -> SourceLogFacts | None:
        """What one source keeps, by the name of its folder."""
        return next((source for source in self.sources.sources if source.folder == folder), None)

    @property
    def broken_state(self) -> tuple[BrokenStateFile, ...]:
        """Files that the state of the next batch is loaded from, and that can't be read."""
        return (*(self.state.broken if self.state else ()), *self.snapshots.broken, *self.changes.broken)

    @property
    def stale_entries(self) -> tuple[str, ...]:
        """Entries of the logs and of the sources that Hadoop's side files were not written for."""
        return (*self.facts.stale, *(file for source in self.sources.sources for file in source.stale))

    @property
    def has_history(self) -> bool:
        """Whether sources or state show that batches have run, whatever the logs say.

        One entry of a source alone proves nothing: it is written before the first batch is planned.
        """
        has_batches = any(source.log.latest > 0 for source in self.sources.sources)
        return has_batches or (self.state is not None and self.state.has_files)


def inspect_checkpoint(storage: ReadableStorage, address: str) -> CheckpointSnapshot:
    """Read a checkpoint in full. Raises StorageError when it can't be asked.

    A listing is no snapshot, and many of them still less: beside a running query one may show an entry and not the one before,
    or state that was cleaned up meanwhile is missed. So where something is amiss and the query has moved on, all is read anew.
    """
    seen = _look(storage, address)
    return _look(storage, address) if _is_amiss(seen) and _has_moved(storage, seen.facts) else seen


def _look(storage: ReadableStorage, address: str) -> CheckpointSnapshot:
    facts = read_checkpoint(storage, address)
    file_sources = _file_sources(facts.newest)
    sources = read_source_logs(storage, address, log_ids=_pending_ids(facts))
    state = read_state(
        storage,
        address,
        version=facts.next_batch,
        partitions_hint=_partitions(facts.newest),
        unique_ids=_unique_ids(facts),
        looks_ahead=facts.has_pending_batch,
    )
    state = _unless_moved_on(storage, facts, state)
    codec = _state_codec(facts.newest)
    return CheckpointSnapshot(
        facts=facts,
        file_sources=file_sources,
        sources=sources,
        lost_inputs=_lost_inputs(storage, facts, sources),
        state=state,
        snapshots=read_snapshots(storage, address, state.snapshots, spares=state.spares, checksums=state.checksums),
        changes=read_changes(
            storage, address, state.changes, spares=state.spares, codec=codec, checksums=state.checksums
        ),
        changes_next=read_changes(storage, address, state.changes_next, codec=codec),
        place=read_place(storage, address) if facts.is_new else None,
        twins=read_twins(storage, address),
    )


def _unless_moved_on(storage: ReadableStorage, facts: CheckpointFacts, state: StateFacts) -> StateFacts:
    """State of a batch that was planned since the logs were read is not ahead of them."""
    if state.newest_version <= facts.last_offset + 1:
        return state
    reached = read_listing(storage, join(facts.address, OFFSETS)).highest
    is_planned = reached > facts.last_offset and state.newest_version <= reached + 1
    return replace(state, newest_version=facts.last_offset + 1) if is_planned else state


def _is_amiss(seen: CheckpointSnapshot) -> bool:
    facts = seen.facts
    logs_lack = not facts.has_previous_offset or facts.last_commit > facts.last_offset
    is_blocked = bool(facts.offsets_log.orphan_checksums or facts.commits_log.orphan_checksums)
    sources_lack = any(source.absent or source.broken for source in seen.sources.sources)
    state_lacks = seen.state is not None and seen.state.unloadable_total > 0
    state_is_broken = state_lacks or bool(seen.broken_state or seen.changes.stale)
    return bool(
        facts.broken
        or seen.stale_entries
        or logs_lack
        or is_blocked
        or sources_lack
        or seen.lost_inputs
        or state_is_broken
    )


def _has_moved(storage: ReadableStorage, facts: CheckpointFacts) -> bool:
    """Whether the logs are not the same any more; damage stays as it is."""
    return any(
        read_listing(storage, join(facts.address, log)) != before
        for log, before in ((OFFSETS, facts.offsets_log), (COMMITS, facts.commits_log))
    )


def _file_sources(newest: OffsetEntry | None) -> tuple[FileSource, ...]:
    """Positional entries keep their sources' logs in folders by number, entries of v2 by id."""
    if newest is None:
        return ()
    return tuple(
        FileSource(folder=folder, log_offset=offset.log_offset)
        for folder, offset in zip(newest.source_names, newest.offsets, strict=True)
        if isinstance(offset, FileOffset)
    )


def _pending_ids(facts: CheckpointFacts) -> dict[str, range]:
    """The ids of the sources' logs that the newest batch took; where its start can't be told, the last one at least."""
    if facts.previous is None and facts.last_offset > 0:
        return {
            source.folder: range(source.log_offset, source.log_offset + 1) for source in _file_sources(facts.newest)
        }
    before = {source.folder: source.log_offset for source in _file_sources(facts.previous)}
    newest = _file_sources(facts.newest)
    return {source.folder: range(before.get(source.folder, -1) + 1, source.log_offset + 1) for source in newest}


def _partitions(newest: OffsetEntry | None) -> int | None:
    text = (newest.header.pinned(SHUFFLE_PARTITIONS) if newest else None) or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _state_codec(newest: OffsetEntry | None) -> str:
    return dict(newest.header.conf).get(STATE_CODEC, LZ4) if newest else LZ4


def _unique_ids(facts: CheckpointFacts) -> dict[int, tuple[tuple[str, ...], ...]]:
    """Of the state after the newest commit; that is the state to load unless a batch further back runs."""
    if facts.commit is None or facts.last_commit + 1 != facts.next_batch:
        return {}
    return {operator.operator: operator.partitions for operator in facts.commit.state_unique_ids}


def input_in_flight(facts: CheckpointFacts, sources: SourceLogs) -> tuple[SourceFile, ...]:
    """Input files of the batch in flight; none where every batch is committed."""
    return tuple(file for source in sources.sources for file in source.files) if facts.has_pending_batch else ()


def input_written_down(sources: SourceLogs) -> tuple[SourceFile, ...]:
    """Input files that a source has written down for the batch after the newest one: nobody asks anew what belongs to that."""
    return tuple(file for source in sources.sources for file in source.ahead)


def _lost_inputs(storage: ReadableStorage, facts: CheckpointFacts, sources: SourceLogs) -> tuple[str, ...]:
    """Nothing where a batch was committed meanwhile: its input may have been cleaned up (`cleanSource`)."""
    lost = _lost(storage, (*input_in_flight(facts, sources), *input_written_down(sources)))
    if lost and read_listing(storage, join(facts.address, COMMITS)).highest > facts.last_commit:
        return ()
    return lost


def _lost(storage: ReadableStorage, files: Iterable[SourceFile]) -> tuple[str, ...]:
    """One listing a folder. The paths in a source's log are URIs with escapes, names in a listing are not.

    A folder that is not there may be a mount that this host lacks: of its files nothing is said.
    """
    by_folder: dict[str, list[str]] = {}
    for file in files:
        by_folder.setdefault(parent(unquote(file.path)), []).append(unquote(file.path))
    lost: list[str] = []
    for folder, paths in list(by_folder.items())[:MAX_INPUT_FOLDERS]:
        try:
            names = frozenset(storage.list(folder))
            is_there = bool(names) or folder.rpartition("/")[2] in storage.list(parent(folder))
        except StorageError:
            continue
        if not is_there:
            continue
        lost += [path for path in paths if path.rpartition("/")[2] not in names]
    return tuple(lost)
