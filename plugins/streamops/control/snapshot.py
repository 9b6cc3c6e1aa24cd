"""A fold kept beside the log, so that a first look reads at most fifty records instead of a stream's whole life.

Only a cache: a snapshot that is missing, broken, or of another fold is passed over and the log is folded from its start.
"""

import logging
from dataclasses import dataclass

from streamops.control import codec
from streamops.control.fold import fold
from streamops.control.log import LogReader
from streamops.control.records import Record
from streamops.control.state import LogState
from streamops.errors import CorruptRecordError, ObjectNotFoundError, StorageError
from streamops.storage import ReadableStorage, Storage, WritableStorage, join

log = logging.getLogger(__name__)

SNAPSHOT_INTERVAL = 50
"""Records between two snapshots."""

FOLD_VERSION = 10
"""Raised whenever the fold gives another state for the same records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state after the first `state.next_number` records."""

    fold_version: int
    state: LogState


def load_state(storage: ReadableStorage, control: str) -> LogState:
    """The state of the log now, from the snapshot and the records behind it.

    Raises what refresh_state raises.
    """
    state = _read_snapshot(storage, control)
    if state is None:
        return fold(LogReader(storage, control).read())
    return refresh_state(storage, control, state)


def refresh_state(storage: ReadableStorage, control: str, state: LogState) -> LogState:
    """The state brought up to date; reads the last known record again and those behind it.

    Raises what LogReader.read raises; CorruptRecordError when the last known record is gone or another.
    """
    records = LogReader(storage, control).read(after=state.next_number - 2)
    if not records or records[0].nonce != state.last_nonce:
        raise CorruptRecordError(
            f"{control}: record {state.next_number - 1}, which has been seen, is gone or another: records were removed,"
            " or an old backup was put back. Restore the log; where that can't be done, make sure that no driver lives,"
            " then `streamops adopt` (a backfill is asked for anew)"
        )
    return fold(records[1:], state)


def save_snapshot_if_due(storage: WritableStorage, control: str, before: LogState, record: Record) -> None:
    """Write the snapshot when the record that was just appended completes an interval."""
    state = fold((record,), before)
    if state.next_number % SNAPSHOT_INTERVAL:
        return
    try:
        storage.write(_address(control), codec.encode(Snapshot(fold_version=FOLD_VERSION, state=state)))
    except StorageError as error:
        # The record is in the log, and that is what counts.
        log.warning("snapshot of %s not written: %s", control, error)


def forget_snapshot(storage: Storage, control: str) -> None:
    """Remove what may tell of a log that is lost for good. Raises StorageError."""
    storage.delete(_address(control))


def _read_snapshot(storage: ReadableStorage, control: str) -> LogState | None:
    address = _address(control)
    try:
        snapshot = codec.decode(Snapshot, storage.read(address), address=address)
    except (ObjectNotFoundError, CorruptRecordError):
        return None
    return snapshot.state if snapshot.fold_version == FOLD_VERSION and not snapshot.state.is_empty else None


def _address(control: str) -> str:
    return join(control, "snapshot.json")
