"""A fold kept beside the log, so that a first look reads at most fifty records instead of a stream's whole life.

Only a cache: a snapshot that is missing, of another fold, or can't be read for whatever cause, is passed over and the log is
folded from its start. Of two writers the last one wins. An older snapshot in the place of a newer one does no harm, since the
records behind it are read as well; it only makes the next first look longer.
"""

import logging
from dataclasses import dataclass

from streamops.control import codec
from streamops.control.fold import fold
from streamops.control.log import LOOKED_PAST, LOOKED_PAST_FIRST, LogReader, read_record
from streamops.control.records import Record
from streamops.control.state import LogState
from streamops.errors import ControlLogError, CorruptRecordError, ObjectNotFoundError, StorageError
from streamops.storage import FileKind, ReadableStorage, Storage, WritableStorage, join, read_file, write_file

log = logging.getLogger(__name__)

SNAPSHOT_INTERVAL = 50
"""Records between two snapshots."""

FOLD_VERSION = 12
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
    state, _ = _loaded(storage, control)
    return state


def load_and_keep(storage: WritableStorage, control: str) -> LogState:
    """As `load_state`, for whoever may write: a fold that had to read many records is kept for the next process.

    So after an upgrade whose fold is another one each log is folded from its start once, and not by every process.
    """
    state, records_read = _loaded(storage, control)
    if records_read > SNAPSHOT_INTERVAL:
        _keep(storage, control, state)
    return state


def refresh_state(storage: ReadableStorage, control: str, state: LogState) -> LogState:
    """The state brought up to date; reads the last known record again and those behind it.

    Raises what LogReader.read_behind raises; CorruptRecordError when the last known record is gone or another.
    """
    return _refreshed(storage, control, state, look_past=LOOKED_PAST)[0]


def save_snapshot_if_due(storage: WritableStorage, control: str, before: LogState, record: Record) -> None:
    """Write the snapshot when the record that was just appended completes an interval."""
    state = fold((record,), before)
    if state.next_number % SNAPSHOT_INTERVAL:
        return
    try:
        _write(storage, control, state)
    except StorageError as error:
        # The record is in the log, and that is what counts.
        log.warning("snapshot of %s not written: %s", control, error)


def forget_snapshot(storage: Storage, control: str) -> None:
    """Remove what may tell of a log that is lost for good. Raises StorageError."""
    storage.delete(_address(control))


def _loaded(storage: ReadableStorage, control: str) -> tuple[LogState, int]:
    """The state, and how many records were read for it."""
    state = _read_snapshot(storage, control)
    if state is not None:
        return _refreshed(storage, control, state, look_past=LOOKED_PAST_FIRST)
    records = LogReader(storage, control).read()
    return fold(records), len(records)


def _refreshed(storage: ReadableStorage, control: str, state: LogState, *, look_past: int) -> tuple[LogState, int]:
    records = LogReader(storage, control).read_behind(state.next_number - 2, look_past=look_past)
    if not records or records[0].nonce != state.last_nonce:
        raise CorruptRecordError(
            f"{control}: record {state.next_number - 1}, which has been seen, is gone or another: records were removed,"
            " or an old backup was put back. Restore the log; where that can't be done, make sure that no driver lives,"
            " then `streamops adopt` (a backfill is asked for anew)"
        )
    return fold(records[1:], state), len(records)


def _keep(storage: WritableStorage, control: str, state: LogState) -> None:
    """Write what a long fold has found, unless another process has done so meanwhile.

    The last record is read once more: a log that was taken away during the fold must not come back as its snapshot.
    """
    try:
        other = _read_snapshot(storage, control)
        is_there = read_record(storage, control, state.next_number - 1).nonce == state.last_nonce
        if is_there and (other is None or other.next_number < state.next_number):
            _write(storage, control, state)
    except (StorageError, ControlLogError) as error:
        # Whoever may only read goes on without; the next supervisor leaves one.
        log.debug("snapshot of %s not kept: %s", control, error)


def _write(storage: WritableStorage, control: str, state: LogState) -> None:
    content = codec.encode(Snapshot(fold_version=FOLD_VERSION, state=state))
    write_file(storage, FileKind.SNAPSHOT, _address(control), content)


def _read_snapshot(storage: ReadableStorage, control: str) -> LogState | None:
    """The state in the snapshot; None for none that is of use.

    A storage that does not answer is no error here: the log lies beside it, and reading that tells.
    """
    address = _address(control)
    try:
        snapshot = codec.decode(Snapshot, read_file(storage, FileKind.SNAPSHOT, address), address=address)
    except ObjectNotFoundError:
        return None
    except (StorageError, CorruptRecordError) as error:
        log.warning("a snapshot is passed over: %s", error)
        return None
    return snapshot.state if snapshot.fold_version == FOLD_VERSION and not snapshot.state.is_empty else None


def _address(control: str) -> str:
    return join(control, "snapshot.json")
