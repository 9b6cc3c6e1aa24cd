"""The places that a stream declares, beside its checkpoint: the folder or table that it reads, and its sink."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from streamops.catalogue.delta_source_rules import DeltaSourceView
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot, inspect_checkpoint
from streamops.checkpoint.reader import read_checkpoint
from streamops.deltalog import read_pending
from streamops.errors import SettingsError
from streamops.places.delta_source import delta_source
from streamops.places.input_files import InputFacts, read_input
from streamops.places.sink import DeltaSink, MissingSink, SinkView, is_still, newest_batch, read_sink
from streamops.spec import DeltaTableSource, FilesSource, StreamSpec
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkPlace:
    """Where a query writes to."""

    storage: ReadableStorage
    address: str
    """Canonical."""
    applications: tuple[str, ...] = ()
    """`txnAppId` of a foreachBatch; Delta's own sink takes the query's id, which is asked for anyway."""
    may_be_missing: bool = False
    """Whether it is no wonder where nothing is found there."""


def declared_sink(spec: StreamSpec, storage_for: Callable[[str], ReadableStorage]) -> SinkPlace | None:
    """The stream's declared Delta table; None where there is none, or where it lies in a store that can't be asked yet.

    A job need not write there with Delta's sink, or at all: where no table is found, nothing is said.
    """
    if not spec.sink.table:
        return None
    try:
        return SinkPlace(storage=storage_for(spec.sink.table), address=spec.sink.table, may_be_missing=True)
    except SettingsError:
        return None


def look_at_both(
    storage: ReadableStorage, address: str, place: SinkPlace
) -> tuple[CheckpointSnapshot, SinkView | None]:
    """The checkpoint between two looks at its sink, and no view of a sink that is missing and may be.

    Raises StorageError where the checkpoint can't be asked.
    """
    query_id = read_checkpoint(storage, address).query_id
    (snapshot,), view = look_around(place, query_id, inspect=lambda: (inspect_checkpoint(storage, address),))
    return snapshot, view


def look_around(
    place: SinkPlace, query_id: str | None, *, inspect: Callable[[], tuple[CheckpointSnapshot, ...]]
) -> tuple[tuple[CheckpointSnapshot, ...], SinkView | None]:
    """As `look_at_both`, for a query whose id is known, with whatever `inspect` reads: its own checkpoint comes first."""
    before = read_sink(place.storage, place.address, query_id=query_id, applications=place.applications)
    snapshot, *others = inspect()
    latest, has = before, newest_batch(before)
    falls_short = has is None or has < snapshot.facts.last_commit
    # A table of millions of files is not read twice in a start only to find it as it was.
    if falls_short and not is_still(place.storage, before, query_id=snapshot.facts.query_id):
        latest = read_sink(
            place.storage, place.address, query_id=snapshot.facts.query_id, applications=place.applications
        )
    if place.may_be_missing and isinstance(latest, MissingSink):
        return (snapshot, *others), None
    return (snapshot, *others), SinkView(before=before, latest=latest)
