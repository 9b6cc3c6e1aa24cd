"""A checkpoint in full: besides the logs what its sources keep, which input is still there, and what state can be loaded."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote

from streamops.checkpoint.layout import COMMITS
from streamops.checkpoint.listing import read_listing
from streamops.checkpoint.offsets import OffsetEntry
from streamops.checkpoint.reader import CheckpointFacts, read_checkpoint
from streamops.checkpoint.source_entries import SourceFile
from streamops.checkpoint.source_log import SourceLogFacts, SourceLogs, read_source_logs
from streamops.checkpoint.source_offsets import FileOffset
from streamops.checkpoint.state import StateFacts, read_state
from streamops.errors import StorageError
from streamops.storage import ReadableStorage, join, parent

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
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
    """Input files of the pending batch that are gone; files in places that can't be asked are not among them."""
    state: StateFacts | None = None
    """None where the batch to run can't be told."""

    def source(self, folder: str) -> SourceLogFacts | None:
        """What one source keeps, by the name of its folder."""
        return next((source for source in self.sources.sources if source.folder == folder), None)

    @property
    def has_history(self) -> bool:
        """Whether sources or state show that batches have run, whatever the logs say.

        One entry of a source alone proves nothing: it is written before the first batch is planned.
        """
        has_batches = any(source.log.latest > 0 for source in self.sources.sources)
        return has_batches or (self.state is not None and self.state.has_files)


def inspect_checkpoint(storage: ReadableStorage, address: str) -> CheckpointSnapshot:
    """Read a checkpoint in full. Raises StorageError when it can't be asked."""
    facts = read_checkpoint(storage, address)
    file_sources = _file_sources(facts.newest)
    sources = read_source_logs(storage, address, log_ids=_pending_ids(facts))
    return CheckpointSnapshot(
        facts=facts,
        file_sources=file_sources,
        sources=sources,
        lost_inputs=_lost_inputs(storage, facts, sources),
        state=read_state(
            storage,
            address,
            version=_batch_to_run(facts),
            partitions_hint=_partitions(facts.newest),
            unique_ids=_unique_ids(facts),
        ),
    )


def _batch_to_run(facts: CheckpointFacts) -> int:
    """The state that it needs has the same number: the state after the batch before."""
    return facts.last_offset + 1 if facts.last_offset == facts.last_commit else max(facts.last_offset, 0)


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
    """The ids of the sources' logs that the newest batch took."""
    before = {source.folder: source.log_offset for source in _file_sources(facts.previous)}
    newest = _file_sources(facts.newest)
    return {source.folder: range(before.get(source.folder, -1) + 1, source.log_offset + 1) for source in newest}


def _partitions(newest: OffsetEntry | None) -> int | None:
    text = dict(newest.header.conf).get(SHUFFLE_PARTITIONS, "") if newest else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _unique_ids(facts: CheckpointFacts) -> dict[int, tuple[tuple[str, ...], ...]]:
    """Of the state after the newest commit; that is the state to load unless a batch further back runs."""
    if facts.commit is None or facts.last_commit + 1 != _batch_to_run(facts):
        return {}
    return {operator.operator: operator.partitions for operator in facts.commit.state_unique_ids}


def _lost_inputs(storage: ReadableStorage, facts: CheckpointFacts, sources: SourceLogs) -> tuple[str, ...]:
    """Nothing of a batch that was committed meanwhile: its input may have been cleaned up (`cleanSource`)."""
    if not facts.has_pending_batch:
        return ()
    lost = _lost(storage, [file for source in sources.sources for file in source.files])
    if lost and facts.last_offset in read_listing(storage, join(facts.address, COMMITS)).ids:
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
