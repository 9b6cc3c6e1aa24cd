"""The files beside a file: Hadoop's `.7.delta.crc` on local file systems, and Spark's own `7.delta.crc` (4.1+).

Hadoop writes the four bytes `crc` and 0, the bytes to a sum, and a CRC-32 for each such piece (ChecksumFileSystem, 3.4). Spark
asks for them where it copies a snapshot of RocksDB, and nowhere else in a checkpoint. Its own are asked for wherever they are
(ChecksumCheckpointFileManager, 4.2.0).
"""

import zlib

from streamops.checkpoint.state_metadata import parse_spark_checksum
from streamops.errors import CheckpointError, ObjectNotFoundError, ObjectUnreadableError
from streamops.storage import ReadableStorage, join, parent

_MAGIC = b"crc\0"
_SUM = 4
_LONGEST_PIECE = 1 << 20


def side_file(address: str) -> str:
    """Where Hadoop's is: `…/7.delta` → `…/.7.delta.crc`."""
    return join(parent(address), f".{address.rpartition('/')[2]}.crc")


def fits(content: bytes, side: bytes) -> bool:
    """Whether a file is what Hadoop's side file was written for; true where that is none."""
    piece = int.from_bytes(side[len(_MAGIC) : len(_MAGIC) + _SUM])
    if not side.startswith(_MAGIC) or not 0 < piece <= _LONGEST_PIECE:
        return True
    sums = side[len(_MAGIC) + _SUM :]
    own = (zlib.crc32(content[at : at + piece]).to_bytes(_SUM) for at in range(0, len(content), piece))
    return b"".join(own) == sums


def is_stale(storage: ReadableStorage, address: str, content: bytes) -> bool:
    """Whether Hadoop's side file is there and does not fit. StorageError."""
    try:
        return not fits(content, storage.read(side_file(address)))
    except (ObjectNotFoundError, ObjectUnreadableError):
        return False


def spark_trouble(storage: ReadableStorage, address: str, content: bytes) -> str:
    """Why Spark's own checksum refuses a file; empty where it fits in size, or can't be read. StorageError."""
    try:
        checksum = parse_spark_checksum(storage.read(f"{address}.crc"), address=address)
    except (ObjectNotFoundError, ObjectUnreadableError, CheckpointError):
        return ""
    if checksum.main_file_size == len(content):
        return ""
    return f"it has {len(content)} bytes, its checksum file says {checksum.main_file_size}"
