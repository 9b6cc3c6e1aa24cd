"""What of a Delta table or of a folder a query has not read yet, by its checkpoint. Pure."""

from dataclasses import dataclass

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.input_files import InputFacts
from streamops.delta_source import Fit, delta_source
from streamops.deltalog import DeltaTableFacts
from streamops.spec import FilesSource


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
        reason=f"{_count(behind, 'version')} behind: it goes on in {first}, the table is at {table.version}",
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
            has_any=True, reason=f"{_count(len(waiting), 'file')} wait, the oldest of {oldest:%Y-%m-%d %H:%M:%S} UTC"
        )
    return Backlog(has_any=False, reason=f"all {_count(len(found.files), 'file')} of {found.address} are read")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
