"""The Delta table that a query reads, beside its checkpoint."""

from dataclasses import dataclass
from datetime import datetime

from streamops.checkpoint import CheckpointFacts
from streamops.delta_source import delta_source
from streamops.deltalog import read_pending
from streamops.health.checkpoint.delta_source_rules import DeltaSourceView
from streamops.sink import DeltaSink, read_sink
from streamops.storage import ReadableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """Where a query reads from."""

    storage: ReadableStorage
    address: str
    """Canonical."""

    def view(self, facts: CheckpointFacts, *, now: datetime | None) -> DeltaSourceView:
        """What lies there, read after the checkpoint, whose offsets a table that goes on then holds.

        Its log is read from the lowest version on that a start needs, where something waits to be read.
        """
        place = read_sink(self.storage, self.address, query_id=None)
        source = delta_source(facts, place.table) if isinstance(place, DeltaSink) else None
        if source is None or not source.is_waiting:
            return DeltaSourceView(place=place, now=now)
        return DeltaSourceView(
            place=place, pending=read_pending(self.storage, self.address, first=source.first_needed), now=now
        )
