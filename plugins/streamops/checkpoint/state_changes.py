"""Whether the files of changes that a start loads are whole: deltas and snapshots of the HDFS provider, RocksDB's changelogs.

Spark's default codec for state is `lz4`: lz4-java's LZ4BlockOutputStream, 3.5 to 4.3. Each block has a head of 21 bytes with
its lengths and the XXHash32 of its content; a block without content ends the stream.

Spark classes: HDFSBackedStateStoreProvider, StateStoreChangelogWriter; 3.5 to 4.3. A load fails on an empty or cut file and
on one with a changed byte, and reads nothing behind the mark at the end (tried on 4.2.0 with each provider, with and without
side files; Hadoop's side files are not asked for them).
"""

import json
import struct
from collections import Counter
from collections.abc import Collection, Sequence
from io import BytesIO

import lz4.block
import xxhash

from streamops.checkpoint.state_metadata import java_text
from streamops.checkpoint.state_snapshots import NO_CHECKSUMS, BrokenStateFile, Checksums, StateFileFacts, spark_trouble
from streamops.errors import ObjectNotFoundError, ObjectTooLargeError
from streamops.storage import ReadableStorage, join, parent
from streamops.storage.side_files import is_stale

MAGIC = b"LZ4Block"
_HEAD = struct.Struct("<8sBIII")
_STORED, _COMPRESSED = 0x10, 0x20
_SEED = 0x9747B28C
_CHECKED = 0x0FFFFFFF
"""The bits of a hash that are written: java.util.zip.Checksum of StreamingXXHash32."""
_CHANGED = "is not as it was written"
MAX_CONTENT = 64 * 1024 * 1024
"""Bytes that are unpacked; what comes behind is not looked at."""


def unpacked(content: bytes) -> tuple[bytes, str]:
    """What the blocks hold up to the end, or up to the first that can't be read, and why it can't; empty for no trouble."""
    found = bytearray()
    at = 0
    while len(found) < MAX_CONTENT:
        head = content[at : at + _HEAD.size]
        if len(head) < _HEAD.size:
            return bytes(found), f"no whole block at byte {at} of {len(content)}"
        magic, token, packed_size, size, checksum = _HEAD.unpack(head)
        is_end = size == 0
        if magic != MAGIC or (is_end and (packed_size or checksum or token & 0xF0 not in (_STORED, _COMPRESSED))):
            return bytes(found), f"the block at byte {at} {_CHANGED}"
        if is_end:
            break
        at += _HEAD.size
        packed = content[at : at + packed_size]
        if len(packed) < packed_size or size > MAX_CONTENT:
            return bytes(found), f"the block at byte {at} is cut, the file has {len(content)} bytes"
        piece = _piece(packed, token & 0xF0, size)
        if piece is None or xxhash.xxh32_intdigest(piece, _SEED) & _CHECKED != checksum:
            return bytes(found), f"the block at byte {at} {_CHANGED}"
        found += piece
        at += packed_size
    return bytes(found), ""


def _piece(packed: bytes, method: int, size: int) -> bytes | None:
    if method == _STORED:
        return packed if len(packed) == size else None
    if method != _COMPRESSED:
        return None
    try:
        piece = lz4.block.decompress(packed, uncompressed_size=size)
    except (lz4.block.LZ4BlockError, ValueError, MemoryError):
        return None
    return piece if len(piece) == size else None


MAX_READ = 100
"""Files that are read, those of the newest versions first: what a crash or a full disk leaves."""
MAX_FILES = 400
"""Files that are looked at: of those that are not read only whether they are empty is asked."""
MAX_BYTES = 32 * 1024 * 1024
"""Bytes of all files that are read."""
END = b"\xff\xff\xff\xff"
"""The length -1, where the next key would begin."""
LZ4 = "lz4"
CHANGELOG = ".changelog"


def read_changes(
    storage: ReadableStorage,
    checkpoint: str,
    files: Sequence[str],
    *,
    spares: Collection[str] = (),
    codec: str = LZ4,
    checksums: Checksums = NO_CHECKSUMS,
) -> StateFileFacts:
    """Look into the files at these places below a checkpoint. Raises StorageError when a place can't be asked.

    `codec`: as the offset log pins it; of another than LZ4 it is known that a file is not empty and that it is not LZ4's. A
    file that was cleaned up meanwhile is no longer loaded, and nothing is said of it. Of files with unique ids those count that
    the newest one of their folder names.
    """
    newest_first = sorted(files, key=_version, reverse=True)[:MAX_FILES]
    left = MAX_BYTES
    troubles: dict[str, str] = {}
    stale: list[str] = []
    lineages = _Lineages(files)
    for number, file in enumerate(newest_first):
        address = join(checkpoint, file)
        if not lineages.has(file):
            continue
        if number < MAX_READ and left > 0:
            content = _content(storage, address, limit=left)
            changes, trouble = unpacked(content) if content and content.startswith(MAGIC) else (b"", "")
            troubles[file] = (
                "" if content is None else _trouble(content, codec, changes, trouble, is_log=file.endswith(CHANGELOG))
            )
            lineages.learn(file, changes)
            left -= len(content or b"")
            if content and file in checksums.of_spark:
                troubles[file] = troubles[file] or spark_trouble(storage, address, content)
            if content and file in checksums.of_hadoop and is_stale(storage, address, content):
                stale.append(file)
        else:
            troubles[file] = _EMPTY if _size(storage, address) == 0 else ""
    broken = [
        BrokenStateFile(file=file, reason=troubles[file], is_spare=file in spares)
        for file in files
        if troubles.get(file)
    ]
    whole = tuple(file for file in stale if not troubles[file])
    return StateFileFacts(checked=len(newest_first), total=len(files), stale=whole, broken=tuple(broken))


_EMPTY = "it is empty"


class _Lineages:
    """Which of the changelogs with unique ids count: a batch that ran twice has left two of a version.

    The newest one of a store names those before it since a snapshot (StateStoreChangelogWriterV3 and V4; 4.0 to 4.3).
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._alike = Counter((parent(file), _version(file)) for file in files)
        self._counting: dict[str, set[str]] = {}

    def has(self, file: str) -> bool:
        """Whether a load reads the file; a second one of a version does not count before it is known which of them does."""
        folder, _, name = file.rpartition("/")
        counting = self._counting.get(folder)
        return self._alike[folder, _version(file)] == 1 if counting is None else name in counting

    def learn(self, file: str, changes: bytes) -> None:
        """From the newest file of a folder, which comes first."""
        folder, _, name = file.rpartition("/")
        if "_" in name and folder not in self._counting:
            before = _lineage(changes)
            if before is not None:
                self._counting[folder] = {name, *(f"{version}_{unique_id}{CHANGELOG}" for version, unique_id in before)}


def _lineage(changes: bytes) -> list[tuple[int, str]] | None:
    """Two texts of Java's `writeUTF` stand at the beginning: the version of the format, and a list in JSON."""
    stream = BytesIO(changes)
    version, text = java_text(stream), java_text(stream)
    if version not in WITH_LINEAGE or text is None:
        return None
    try:
        named = json.loads(text)
        return [(int(one["version"]), str(one["checkpointUniqueId"])) for one in named]
    except (ValueError, TypeError, KeyError):
        return None


WITH_LINEAGE = ("v3", "v4")


def _version(file: str) -> int:
    """`state/0/3/17_<id>.changelog` → 17."""
    digits = file.rpartition("/")[2].partition(".")[0].partition("_")[0]
    return int(digits) if digits.isdecimal() else -1


def _size(storage: ReadableStorage, address: str) -> int | None:
    details = storage.details(parent(address), only=[address.rpartition("/")[2]])
    return details[0].size if details else None


def _content(storage: ReadableStorage, address: str, *, limit: int) -> bytes | None:
    """None where the file is gone, or larger than that many bytes; nothing where it is listed and not to be had."""
    try:
        return storage.read(address, limit=limit)
    except ObjectTooLargeError:
        return None
    except ObjectNotFoundError:
        is_link_to_nothing = address.rpartition("/")[2] in storage.list(parent(address))
        return b"" if is_link_to_nothing else None


def _trouble(content: bytes, codec: str, changes: bytes, trouble: str, *, is_log: bool) -> str:
    """Why a load can't read it; empty where it can. `changes` and `trouble`: what is unpacked of it, and what stopped that.

    Of a changelog without any change the mark is read as the length of a text, so that what is behind it is read, too: the end
    of the file is expected there, a changed block is not (StateStoreChangelogReaderFactory; tried on 4.2.0).
    """
    if not content:
        return _EMPTY
    if codec != LZ4:
        return f"it was packed with {LZ4}, {codec} is pinned" if content.startswith(MAGIC) else ""
    if not content.startswith(MAGIC):
        return f"it does not begin with a block of {LZ4}"
    is_read_on = is_log and changes.startswith(END) and trouble.endswith(_CHANGED)
    return "" if changes.endswith(END) and not is_read_on else trouble
