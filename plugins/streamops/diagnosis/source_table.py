"""The Delta table that a query reads, beside its checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from streamops.checkpoint import CheckpointFacts
from streamops.delta_source import delta_source
from streamops.deltalog import read_pending
from streamops.diagnosis.rules.delta_source_rules import DeltaSourceView
from streamops.errors import SettingsError
from streamops.sink import DeltaSink, read_sink
from streamops.spec import DeltaTableSource, StreamSpec
from streamops.storage import ReadableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """Where a query reads from."""

    storage: ReadableStorage
    address: str
    """Canonical."""
    options: tuple[tuple[str, str], ...] = ()
    """Of the source, as they are declared."""

    def view(self, facts: CheckpointFacts, *, now: datetime | None) -> DeltaSourceView:
        """What lies there, read after the checkpoint, whose offsets a table that goes on then holds.

        Its log is read from the lowest version on that a start needs, where something waits to be read.
        """
        place = read_sink(self.storage, self.address, query_id=None)
        source = delta_source(facts, place.table) if isinstance(place, DeltaSink) else None
        if source is None or not source.is_waiting:
            return DeltaSourceView(place=place, now=now, options=self.options)
        pending = read_pending(self.storage, self.address, first=source.first_needed)
        return DeltaSourceView(place=place, pending=pending, now=now, options=self.options)


def declared_source_table(spec: StreamSpec, storage_for: Callable[[str], ReadableStorage]) -> SourceTable | None:
    """The Delta table that a stream is declared to read; None where it reads something else, or can't be asked from here."""
    source = spec.source
    if not isinstance(source, DeltaTableSource):
        return None
    try:
        return SourceTable(storage=storage_for(source.table), address=source.table, options=source.options)
    except SettingsError:
        return None
