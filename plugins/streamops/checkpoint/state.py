"""Whether every state store of a checkpoint can be loaded at one version, told from names alone.

Layout of StateStoreId, 3.5 to 4.3: `state/<operator>/<partition>/`, and below it one more folder for each store that is
not called `default`. Each folder is listed once at most, and only what describes an operator and its stores is read, so a
thousand partitions cost a thousand listings.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from streamops.checkpoint.layout import batch_id
from streamops.checkpoint.state_files import Missing, Provider, StoreFiles, store_files
from streamops.checkpoint.state_metadata import (
    OperatorMetadata,
    has_key_columns,
    parse_operator_metadata,
    schema_trouble,
)
from streamops.checkpoint.state_snapshots import NO_CHECKSUMS, BrokenStateFile, Checksums
from streamops.errors import (
    CheckpointError,
    ObjectIsNoFileError,
    ObjectNotFoundError,
    ObjectTooLargeError,
    ObjectUnreadableError,
)
from streamops.storage import ReadableStorage, join
from streamops.storage.side_files import is_stale

STATE = "state"
DEFAULT_STORE = "default"
SCHEMA = "_metadata/schema"
JOIN_STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)
"""The stores of a stream-stream join without column families, in the order of the unique ids in the commit log."""
SHOWN_UNLOADABLE = 20
METADATA_LIMIT = 256 * 1024

UniqueIds = Mapping[int, Sequence[Sequence[str]]]
"""`stateUniqueIds` of a commit of v2: for each operator, by partition, the id of each of its stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloadableStore:
    """A store that the version can't be loaded from."""

    operator: int
    partition: int
    store: str
    missing: Missing
    left_as_temporary: tuple[str, ...] = ()
    """Those of the missing files that lie there under a temporary name: perhaps the only copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFacts:
    """One stateful operator."""

    operator: int
    name: str = ""
    """Empty where no metadata tells (3.5 has none)."""
    stores: tuple[str, ...] = ()
    provider: Provider = Provider.UNKNOWN
    partitions_expected: int | None = None
    """As the next start has them; None where neither the metadata nor the caller knows."""
    partitions_written: int | None = None
    """As the batch that wrote the state had them; None where neither commit nor metadata tell."""
    partitions_present: int = 0
    """Of those expected."""
    partitions_beyond: int = 0
    """Folders of partitions that the operator does not have; not looked into."""
    is_keyless: bool = False
    """Whether its state has no keys, so that it is in partition 0 alone, whatever the shuffle partitions are."""
    has_unique_ids: bool = False
    """Whether files of checkpoint format v2 lie here."""
    files: int = 0
    """Deltas, snapshots, changelogs and zips of all stores and versions; side files and SSTs are not counted."""
    foreign: int = 0
    metadata_problem: str = ""
    """Why the metadata could not be read. Spark writes it anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFacts:
    """All state of a checkpoint as far as one version is concerned."""

    version: int
    operators: tuple[OperatorFacts, ...] = ()
    stores_checked: int = 0
    unloadable: tuple[UnloadableStore, ...] = ()
    """The first SHOWN_UNLOADABLE, by operator, partition and store."""
    unloadable_total: int = 0
    unloadable_next: tuple[UnloadableStore, ...] = ()
    """Those that the version after can't be loaded from, the first SHOWN_UNLOADABLE: it is there only where the batch that writes
    it has run."""
    snapshots: tuple[str, ...] = ()
    """RocksDB snapshots that a load begins with, relative to the checkpoint."""
    changes: tuple[str, ...] = ()
    """Files of changes that it reads, relative to the checkpoint: deltas and snapshots of the HDFS provider, changelogs."""
    changes_next: tuple[str, ...] = ()
    """Those that the version after is loaded from besides, where it was asked for."""
    checksums: Checksums = NO_CHECKSUMS
    """Beside which of all these files checksums lie."""
    newest_version: int = 0
    """The highest that any file is of; 0 for none."""
    broken: tuple[BrokenStateFile, ...] = ()
    """Schemas that can't be read."""
    stale_schemas: tuple[str, ...] = ()
    """Schemas that Hadoop's side file does not fit: of another query, or edited. A start compares them with the job."""
    spares: frozenset[str] = frozenset()
    """Those of them that newer releases of Spark could do without, see `StoreFiles.spare_for`."""
    foreign: int = 0
    """Names below `state/` that are no operator."""
    is_emptied: bool = False
    """Whether the folder `state` is there without any operator: a query without state makes none (4.2.0)."""

    @property
    def files(self) -> int:
        """Of all operators."""
        return sum(operator.files for operator in self.operators)

    @property
    def has_files(self) -> bool:
        """Whether any store has ever been written."""
        return any(operator.provider is not Provider.UNKNOWN for operator in self.operators)


def read_state(
    storage: ReadableStorage,
    checkpoint: str,
    *,
    version: int,
    partitions_hint: int | None = None,
    unique_ids: UniqueIds | None = None,
    looks_ahead: bool = False,
) -> StateFacts:
    """The state that a start at `version` loads: the id of the batch to run.

    Expected are `partitions_hint`, the shuffle partitions of the offset entry, which a start takes whatever the state was
    written with (tried on 4.2.0); else as many as the commit has unique ids for, else what the operator's metadata tell, else
    those that are there. An operator without keys has one. Without the ids of a commit
    of v2, files of that format do not count. `looks_ahead`: whether the version after is looked at as well. Raises
    StorageError when a folder can't be asked.
    """
    names = storage.list(join(checkpoint, STATE))
    listed = _numbers(names)
    ids = unique_ids or {}
    survey = _Survey(version, looks_ahead=looks_ahead)
    for operator in sorted({*listed, *ids}):
        read = _OperatorReader(storage, join(checkpoint, STATE), operator, ids.get(operator, ()), partitions_hint)
        survey.add(read)
    facts = survey.facts(foreign=len(names) - len(listed))
    return replace(facts, is_emptied=True) if not facts.operators and STATE in storage.list(checkpoint) else facts


class _OperatorReader:
    """The folders of one operator, each listed once."""

    def __init__(
        self,
        storage: ReadableStorage,
        state: str,
        operator: int,
        ids: Sequence[Sequence[str]],
        partitions_hint: int | None,
    ) -> None:
        self.stale_schemas: list[str] = []
        """Filled by `broken_schemas`."""
        self._storage = storage
        self._folder = join(state, str(operator))
        self._ids = ids
        self.operator = operator
        self.metadata_problem = ""
        names = storage.list(self._folder)
        self._has_metadata_folder = "_metadata" in names
        self._metadata = self._read_metadata() if self._has_metadata_folder else None
        listed = _numbers(names)
        self.is_keyless = listed == {0} and not self._has_key()
        self.written = self._written_partitions()
        self.expected = 1 if self.is_keyless else partitions_hint or self.written
        self.present = sorted(number for number in listed if self.expected is None or number < self.expected)
        self.beyond = len(listed) - len(self.present)
        self.foreign = sum(name not in ("_metadata", "_stateSchema") for name in names) - len(listed)
        self.files = self._read_files()
        self.stores = self._stores()
        votes = Counter(files.provider for files in self.files.values())
        votes.pop(Provider.UNKNOWN, None)
        self.provider = votes.most_common(1)[0][0] if votes else Provider.UNKNOWN

    def facts(self) -> OperatorFacts:
        """What is known of the operator itself."""
        return OperatorFacts(
            operator=self.operator,
            name=self._metadata.name if self._metadata else "",
            stores=self.stores,
            provider=self.provider,
            partitions_expected=self.expected,
            partitions_written=self.written,
            partitions_present=len(self.present),
            partitions_beyond=self.beyond,
            is_keyless=self.is_keyless,
            has_unique_ids=any(files.has_unique_ids for files in self.files.values()),
            files=sum(files.count for files in self.files.values()),
            foreign=self.foreign + sum(files.foreign for files in self.files.values()),
            metadata_problem=self.metadata_problem,
        )

    def check(self, partition: int, version: int) -> Iterator[UnloadableStore]:
        """The stores of a partition that the version can't be loaded from."""
        for index, store in enumerate(self.stores):
            files = self.files.get((partition, store), StoreFiles())
            missing = files.loadable(version, self._unique_id(partition, index), provider=self.provider)
            if missing:
                yield UnloadableStore(
                    operator=self.operator,
                    partition=partition,
                    store=store,
                    missing=missing,
                    left_as_temporary=tuple(name for name in missing.names if name in files.temporary_of),
                )

    def snapshots(self, version: int) -> Iterator[str]:
        """The RocksDB snapshots that the version is loaded from, relative to the checkpoint."""
        for folder, files, unique_id in self._places():
            if name := files.snapshot_for(version, unique_id):
                yield join(folder, name)

    def changes(self, version: int) -> Iterator[str]:
        """The files of changes that are loaded as well, relative to the checkpoint."""
        for folder, files, unique_id in self._places():
            for name in files.changes_for(version, unique_id, provider=self.provider):
                yield join(folder, name)

    def spares(self, version: int) -> Iterator[str]:
        """Those of them that a start could do without, see `StoreFiles.spare_for`."""
        for folder, files, _ in self._places():
            if name := files.spare_for(version):
                yield join(folder, name)

    def checked(self, version: int) -> Checksums:
        """The files that are loaded, and beside which checksums lie."""
        of_spark, of_hadoop, lacking = set(), set(), set()
        for folder, files, unique_id in self._places():
            if not files.spark_checked and not files.hadoop_checked:
                continue
            changes = files.changes_for(version, unique_id, provider=self.provider)
            names = {files.snapshot_for(version, unique_id), *changes}
            of_spark |= {join(folder, name) for name in names & files.spark_checked}
            of_hadoop |= {join(folder, name) for name in names & files.hadoop_checked}
            if not files.hadoop_checked.issuperset(changes):
                lacking |= {join(folder, name) for name in files.unchecked(changes, upto=self._newest_checked())}
        return Checksums(of_spark=frozenset(of_spark), of_hadoop=frozenset(of_hadoop), lacking=frozenset(lacking))

    def _newest_checked(self) -> int:
        """The newest version of whose changes any store has Hadoop's side file; 0 for none."""
        return max((files.checked_versions.stop - 1 for _, files, _ in self._places()), default=0)

    def broken_schemas(self) -> Iterator[BrokenStateFile]:
        """The schemas of the stores, which lie in partition 0, as far as they can't be read."""
        for store in self.stores:
            folder = () if store == DEFAULT_STORE else (store,)
            place = join(STATE, str(self.operator), "0", *folder, SCHEMA)
            try:
                content = self._storage.read(join(self._folder, "0", *folder, SCHEMA), limit=METADATA_LIMIT)
            except ObjectNotFoundError:
                yield from self._left_behind(join("0", *folder, "_metadata"), "schema")
                continue
            except ObjectIsNoFileError as error:
                yield BrokenStateFile(file=place, reason=str(error), is_schema=True)
                continue
            except ObjectUnreadableError:
                continue
            if reason := schema_trouble(content):
                yield BrokenStateFile(file=place, reason=reason, is_schema=True)
            elif is_stale(self._storage, join(self._folder, "0", *folder, SCHEMA), content):
                self.stale_schemas.append(place)

    def blocked_metadata(self) -> Iterator[BrokenStateFile]:
        """What keeps a start from writing the operator's metadata anew, where they are gone."""
        if self._has_metadata_folder and self._metadata is None and not self.metadata_problem:
            yield from self._left_behind("_metadata", "metadata")

    def _left_behind(self, folder: str, name: str) -> Iterator[BrokenStateFile]:
        """Hadoop's side file without its file, which can't be written then (tried on 4.2.0)."""
        names = self._storage.list(join(self._folder, folder))
        if f".{name}.crc" in names and name not in names:
            place = join(STATE, str(self.operator), folder, f".{name}.crc")
            yield BrokenStateFile(
                file=place, reason=f"{name} is not there, and can't be written", is_schema=True, is_left_behind=True
            )

    def _places(self) -> Iterator[tuple[str, StoreFiles, str]]:
        """Of each store its folder, relative to the checkpoint, its files, and the unique id of the commit."""
        for (partition, store), files in self.files.items():
            if store not in self.stores:
                continue
            folder = () if store == DEFAULT_STORE else (store,)
            unique_id = self._unique_id(partition, self.stores.index(store))
            yield join(STATE, str(self.operator), str(partition), *folder), files, unique_id

    def _written_partitions(self) -> int | None:
        """The unique ids count what ran. Metadata only repeat the conf: without keys, an aggregation or a limit runs in
        partition 0 alone (StateStoreSaveExec and StreamingGlobalLimitExec ask for AllTuples, 3.5 to 4.3). Whether there are keys
        stands in the schema of the state; with keys, all other partitions are lost.
        """
        if self._ids:
            return len(self._ids)
        if self.is_keyless:
            return 1
        return (self._metadata.partitions if self._metadata else 0) or None

    def _has_key(self) -> bool:
        """Whether the state's own schema, which lies in partition 0, has columns in its key; a join always has."""
        if self._metadata and {store.name for store in self._metadata.stores} & {*JOIN_STORES}:
            return True
        address = join(self._folder, "0", SCHEMA)
        try:
            return has_key_columns(self._storage.read(address, limit=METADATA_LIMIT))
        except (ObjectNotFoundError, ObjectUnreadableError):
            return False

    def _unique_id(self, partition: int, index: int) -> str:
        of_partition = self._ids[partition] if partition < len(self._ids) else ()
        return of_partition[index] if index < len(of_partition) else ""

    def _read_metadata(self) -> OperatorMetadata | None:
        """Version 1 has one fixed file; transformWithState (4.0+) writes version 2, one file a batch."""
        folder = join(self._folder, "_metadata")
        try:
            return self._parsed_metadata(join(folder, "metadata"))
        except ObjectNotFoundError:
            newest = max(_numbers(self._storage.list(join(folder, "v2"))), default=None)
        try:
            return self._parsed_metadata(join(folder, "v2", str(newest))) if newest is not None else None
        except ObjectNotFoundError:
            return None

    def _parsed_metadata(self, address: str) -> OperatorMetadata | None:
        try:
            return parse_operator_metadata(self._storage.read(address, limit=METADATA_LIMIT), address=address)
        except (CheckpointError, ObjectTooLargeError) as error:
            self.metadata_problem = str(error)
            return None

    def _read_files(self) -> dict[tuple[int, str], StoreFiles]:
        named = {store.name for store in self._metadata.stores} - {DEFAULT_STORE} if self._metadata else set()
        has_default = not self._metadata or any(store.name == DEFAULT_STORE for store in self._metadata.stores)
        files = {}
        for partition in self.present:
            folder = join(self._folder, str(partition))
            names = self._storage.list(folder) if has_default else ()
            own = named or set(JOIN_STORES).intersection(names)
            if names:
                files[partition, DEFAULT_STORE] = store_files(name for name in names if name not in own)
            for store in own:
                files[partition, store] = store_files(self._storage.list(join(folder, store)))
        return files

    def _stores(self) -> tuple[str, ...]:
        """The metadata's stores; without metadata a join's four as soon as one of them is seen, else the default one."""
        if self._metadata:
            return tuple(sorted(store.name for store in self._metadata.stores))
        has_join = any(store != DEFAULT_STORE for _, store in self.files)
        return JOIN_STORES if has_join else (DEFAULT_STORE,)


class _Survey:
    """Adds up what the operators show."""

    def __init__(self, version: int, *, looks_ahead: bool) -> None:
        self._version = version
        self._looks_ahead = looks_ahead
        self._operators: list[OperatorFacts] = []
        self._unloadable: list[UnloadableStore] = []
        self._unloadable_total = 0
        self._unloadable_next: list[UnloadableStore] = []
        self._checked = 0
        self._snapshots: list[str] = []
        self._changes: list[str] = []
        self._spares: list[str] = []
        self._broken: list[BrokenStateFile] = []
        self._changes_next: list[str] = []
        self._stale_schemas: list[str] = []
        self._checksums: list[Checksums] = []
        self._newest = 0

    def add(self, read: _OperatorReader) -> None:
        """Judge no more than is there: absent partitions are all alike, so a few stand for any number."""
        absent_total = max((read.expected or 0) - len(read.present), 0)
        absent = _first_absent(set(read.present), count=min(absent_total, SHOWN_UNLOADABLE))
        for partition in sorted((*read.present, *absent)):
            for store in read.check(partition, self._version):
                self._unloadable_total += 1
                if len(self._unloadable) < SHOWN_UNLOADABLE:
                    self._unloadable.append(store)
        for partition in read.present if self._looks_ahead else ():
            self._unloadable_next += read.check(partition, self._version + 1)
        if self._version > 0:
            self._unloadable_total += (absent_total - len(absent)) * len(read.stores)
        self._checked += (len(read.present) + absent_total) * len(read.stores)
        self._snapshots += read.snapshots(self._version)
        self._changes += read.changes(self._version)
        self._spares += read.spares(self._version)
        self._broken += (*read.broken_schemas(), *read.blocked_metadata()) if self._version > 0 else ()
        self._stale_schemas += read.stale_schemas
        self._checksums.append(read.checked(self._version))
        self._newest = max(self._newest, *(files.newest_version for files in read.files.values()), 0)
        if self._looks_ahead:
            self._changes_next += set(read.changes(self._version + 1)).difference(self._changes)
        self._operators.append(read.facts())

    def facts(self, *, foreign: int) -> StateFacts:
        """The sum."""
        return StateFacts(
            version=self._version,
            operators=tuple(self._operators),
            stores_checked=self._checked,
            unloadable=tuple(self._unloadable),
            unloadable_total=self._unloadable_total,
            unloadable_next=tuple(self._unloadable_next[:SHOWN_UNLOADABLE]),
            snapshots=tuple(self._snapshots),
            changes=tuple(self._changes),
            changes_next=tuple(sorted(self._changes_next)),
            checksums=Checksums(
                of_spark=frozenset().union(*(one.of_spark for one in self._checksums)),
                of_hadoop=frozenset().union(*(one.of_hadoop for one in self._checksums)),
                lacking=frozenset().union(*(one.lacking for one in self._checksums)),
            ),
            newest_version=self._newest,
            broken=tuple(self._broken),
            stale_schemas=tuple(self._stale_schemas),
            spares=frozenset(self._spares),
            foreign=foreign,
        )


def _first_absent(present: set[int], *, count: int) -> list[int]:
    absent: list[int] = []
    candidate = 0
    while len(absent) < count:
        if candidate not in present:
            absent.append(candidate)
        candidate += 1
    return absent


def _numbers(names: Sequence[str]) -> frozenset[int]:
    """The numbers among names, in the one spelling that Spark looks for."""
    numbers = ((name, batch_id(name)) for name in names)
    return frozenset(number for name, number in numbers if number is not None and number >= 0 and name == str(number))
