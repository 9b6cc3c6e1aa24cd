"""How long the last batches of a checkpoint took, told from the times of its files."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.layout import COMMITS, OFFSETS
from streamops.storage import ReadableStorage, join

SAME_MOMENT = timedelta(seconds=1)
"""Some stores keep whole seconds only."""
RECENT = 20
"""Batches that are looked at: two questions, about as many files each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTimes:
    """Times by the clock of whoever stores the files; a copy of a checkpoint may have those of the copying."""

    committed_at: datetime | None = None
    """When the newest commit was written; None where there is none."""
    durations: tuple[timedelta, ...] = ()
    """From plan to commit, of the last batches that have both, oldest first."""
    planned_after_commit: tuple[int, ...] = ()
    """Those of the last batches whose offset entry was written after their commit, which no Spark does."""


def read_batch_times(storage: ReadableStorage, facts: CheckpointFacts) -> BatchTimes:
    """The times of the last RECENT committed batches. Raises StorageError when they can't be asked."""
    recent = facts.commits_log.ids[-RECENT:]
    committed = _moments(storage, join(facts.address, COMMITS), recent)
    planned = _moments(storage, join(facts.address, OFFSETS), recent)
    took = {batch: committed[batch] - planned[batch] for batch in recent if batch in committed and batch in planned}
    return BatchTimes(
        committed_at=committed.get(facts.last_commit),
        durations=tuple(duration for duration in took.values() if duration >= timedelta(0)),
        planned_after_commit=tuple(batch for batch, duration in took.items() if duration < -SAME_MOMENT),
    )


def _moments(storage: ReadableStorage, folder: str, batches: tuple[int, ...]) -> dict[int, datetime]:
    if not batches:
        return {}
    details = storage.details(folder, only=[str(batch) for batch in batches])
    return {int(detail.name): detail.modified_at for detail in details}
