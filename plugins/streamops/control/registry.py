"""Which stream has which checkpoint: `<state_root>/registry/<stream>.json`, across all settings files of one state root.

The settings file already refuses two streams on one checkpoint. The registry also knows the streams of other files,
those that left the YAML, and what a stream's checkpoint was before somebody edited it.

An entry that can't be read stops its own stream, and every stream that is not established yet: it may be what such a
stream is in conflict with. The others are known not to be, since no stream is ever entered beside a conflict.
"""

import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from streamops.clock import Clock
from streamops.control import codec
from streamops.control.layout import own_places_around
from streamops.errors import (
    CorruptRecordError,
    ObjectExistsError,
    ObjectNotFoundError,
    ObjectUnreadableError,
    SettingsError,
)
from streamops.storage import FileKind, ReadableStorage, Storage, create_file, join, read_file, write_file
from streamops.storage.address import is_root

_ENTRY_NAME = re.compile(r"^([a-z][a-z0-9_]*)\.json$")
"""`orders_to_delta.json`"""

_REGISTER_TRIES = 3

READ_INTERVAL = timedelta(seconds=10)
"""How old what all streams of a process share may be. Only a first start rests on it, and that reads anew at its claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """One stream that was started at least once. Addresses are canonical."""

    stream: str
    checkpoint: str
    sink: str
    query_id: str
    """Spark's id of the query; empty until the checkpoint has one."""
    was_submitted: bool = True
    """Whether a driver was ever about to be submitted: before that nothing is missed where nothing is. Entries of earlier
    versions do not say, and count as such."""

    def had_driver_on(self, checkpoint: str) -> bool:
        """Whether a driver was on that checkpoint, so that its control log has a claim, wherever it is."""
        return self.checkpoint == checkpoint and (self.was_submitted or bool(self.query_id))

    def misses(self, checkpoint: str, *, has_claims: bool) -> bool:
        """Whether a query had that checkpoint, where nothing is there any more.

        A known query id says so. Without one, a driver that was submitted may have died before it wrote anything: then the
        log has its claim. A log that has not is gone as well, as happens where a volume is not mounted.
        """
        return self.had_driver_on(checkpoint) and (bool(self.query_id) or not has_claims)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenEntry:
    """An entry that is there and can't be trusted."""

    stream: str
    address: str
    reason: str
    """Names the file."""


class Registry:
    """All entries as one read found them. A question takes as many steps as an address has parts, not as there are streams."""

    def __init__(self, entries: Iterable[RegistryEntry], broken: Iterable[BrokenEntry] = ()) -> None:
        self.entries = tuple(entries)
        """By name."""
        self.broken = tuple(broken)
        self._at: dict[str, list[RegistryEntry]] = defaultdict(list)
        self._within: dict[str, list[RegistryEntry]] = defaultdict(list)
        for entry in self.entries:
            self._at[entry.checkpoint].append(entry)
            for place in own_places_around(entry.checkpoint):
                self._within[place.checkpoint].append(entry)

    def rivals(self, candidate: RegistryEntry) -> tuple[RegistryEntry, ...]:
        """Other streams whose checkpoint is the candidate's, or lies among its own places, or the other way round."""
        found = list(self._within.get(candidate.checkpoint, ()))
        for place in own_places_around(candidate.checkpoint):
            found += self._at.get(place.checkpoint, ())
        return tuple({entry.stream: entry for entry in found if entry.stream != candidate.stream}.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryState:
    """How a stream stands in the registry."""

    entry: RegistryEntry | None
    """Its own, as it is now; None where there is none, or none that can be read."""
    is_established: bool = False
    """Whether it was entered on this checkpoint, and has claimed it since: the log is its own."""
    conflicts: tuple[str, ...] = ()
    """Why it may not start, as far as the registry knows."""


class SharedRegistry:
    """The registry for all streams of a process, read once in a while and not once a stream."""

    def __init__(self, clock: Clock, *, max_age: timedelta = READ_INTERVAL) -> None:
        self._clock = clock
        self._max_age = max_age
        self._lock = threading.Lock()
        self._readings: dict[str, _Reading] = {}

    def of(self, storage: ReadableStorage, state_root: str) -> Registry:
        """The registry below a state root. StorageError; whoever asks meanwhile waits for the one who reads."""
        with self._lock:
            reading = self._readings.setdefault(state_root, _Reading())
        with reading.lock:
            now = self._clock.monotonic()
            if reading.registry is None or now - reading.at >= self._max_age:
                reading.registry, reading.at = read_registry(storage, state_root), now
            return reading.registry


class _Reading:
    """What was read of one state root, and when."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.registry: Registry | None = None
        self.at = timedelta(0)


def registry_folder(state_root: str) -> str:
    """Where the entries lie."""
    return join(state_root, "registry")


def entry_address(state_root: str, stream: str) -> str:
    """The address of one stream's entry."""
    return join(registry_folder(state_root), f"{stream}.json")


def read_registry(storage: ReadableStorage, state_root: str) -> Registry:
    """All entries. StorageError where the place can't be asked, which is not the same as an entry that is broken."""
    entries, broken = [], []
    for name in storage.list(registry_folder(state_root)):
        if match := _ENTRY_NAME.match(name):
            found = read_entry(storage, state_root, match[1])
            if isinstance(found, BrokenEntry):
                broken.append(found)
            elif found:
                entries.append(found)
    return Registry(entries, broken)


def read_entry(storage: ReadableStorage, state_root: str, stream: str) -> RegistryEntry | BrokenEntry | None:
    """One stream's entry as it is now; None where there is none. StorageError."""
    address = entry_address(state_root, stream)
    try:
        entry = codec.decode(RegistryEntry, read_file(storage, FileKind.REGISTRY_ENTRY, address), address=address)
    except ObjectNotFoundError:
        return None
    except (CorruptRecordError, ObjectUnreadableError) as error:
        return BrokenEntry(stream=stream, address=address, reason=str(error))
    if entry.stream != stream:
        reason = f"{address} holds the entry of {entry.stream}: it was copied or renamed"
        return BrokenEntry(stream=stream, address=address, reason=reason)
    return entry


def standing_of(
    storage: ReadableStorage, state_root: str, candidate: RegistryEntry, *, owns_log: bool, registry: Registry
) -> RegistryState:
    """How a stream stands: its own entry read anew, the others as `registry` has them. StorageError.

    `owns_log`: whether the control log of its checkpoint says that it is this stream's.
    """
    own = read_entry(storage, state_root, candidate.stream)
    if isinstance(own, BrokenEntry):
        return RegistryState(entry=None, conflicts=(_broken_refusal(candidate, own),))
    is_established = own is not None and own.checkpoint == candidate.checkpoint and owns_log
    refusals = [_root_refusal(candidate), _own_refusal(own, candidate) if own else ""]
    refusals += [_foreign_refusal(other, candidate) for other in registry.rivals(candidate)]
    if not is_established:
        refusals += [_broken_refusal(candidate, other) for other in registry.broken if other.stream != candidate.stream]
    conflicts = tuple(refusal for refusal in refusals if refusal)
    return RegistryState(entry=own, is_established=is_established, conflicts=conflicts)


def register(
    storage: Storage, state_root: str, entry: RegistryEntry, *, owns_log: bool = False, starts_anew: bool = False
) -> None:
    """Enter a stream, or bring its sink and query id up to date; a query id that is known stays when none is given.

    With `starts_anew` it goes: a person has accepted that the checkpoint has no query any more.

    Raises SettingsError for conflicts. Two streams with one checkpoint are never both entered: each creates its entry
    *before* it looks for others again, so of two at once at least one sees the other and takes its own entry back.
    Both may; then nobody is entered and the next try decides. No rule by name can spare one of them: the favoured one
    may be the second to look, when the other has looked, seen nobody and gone on.

    An established stream has been through this, and its checkpoint can't move: it reads its own entry alone, so that all
    streams that are down at once cost one read each.
    """
    for _ in range(_REGISTER_TRIES - 1):
        try:
            return _register(storage, state_root, entry, owns_log=owns_log, starts_anew=starts_anew)
        except ObjectExistsError:
            # Another supervisor of the same stream was faster: its entry is judged like any other.
            continue
    _register(storage, state_root, entry, owns_log=owns_log, starts_anew=starts_anew)


def note_driver(storage: Storage, state_root: str, stream: str, *, query_id: str = "") -> bool:
    """Keep that a driver of the stream is about to be, and the query id that it has told of, should none be known.

    A query goes on for months under one claim: without this the registry would take its checkpoint for one to come, and
    a volume that is not mounted for a new stream. False where the stream is not entered. StorageError.
    """
    known = read_entry(storage, state_root, stream)
    if not isinstance(known, RegistryEntry):
        return False
    noted = replace(known, was_submitted=True, query_id=known.query_id or query_id)
    if noted != known:
        write_file(storage, FileKind.REGISTRY_ENTRY, entry_address(state_root, stream), codec.encode(noted))
    return True


def _register(storage: Storage, state_root: str, entry: RegistryEntry, *, owns_log: bool, starts_anew: bool) -> None:
    own = standing_of(storage, state_root, entry, owns_log=owns_log, registry=Registry(()))
    standing = own if own.is_established else _standing_anew(storage, state_root, entry, owns_log=owns_log)
    _refuse(standing.conflicts, state_root)
    address, known = entry_address(state_root, entry.stream), standing.entry
    if known:
        query_id = entry.query_id or ("" if starts_anew else known.query_id)
        current = replace(known, sink=entry.sink, query_id=query_id)
        if current != known:
            write_file(storage, FileKind.REGISTRY_ENTRY, address, codec.encode(current))
        return
    create_file(storage, FileKind.REGISTRY_ENTRY, address, codec.encode(entry))
    try:
        _refuse(_standing_anew(storage, state_root, entry, owns_log=owns_log).conflicts, state_root)
    except SettingsError:
        storage.delete(address)
        raise


def _standing_anew(storage: Storage, state_root: str, entry: RegistryEntry, *, owns_log: bool) -> RegistryState:
    registry = read_registry(storage, state_root)
    return standing_of(storage, state_root, entry, owns_log=owns_log, registry=registry)


def _refuse(conflicts: Sequence[str], state_root: str) -> None:
    if conflicts:
        raise SettingsError(f"{'; '.join(conflicts)} (registry: {registry_folder(state_root)})")


def _broken_refusal(candidate: RegistryEntry, broken: BrokenEntry) -> str:
    """Unreadable is not absent: it may hold another checkpoint of this stream, or this checkpoint of another."""
    if broken.stream == candidate.stream:
        return (
            f"{candidate.stream}: its registry entry can't be read: {broken.reason}. Restore the file, or"
            f" `streamops forget {candidate.stream} --reason …`"
        )
    return (
        f"{candidate.stream}: it was never started on {candidate.checkpoint}, and a registry entry that may be in its way"
        f" can't be read: {broken.reason}. Restore the file, or `streamops forget {broken.stream} --reason …`"
    )


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
            f" or `streamops forget {candidate.stream} --reason …` when the move is meant"
        )
    if known.query_id and candidate.query_id and known.query_id != candidate.query_id:
        return (
            f"{candidate.stream}: checkpoint {candidate.checkpoint} holds query {candidate.query_id}, registered is"
            f" {known.query_id}: it was replaced; restore it, or `streamops forget {candidate.stream} --reason …` when"
            " that is meant"
        )
    return ""


def _foreign_refusal(other: RegistryEntry, candidate: RegistryEntry) -> str:
    """No two streams share a checkpoint, nor does one lie in the other's or in what the suite makes beside it."""
    if other.checkpoint == candidate.checkpoint:
        return f"{candidate.stream}: checkpoint {candidate.checkpoint} belongs to stream {other.stream}: choose another"
    return (
        f"{candidate.stream}: checkpoint {candidate.checkpoint} is nested with {other.checkpoint} of stream"
        f" {other.stream}: choose a folder apart from it"
    )
