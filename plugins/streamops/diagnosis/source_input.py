"""The folder that a file source reads, beside its checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass

from streamops.checkpoint.input_files import InputFacts, read_input
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.errors import SettingsError
from streamops.spec import FilesSource, StreamSpec
from streamops.storage import ReadableStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInput:
    """Where a query reads files from."""

    storage: ReadableStorage
    address: str
    """Canonical; may hold patterns."""
    chooses: bool = False
    """Whether the source takes some of the files there only, by an option."""

    def view(self, snapshot: CheckpointSnapshot) -> InputFacts:
        """What lies there, read after the checkpoint."""
        checkpoint = snapshot.facts.address
        return read_input(self.storage, checkpoint, snapshot, address=self.address, chooses=self.chooses)


def declared_source_input(spec: StreamSpec, storage_for: Callable[[str], ReadableStorage]) -> SourceInput | None:
    """The folder that a stream is declared to read; None where it reads something else, or can't be asked from here.

    Nor where files are known by their names alone (`fileNameOnly`): then an address proves nothing.
    """
    source = spec.source
    if not isinstance(source, FilesSource) or source.knows_names_only:
        return None
    try:
        storage = storage_for(source.path)
    except SettingsError:
        return None
    return SourceInput(storage=storage, address=source.path, chooses=bool(source.choosing_options))
