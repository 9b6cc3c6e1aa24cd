"""A checkpoint's Delta offsets beside the table that they were taken from."""

from dataclasses import dataclass
from enum import StrEnum

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.source_offsets import DeltaOffset
from streamops.deltalog import DeltaTableFacts


class Fit(StrEnum):
    """How the place where the next batch begins to read lies in the table."""

    IN = "in"
    NOT_READ = "not-read"
    """No source of the checkpoint has read a Delta table, or none so far."""
    ANOTHER_TABLE = "another-table"
    REMOVED = "removed"
    """The commit to go on with was cleaned up."""
    BEYOND = "beyond"
    """The table has not come so far, or has gone back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSourceFacts:
    """One answer."""

    fit: Fit
    version: int = -1
    """Of the table, where the next batch begins to read; -1 where it reads no such table."""


def delta_source(facts: CheckpointFacts, table: DeltaTableFacts) -> DeltaSourceFacts:
    """Where the first batch of a start begins to read the table: at the end of the last one that need not run again.

    The end of a version is written as the begin of the next one, which need not be there yet (DeltaSourceOffset, delta-spark
    4.4). An initial snapshot is read from other files than commits: of that nothing is removed.
    """
    entry = facts.previous if facts.has_pending_batch else facts.newest
    starts = [offset for offset in entry.offsets if isinstance(offset, DeltaOffset)] if entry else []
    if not starts:
        return DeltaSourceFacts(fit=Fit.NOT_READ)
    start = next((offset for offset in starts if offset.table_id == table.table_id), None)
    if start is None:
        return DeltaSourceFacts(fit=Fit.ANOTHER_TABLE)
    earliest = table.version + 1 if table.earliest_commit is None else table.earliest_commit
    fit = Fit.IN
    if start.table_version > table.version + 1:
        fit = Fit.BEYOND
    elif start.table_version < earliest and not start.is_starting_version:
        fit = Fit.REMOVED
    return DeltaSourceFacts(fit=fit, version=start.table_version)
