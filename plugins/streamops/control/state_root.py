"""The marker of a state root: `<state_root>/streamops.json`, made by `streamops init` and by nothing else.

Without it a folder is no state root, however empty or full it is: most likely its volume is not mounted. Nothing is read
from such a folder and nothing is made below it, or every stream would pass for a new one.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime

from streamops.clock import Clock
from streamops.control import codec
from streamops.control.records import Author
from streamops.control.registry import registry_folder
from streamops.errors import ObjectExistsError, ObjectNotFoundError, StorageError
from streamops.storage import FileKind, ReadableStorage, Storage, create_file, join, read_file

MARKER = "streamops.json"
VERSION = 1
"""Of the layout below a state root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRoot:
    """What the marker says."""

    version: int
    id: str
    """Random: two folders are never one state root."""
    created_at: datetime
    created_by: Author


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeStateRoot:
    """A state root after `streamops init`."""

    root: StateRoot
    is_new: bool
    """Whether the marker was written now."""
    is_taken_over: bool = False
    """Whether there were streams already, of a version that had no marker."""


def marker_address(state_root: str) -> str:
    """`<state_root>/streamops.json`"""
    return join(state_root, MARKER)


def require_state_root(storage: ReadableStorage, state_root: str) -> StateRoot:
    """The marker. StorageError, with what to do, where there is none or one of a newer version; CorruptRecordError."""
    address = marker_address(state_root)
    try:
        root = codec.decode(StateRoot, read_file(storage, FileKind.STATE_ROOT, address), address=address)
    except ObjectNotFoundError:
        raise StorageError(_absent(storage, state_root)) from None
    if root.version > VERSION:
        raise StorageError(f"{address} is of version {root.version}, this streamops knows {VERSION}: upgrade it")
    return root


def make_state_root(storage: Storage, state_root: str, *, clock: Clock, author: Author) -> MadeStateRoot:
    """Make a folder a state root; one that is stays as it is. Raises StorageError, CorruptRecordError."""
    address = marker_address(state_root)
    root = StateRoot(version=VERSION, id=uuid.uuid4().hex, created_at=clock.now(), created_by=author)
    is_taken_over = bool(storage.list(registry_folder(state_root)))
    try:
        create_file(storage, FileKind.STATE_ROOT, address, codec.encode(root))
    except ObjectExistsError:
        return MadeStateRoot(root=require_state_root(storage, state_root), is_new=False)
    return MadeStateRoot(root=root, is_new=True, is_taken_over=is_taken_over)


def _absent(storage: ReadableStorage, state_root: str) -> str:
    if storage.list(registry_folder(state_root)):
        return (
            f"state root {state_root} has streams and no {MARKER}: it is of an earlier version of streamops, or was copied in"
            " part. `streamops init` takes it over"
        )
    return (
        f"state root {state_root} has no {MARKER}: is its volume mounted? Nothing is started and nothing is made there."
        " `streamops init` makes a new one"
    )
