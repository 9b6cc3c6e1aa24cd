"""What of a Delta table or of a folder a query has not read yet, by its checkpoint. Reads only, within bounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.clock import Clock
from streamops.deltalog import DeltaTableFacts, read_delta_table
from streamops.diagnosis.checkup_text import printable
from streamops.diagnosis.companions import inspect_checkpoints
from streamops.errors import ObjectNotFoundError, StreamOpsError
from streamops.formatting import counted
from streamops.places.delta_source import Fit, delta_source
from streamops.places.input_files import InputFacts, read_input
from streamops.retention.lag import StreamLag, unknown_lag
from streamops.spec import CustomSource, DeltaTableSource, FilesSource, StreamSpec
from streamops.storage import ReadableStorage
from streamops.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """One query beside its source."""

    has_any: bool | None
    """Whether something waits; None where nobody can tell."""
    reason: str
    """May hold what stands in a checkpoint: escape it before you show it."""
    loss: str = ""
    """Why a start can't read what it needs; empty where nothing is known to be lost."""


_LOSSES = {
    Fit.ANOTHER_TABLE: "a table with another id lies there than the one that was read",
    Fit.REMOVED: "version {version} was to be read next, and its commit is removed",
    Fit.BEYOND: "the query has come to version {version}, and the table has not: it was put back, or made anew",
}


def delta_backlog(facts: CheckpointFacts, table: DeltaTableFacts) -> Backlog:
    """In versions: those whose commits no committed batch has read to the end."""
    source = delta_source(facts, table)
    if source.fit in _LOSSES:
        loss = _LOSSES[source.fit].format(version=source.version)
        return Backlog(has_any=None, reason=loss, loss=loss)
    if source.fit is Fit.NOT_READ:
        return Backlog(has_any=True, reason=f"nothing is read yet of the table at version {table.version}")
    if not source.is_waiting:
        return Backlog(has_any=False, reason=f"the table is read to its version {table.version}")
    if source.unread is None:
        return Backlog(has_any=True, reason=f"the table's first rows are being read; it is at version {table.version}")
    first = source.unread.table_version
    behind = table.version - first + 1
    return Backlog(
        has_any=True,
        reason=f"{counted(behind, 'version')} behind: it goes on in {first}, the table is at {table.version}",
    )


def files_backlog(source: FilesSource, found: InputFacts) -> Backlog:
    """In files: those that the source's own log does not have.

    Files that are too old for `maxFileAge` count as well: that means a run too many, and none too few.
    """
    if found.problem:
        return Backlog(has_any=None, reason=f"{found.address}: {found.problem}")
    if chosen := source.choosing_options:
        return Backlog(has_any=None, reason=f"which files count is for Spark to say, by the option {chosen[0]}")
    if not found.is_whole:
        return Backlog(has_any=None, reason="there are too many files, or folders by a pattern, to tell which are new")
    waiting = found.unread
    if waiting:
        oldest = min(file.modified_at for file in waiting)
        return Backlog(
            has_any=True, reason=f"{counted(len(waiting), 'file')} wait, the oldest of {oldest:%Y-%m-%d %H:%M:%S} UTC"
        )
    return Backlog(has_any=False, reason=f"all {counted(len(found.files), 'file')} of {found.address} are read")


def read_backlogs(
    spec: StreamSpec, checkpoints: Sequence[CheckpointSnapshot], storage_for: Callable[[str], ReadableStorage]
) -> tuple[Backlog, ...]:
    """Of each checkpoint, in order; none for a stream that reads Kafka. What can't be asked is an answer as well."""
    source = spec.source
    if checkpoints and _is_foreign(checkpoints[0], spec):
        entry = f"offsets/{checkpoints[0].facts.last_offset}"
        reason = f"{entry} was not written by such a source: whether anything waits is not known"
        return (Backlog(has_any=None, reason=reason),)
    try:
        if isinstance(source, DeltaTableSource):
            table = read_delta_table(storage_for(source.table), source.table)
            return tuple(delta_backlog(one.facts, table) for one in checkpoints)
        if isinstance(source, CustomSource):
            return (Backlog(has_any=None, reason=f"{source}: only Spark knows what it holds"),)
        if isinstance(source, FilesSource):
            return tuple(_of_files(source, one, storage_for(source.path)) for one in checkpoints)
    except ObjectNotFoundError:
        return (Backlog(has_any=None, reason=f"{source} is not there"),)
    except StreamOpsError as error:
        return (Backlog(has_any=None, reason=str(error)),)
    return ()


def lag_without_topics(spec: StreamSpec, storage_for: Callable[[str], ReadableStorage], clock: Clock) -> StreamLag:
    """What is known of a stream that reads no Kafka: how far it is behind, and whether what it needs is there."""
    now = clock.now()
    try:
        backlogs = read_backlogs(spec, inspect_checkpoints(storage_for(spec.checkpoint), spec.checkpoint), storage_for)
    except StreamOpsError as error:
        return unknown_lag(spec.name, str(error), at=now)
    lost = next((one for one in backlogs if one.loss), None)
    blind = next((one for one in backlogs if one.has_any is None), None)
    waiting = next((one for one in backlogs if one.has_any), backlogs[0])
    told = lost or blind or waiting
    verdict, rule = (
        (Verdict.CRITICAL, "input-lost") if lost else (Verdict.UNKNOWN, "not-known") if blind else (Verdict.OK, "")
    )
    reason = printable(f"{told.reason} (it reads {spec.source}, no topic)")
    return StreamLag(stream=spec.name, at=now, verdict=verdict, reason=reason, rule=rule)


def _is_foreign(snapshot: CheckpointSnapshot, spec: StreamSpec) -> bool:
    newest = snapshot.facts.newest
    return newest is not None and newest.is_foreign_to(spec.source.offset_form)


def _of_files(source: FilesSource, snapshot: CheckpointSnapshot, storage: ReadableStorage) -> Backlog:
    return files_backlog(source, read_input(storage, snapshot.facts.address, snapshot, address=source.path))
