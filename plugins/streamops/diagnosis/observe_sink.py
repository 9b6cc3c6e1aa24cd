"""A checkpoint and its sink in one look, in an order in which a running query raises no doubt."""

from collections.abc import Callable
from dataclasses import dataclass

from streamops.checkpoint import read_checkpoint
from streamops.checkpoint.inspect import CheckpointSnapshot, inspect_checkpoint
from streamops.errors import SettingsError
from streamops.sink import MissingSink, SinkView, is_still, newest_batch, read_sink
from streamops.spec import StreamSpec
from streamops.storage import ReadableStorage


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
