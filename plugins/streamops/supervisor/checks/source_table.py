"""The Delta table that a query reads, beside its checkpoint."""

from dataclasses import dataclass

from streamops.sink import Sink, read_sink
from streamops.storage import ReadableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """Where a query reads from."""

    storage: ReadableStorage
    address: str
    """Canonical."""

    def read(self) -> Sink:
        """What lies there; read it after the checkpoint, whose offsets a table that goes on then holds."""
        return read_sink(self.storage, self.address, query_id=None)
