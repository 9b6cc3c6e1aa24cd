"""What state folders say about themselves: operators and stores, RocksDB's snapshots, Spark's checksums.

Spark classes: OperatorStateMetadataV1 and V2 (4.0+), RocksDBCheckpointMetadata (3.5 to 4.3), ChecksumCheckpointFileManager
(4.1+). All of it is optional for a start but the RocksDB snapshot.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO

import google_crc32c

from streamops.checkpoint.compact_log import entry_lines, json_object
from streamops.checkpoint.layout import json_value, quoted
from streamops.errors import CheckpointError

MANIFEST = "metadata"
MANIFEST_LIMIT = 4 * 1024 * 1024
"""Bytes, unpacked. Room for some 30 000 SST files."""
MAX_UNPACKED = 64 * 1024 * 1024
"""Bytes of all members of a snapshot's zip together, up to which their checksums are compared."""
MAX_STORES = 100
MAX_MEMBERS = 10_000

_OPERATOR_VERSIONS = ("v1", "v2")
_STORE_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")
_DFS_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}")
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,  # a newer form of zip
    RuntimeError,  # encrypted
    EOFError,
    ValueError,
    OverflowError,
    OSError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """One store of an operator."""

    name: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorMetadata:
    """`state/<op>/_metadata/metadata`."""

    name: str
    """`stateStoreSave`, `symmetricHashJoin`, `dedupe` …"""
    stores: tuple[StoreInfo, ...]

    @property
    def partitions(self) -> int:
        """How many partitions the operator has; the same for all its stores."""
        return max((store.partitions for store in self.stores), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestFile:
    """A file that a RocksDB snapshot refers to, in `SSTs/` or `logs/` beside it."""

    name: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotManifest:
    """What a RocksDB snapshot `N.zip` consists of."""

    members: tuple[str, ...]
    """Names inside the zip, as they are: never a path to open, and to be escaped before they are shown."""
    ssts: tuple[ManifestFile, ...]
    logs: tuple[ManifestFile, ...]
    odd_names: tuple[str, ...]
    """Files listed under a name that Spark never gives, with a path in it for example: not to be looked up."""
    keys: int | None

    def missing_ssts(self, names: Iterable[str]) -> tuple[str, ...]:
        """The SST files that are not among the names in `SSTs/`."""
        there = frozenset(names)
        return tuple(sst.name for sst in self.ssts if sst.name not in there)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkChecksum:
    """Spark's own side file of a state file, `7.delta.crc`."""

    value: int
    """CRC-32C, as Java's signed integer."""
    main_file_size: int
    """Bytes."""

    def trouble(self, content: bytes) -> str:
        """Why Spark refuses a file with this content; empty where it takes it."""
        if self.main_file_size != len(content):
            return f"it has {len(content)} bytes, its checksum file says {self.main_file_size}"
        if self.value & _UNSIGNED != google_crc32c.value(content):
            return "it is not what its checksum file was written for"
        return ""


_UNSIGNED = 0xFFFFFFFF


def parse_operator_metadata(content: bytes, *, address: str) -> OperatorMetadata:
    """The operator behind a metadata file; CheckpointError naming file and line."""
    version, _, body = content.decode(errors="replace").partition("\n")
    if version not in _OPERATOR_VERSIONS:
        raise CheckpointError(
            f"{address} line 1: version {version[:20]!r}, supported: {', '.join(_OPERATOR_VERSIONS)} — upgrade streamops"
        )
    place = f"{address} line 2"
    fields = json_object(body, place=place)
    operator, stores = fields.get("operatorInfo"), fields.get("stateStoreInfo")
    name = operator.get("operatorName") if isinstance(operator, dict) else None
    if not isinstance(name, str) or not isinstance(stores, list) or not 0 < len(stores) <= MAX_STORES:
        raise CheckpointError(f"{place}: an operator has a name and 1 to {MAX_STORES} stores")
    return OperatorMetadata(name=name, stores=tuple(_store(store, place=place) for store in stores))


def schema_trouble(content: bytes) -> str:
    """Why a store's schema file can't be read; empty where it can, or has a form that is not known here.

    Texts with their length in two bytes: a version, then key and value, in version 2 each behind the number of its pieces
    (StateSchemaCompatibilityChecker, 3.5 to 4.3). A start fails on an empty or cut one, and not without one (tried on 4.2.0).
    """
    if not content:
        return "it is empty"
    stream = BytesIO(content)
    version = java_text(stream)
    if version not in ("v1", "v2"):
        return "" if version else "it is cut"
    for side in ("key", "value"):
        pieces = int.from_bytes(stream.read(4)) if version == "v2" else 1
        texts = [java_text(stream) for _ in range(pieces)] if 0 < pieces <= MAX_PIECES else [None]
        if None in texts:
            return "it is cut"
        if not _is_struct("".join(text or "" for text in texts)):
            return f"the schema of its {side} is none"
    return ""


def _is_struct(text: str) -> bool:
    """The columns as Spark writes them, each with exactly these four fields (DataType.fromJson, 3.5 to 4.3)."""
    try:
        told = json_value(text)
    except ValueError:
        return False
    columns = told.get("fields") if isinstance(told, dict) and told.get("type") == "struct" else None
    return isinstance(columns, list) and all(
        isinstance(column, dict) and column.keys() == {"name", "type", "nullable", "metadata"} for column in columns
    )


MAX_PIECES = 1_000


def java_text(stream: BytesIO) -> str | None:
    """A text as DataOutputStream.writeUTF writes it; None where it is cut."""
    size = stream.read(2)
    text = stream.read(int.from_bytes(size)) if len(size) == 2 else b""
    return text.decode(errors="replace") if len(size) == 2 and len(text) == int.from_bytes(size) else None


def has_key_columns(schema: bytes) -> bool:
    """Whether the key in a schema file has columns: its JSON comes first (StateSchemaCompatibilityChecker, 3.5 to 4.3)."""
    _, found, rest = schema.partition(b'{"type":"struct","fields":[')
    return bool(found) and not rest.startswith(b"]")


def parse_snapshot_zip(content: bytes, *, address: str) -> SnapshotManifest:
    """The manifest in a RocksDB snapshot; CheckpointError where the zip is cut, refuses to unpack, or lists nonsense."""
    if not content:
        raise CheckpointError(f"{address} is empty")
    try:
        members, packed = _unpack_manifest(content, address=address)
    except _ZIP_ERRORS as error:
        raise CheckpointError(f"{address} is cut or no zip file") from error
    place = f"{address}, {MANIFEST}"
    fields = json_object("\n".join(entry_lines(packed, address=place)), place=f"{place} line 2")
    ssts = _manifest_files(fields.get("sstFiles"), "dfsSstFileName", place=place)
    logs = _manifest_files(fields.get("logFiles"), "dfsLogFileName", place=place)
    keys = fields.get("numKeys")
    return SnapshotManifest(
        members=members,
        ssts=tuple(file for file in ssts if _DFS_NAME.fullmatch(file.name)),
        logs=tuple(file for file in logs if _DFS_NAME.fullmatch(file.name)),
        odd_names=tuple(file.name for file in ssts + logs if not _DFS_NAME.fullmatch(file.name)),
        keys=keys if type(keys) is int else None,
    )


def parse_spark_checksum(content: bytes, *, address: str) -> SparkChecksum:
    """A checksum file; CheckpointError naming it. What follows its JSON does not matter, nor which algorithm it names.

    It is read strictly: bytes that are no UTF-8 are refused, wherever they stand (tried on 4.2.0).
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{address}: byte {error.start + 1} is no UTF-8") from error
    fields = json_object(text, place=address)
    value, size, written_at = (fields.get(name) for name in ("value", "mainFileSize", "timestampMs"))
    if not isinstance(fields.get("algorithm"), str) or type(value) is not int or type(size) is not int:
        raise CheckpointError(f"{address}: a checksum has an algorithm, a value and a mainFileSize")
    if type(written_at) is not int:
        raise CheckpointError(f"{address}: timestampMs is no number")
    return SparkChecksum(value=value, main_file_size=size)


def _store(told: object, *, place: str) -> StoreInfo:
    fields = told if isinstance(told, dict) else {}
    name, partitions = fields.get("storeName"), fields.get("numPartitions")
    # The name becomes part of an address.
    if not isinstance(name, str) or not _STORE_NAME.fullmatch(name) or type(partitions) is not int or partitions < 0:
        raise CheckpointError(f"{place}: a store has a plain name and a number of partitions")
    return StoreInfo(name=name, partitions=partitions)


def _unpack_manifest(content: bytes, *, address: str) -> tuple[tuple[str, ...], bytes]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise CheckpointError(f"{address} has {len(members)} members: no snapshot of RocksDB")
        manifest = next((member for member in members if member.filename == MANIFEST), None)
        if manifest is None:
            raise CheckpointError(f"{address} has no member {MANIFEST}")
        if manifest.file_size > MANIFEST_LIMIT or manifest.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise CheckpointError(
                f"{address}, {MANIFEST}: unpacks to {manifest.file_size} bytes, no manifest of RocksDB"
            )
        if sum(member.file_size for member in members) <= MAX_UNPACKED and (torn := archive.testzip()):
            raise CheckpointError(f"{address}, {quoted(torn)}: it is not as it was written, its checksum does not fit")
        # The header of the member may claim another size than the directory: what is read stays bounded.
        with archive.open(manifest) as file:
            return tuple(member.filename for member in members), file.read(MANIFEST_LIMIT)


def _manifest_files(told: object, name_key: str, *, place: str) -> tuple[ManifestFile, ...]:
    """The files under a key; a snapshot without any of the kind has no key, or null."""
    files = []
    for fields in told if isinstance(told, list) else ():
        name = fields.get(name_key) if isinstance(fields, dict) else None
        size = fields.get("sizeBytes") if isinstance(fields, dict) else None
        if not isinstance(name, str) or type(size) is not int:
            raise CheckpointError(f"{place} line 2: a file has a {name_key} and a size")
        files.append(ManifestFile(name=name, size=size))
    return tuple(files)
