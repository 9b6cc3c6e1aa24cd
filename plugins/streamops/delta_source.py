"""A checkpoint's Delta offsets beside the table that they were taken from."""

from dataclasses import dataclass
from enum import StrEnum

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.offsets import OffsetEntry
from streamops.checkpoint.source_offsets import DeltaOffset
from streamops.deltalog import DeltaTableFacts


class Fit(StrEnum):
    """How what a start reads lies in the table."""

    IN = "in"
    NOT_READ = "not-read"
    """No source of the checkpoint has read a Delta table, or none so far."""
    ANOTHER_TABLE = "another-table"
    REMOVED = "removed"
    """Commits that a start reads were cleaned up."""
    BEYOND = "beyond"
    """The table has not come so far, or has gone back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSourceFacts:
    """One answer."""

    fit: Fit
    version: int = -1
    """Of the table: what is missing, or lies beyond; -1 where nothing is."""


def delta_source(facts: CheckpointFacts, table: DeltaTableFacts) -> DeltaSourceFacts:
    """Whether a start finds the versions that it reads: from the end of the batch before the newest to that of the newest.

    That range is planned again even where the newest batch is committed (Spark 4.2.0 with delta-spark 4.4.0). The end of a
    version is written as the begin of the next one, which need not be there yet. An initial snapshot is read from other files
    than commits: of that nothing is said.
    """
    ends, starts = _offsets(facts.newest), _offsets(facts.previous or facts.newest)
    if not ends:
        return DeltaSourceFacts(fit=Fit.NOT_READ)
    end = next((offset for offset in ends if offset.table_id == table.table_id), None)
    if end is None:
        return DeltaSourceFacts(fit=Fit.ANOTHER_TABLE)
    if end.table_version > table.version + 1:
        return DeltaSourceFacts(fit=Fit.BEYOND, version=end.table_version)
    start = next((offset for offset in starts if offset.table_id == table.table_id), end)
    earliest = table.version + 1 if table.earliest_commit is None else table.earliest_commit
    if start.table_version < earliest and not start.is_starting_version:
        return DeltaSourceFacts(fit=Fit.REMOVED, version=start.table_version)
    return DeltaSourceFacts(fit=Fit.IN)


def _offsets(entry: OffsetEntry | None) -> list[DeltaOffset]:
    return [offset for offset in entry.offsets if isinstance(offset, DeltaOffset)] if entry else []
