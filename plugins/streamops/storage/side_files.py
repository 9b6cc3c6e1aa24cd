"""The file that Hadoop keeps beside each file of a local file system: `.7.delta.crc` beside `7.delta`.

It holds the four bytes `crc` and 0, the bytes to a sum, and a CRC-32 for each such piece (ChecksumFileSystem, 3.4). Delta asks
for it wherever it reads its log; Spark where it copies a snapshot of RocksDB, and nowhere else in a checkpoint (tried on 4.2.0).
"""

import zlib

from streamops.errors import ObjectNotFoundError, ObjectUnreadableError
from streamops.storage.address import join, parent
from streamops.storage.port import ReadableStorage

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
