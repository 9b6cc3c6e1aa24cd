"""Which stream has which checkpoint: `<state_root>/registry/<stream>.json`, across all settings files of one state root.

The settings file already refuses two streams on one checkpoint. The registry also knows the streams of other files,
those that left the YAML, and what a stream's checkpoint was before somebody edited it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from streamops.control import codec
from streamops.control.layout import own_places_around
from streamops.errors import CorruptRecordError, ObjectExistsError, ObjectNotFoundError, SettingsError
from streamops.storage import ReadableStorage, Storage, join
from streamops.storage.address import is_root

_ENTRY_NAME = re.compile(r"^([a-z][a-z0-9_]*)\.json$")
"""`orders_to_delta.json`"""

_REGISTER_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """One stream that was started at least once. Addresses are canonical."""

    stream: str
    checkpoint: str
    sink: str
    query_id: str
    """Spark's id of the query; empty until the checkpoint has one."""


def registry_folder(state_root: str) -> str:
    """Where the entries lie."""
    return join(state_root, "registry")


def entry_address(state_root: str, stream: str) -> str:
    """The address of one stream's entry."""
    return join(registry_folder(state_root), f"{stream}.json")


def read_registry(storage: ReadableStorage, state_root: str) -> tuple[RegistryEntry, ...]:
    """All entries by name. CorruptRecordError, naming the file, when one of them can't be trusted."""
    names = storage.list(registry_folder(state_root))
    streams = [match[1] for name in names if (match := _ENTRY_NAME.match(name))]
    found = (_read_entry(storage, state_root, stream) for stream in streams)
    return tuple(entry for entry in found if entry)


def registry_conflicts(entries: Iterable[RegistryEntry], candidate: RegistryEntry) -> tuple[str, ...]:
    """Why a stream may not start on its checkpoint, as far as the registry knows; empty when it may."""
    refusals = [_root_refusal(candidate)]
    for entry in entries:
        rule = _own_refusal if entry.stream == candidate.stream else _foreign_refusal
        refusals.append(rule(entry, candidate))
    return tuple(refusal for refusal in refusals if refusal)


def register(storage: Storage, state_root: str, entry: RegistryEntry) -> None:
    """Enter a stream, or bring its sink and query id up to date; a query id that is known stays when none is given.

    Raises SettingsError for conflicts. Two streams with one checkpoint are never both entered: each creates its entry
    *before* it looks for others again, so of two at once at least one sees the other and takes its own entry back.
    Both may; then nobody is entered and the next try decides. No rule by name can spare one of them: the favoured one
    may be the second to look, when the other has looked, seen nobody and gone on.
    """
    for _ in range(_REGISTER_TRIES - 1):
        try:
            return _register(storage, state_root, entry)
        except ObjectExistsError:
            # Another supervisor of the same stream was faster: its entry is judged like any other.
            continue
    _register(storage, state_root, entry)


def _register(storage: Storage, state_root: str, entry: RegistryEntry) -> None:
    entries = read_registry(storage, state_root)
    _refuse_conflicts(entries, entry, state_root)
    address = entry_address(state_root, entry.stream)
    known = next((other for other in entries if other.stream == entry.stream), None)
    if known:
        current = replace(entry, query_id=entry.query_id or known.query_id)
        if current != known:
            storage.write(address, codec.encode(current))
        return
    storage.create(address, codec.encode(entry))
    try:
        _refuse_conflicts(read_registry(storage, state_root), entry, state_root)
    except SettingsError:
        storage.delete(address)
        raise


def _refuse_conflicts(entries: Iterable[RegistryEntry], candidate: RegistryEntry, state_root: str) -> None:
    conflicts = registry_conflicts(entries, candidate)
    if conflicts:
        raise SettingsError(f"{'; '.join(conflicts)} (registry: {registry_folder(state_root)})")


def _read_entry(storage: ReadableStorage, state_root: str, stream: str) -> RegistryEntry | None:
    address = entry_address(state_root, stream)
    try:
        entry = codec.decode(RegistryEntry, storage.read(address), address=address)
    except ObjectNotFoundError:
        return None  # Taken back since the listing.
    if entry.stream != stream:
        raise CorruptRecordError(f"{address} holds the entry of {entry.stream}: it was copied or renamed")
    return entry


def _root_refusal(candidate: RegistryEntry) -> str:
    """A bucket or a file system as a whole is nobody's checkpoint."""
    if not is_root(candidate.checkpoint):
        return ""
    return (
        f"{candidate.stream}: checkpoint {candidate.checkpoint} is the root of a bucket or file system: name a folder"
    )


def _own_refusal(known: RegistryEntry, candidate: RegistryEntry) -> str:
    """A stream goes on where it was: another checkpoint, or another query in it, starts from nothing in silence."""
    if known.checkpoint != candidate.checkpoint:
        return (
            f"{candidate.stream}: its checkpoint moved from {known.checkpoint} to {candidate.checkpoint}: set it back,"
            f" or remove registry/{candidate.stream}.json below state_root when the move is meant"
        )
    if known.query_id and candidate.query_id and known.query_id != candidate.query_id:
        return (
            f"{candidate.stream}: checkpoint {candidate.checkpoint} holds query {candidate.query_id}, registered is"
            f" {known.query_id}: it was replaced; restore it, or remove registry/{candidate.stream}.json below"
            " state_root when that is meant"
        )
    return ""


def _foreign_refusal(other: RegistryEntry, candidate: RegistryEntry) -> str:
    """No two streams share a checkpoint, nor does one lie in the other's or in what the suite makes beside it."""
    if other.checkpoint == candidate.checkpoint:
        return f"{candidate.stream}: checkpoint {candidate.checkpoint} belongs to stream {other.stream}: choose another"
    if _lies_in(candidate.checkpoint, other.checkpoint) or _lies_in(other.checkpoint, candidate.checkpoint):
        return (
            f"{candidate.stream}: checkpoint {candidate.checkpoint} is nested with {other.checkpoint} of stream"
            f" {other.stream}: choose a folder apart from it"
        )
    return ""


def _lies_in(inner: str, checkpoint: str) -> bool:
    return any(place.checkpoint == checkpoint for place in own_places_around(inner))
