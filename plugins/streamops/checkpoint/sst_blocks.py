"""Whether the blocks of an SST file of RocksDB are as they were written, told by their checksums and without RocksDB.

Each block is followed by a byte for its compression and by a checksum; the footer leads to the index, and that to the data
(BlockBasedTable, format 5 with CRC-32C or XXH3 and delta-encoded handles in the index: what RocksDB 7 to 10 write under Spark's
`stateStore.rocksdb.formatVersion`, 3.5 to 4.3; tried on files of all of them). Of any other format nothing is said, nor of rows
whose index is packed with Snappy, as 3.5 does.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import google_crc32c
import lz4.block
import xxhash

_FOOTER = struct.Struct("<IQ")
"""At the very end: the version of the format, and what marks a table."""
_FOOTER_SIZE = 53
_MAGIC = 0x88E241B785F4CFF7
_VERSION = 5
_CRC, _XXH3 = 1, 4
_TRAILER = struct.Struct("<BI")
_PRIME = 0x6B9083D9
_MASK = 0xA282EAD8
"""Of a CRC that is kept beside what it was computed of (`crc32c::Mask`)."""
_STORED, _LZ4 = 0, 4
_LONGEST = 1 << 26


@dataclass(frozen=True, slots=True)
class SstTrouble:
    """What is wrong with a file."""

    reason: str
    is_data: bool = False
    """Whether it is a block of rows: whoever opens the file does not read it, and whoever looks for its rows fails."""


_PROPERTIES = b"rocksdb.properties"
_NUMBER_KEY = b"rocksdb.original.file.number"


class _UnknownFormatError(Exception):
    """Nothing is known of what is written like that."""


def sst_trouble(content: bytes) -> SstTrouble | None:
    """The first block that does not fit its checksum, those that each start reads before rows; None for no trouble."""
    if len(content) < _FOOTER_SIZE:
        return SstTrouble(f"it has {len(content)} bytes, and no footer")
    version, magic = _FOOTER.unpack_from(content, len(content) - _FOOTER.size)
    footer = content[-_FOOTER_SIZE:]
    if magic != _MAGIC:
        return SstTrouble("its last bytes are not those of an SST file")
    checksum = _CHECKSUMS.get(footer[0])
    if version != _VERSION or checksum is None:
        return None
    blocks = _Blocks(content, checksum)
    try:
        metaindex, index = _handles(footer[1:], 2)
        opened = blocks.first_broken([metaindex, index])
        if opened is None:
            opened = blocks.first_broken(_of_metaindex(blocks.unpacked(metaindex)))
        if opened is not None:
            return SstTrouble(_told(opened))
        rows = blocks.first_broken(_of_index(blocks.unpacked(index)))
    except (_UnknownFormatError, IndexError, struct.error):
        return None
    return None if rows is None else SstTrouble(_told(rows), is_data=True)


def sst_number(content: bytes) -> int | None:
    """The number under which a file was made, which RocksDB compares with what its manifest knows of it (`Mismatch in unique
    ID`, tried on Spark 4.2.0); None where the file does not tell.
    """
    version, magic = _FOOTER.unpack_from(content, len(content) - _FOOTER.size)
    checksum = _CHECKSUMS.get(content[-_FOOTER_SIZE])
    if (version, magic) != (_VERSION, _MAGIC) or checksum is None:
        return None
    blocks = _Blocks(content, checksum)
    try:
        (metaindex,) = _handles(content[1 - _FOOTER_SIZE :], 1)
        told = dict(_entries(blocks.unpacked(metaindex)))
        (properties,) = _handles(told[_PROPERTIES], 1)
        number, _ = _number(dict(_entries(blocks.unpacked(properties)))[_NUMBER_KEY], 0)
    except (_UnknownFormatError, IndexError, KeyError, struct.error):
        return None
    return number


def _told(at: int) -> str:
    return f"its block at byte {at} is not as it was written"


def _crc(piece: bytes, compression: int) -> int:
    crc = int(google_crc32c.extend(google_crc32c.value(piece), bytes([compression])))
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def _xxh3(piece: bytes, compression: int) -> int:
    return int(xxhash.xxh3_64_intdigest(piece) ^ (compression * _PRIME)) & 0xFFFFFFFF


_CHECKSUMS: dict[int, Callable[[bytes, int], int]] = {_CRC: _crc, _XXH3: _xxh3}


_Handle = tuple[int, int]
"""Where a block begins, and its bytes without what follows it."""


class _Blocks:
    """Those of one file."""

    def __init__(self, content: bytes, checksum: Callable[[bytes, int], int]) -> None:
        self._content = content
        self._checksum = checksum

    def first_broken(self, blocks: Iterable[_Handle]) -> int | None:
        """Where the first one begins that does not fit its checksum; None for none."""
        return next((at for at, size in blocks if not self._fits(at, size)), None)

    def unpacked(self, block: _Handle) -> bytes:
        """What a block holds."""
        at, size = block
        piece, compression = self._content[at : at + size], self._content[at + size]
        if compression == _STORED:
            return piece
        length, begin = _number(piece, 0)
        if compression != _LZ4 or length > _LONGEST:
            raise _UnknownFormatError
        try:
            return bytes(lz4.block.decompress(piece[begin:], uncompressed_size=length))
        except (lz4.block.LZ4BlockError, ValueError) as error:
            raise _UnknownFormatError from error

    def _fits(self, at: int, size: int) -> bool:
        if not 0 < size <= len(self._content) - at - _TRAILER.size:
            raise _UnknownFormatError
        compression, checksum = _TRAILER.unpack_from(self._content, at + size)
        return self._checksum(self._content[at : at + size], compression) == int(checksum)


def _of_metaindex(block: bytes) -> Iterator[_Handle]:
    """Its values are handles of blocks, but for those under names that only look like it."""
    for _, value in _entries(block):
        yield from _handles(value, 1)


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values; a key is told by what it has in common with the one before."""
    at, end, key = 0, _end_of_entries(block), b""
    while at < end:
        shared, at = _number(block, at)
        key_size, at = _number(block, at)
        value_size, at = _number(block, at)
        key = key[:shared] + block[at : at + key_size]
        at += key_size
        yield key, block[at : at + value_size]
        at += value_size


def _of_index(block: bytes) -> Iterator[_Handle]:
    """Keys without values' lengths; each handle in full, as the index has a restart at each entry (the default)."""
    at, end = 0, _end_of_entries(block)
    while at < end:
        shared, at = _number(block, at)
        key_size, at = _number(block, at)
        if shared:
            raise _UnknownFormatError
        at += key_size
        begin, at = _number(block, at)
        size, at = _number(block, at)
        yield begin, size


def _end_of_entries(block: bytes) -> int:
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise _UnknownFormatError
    return int(end)


def _handles(content: bytes, count: int) -> list[_Handle]:
    at, found = 0, []
    for _ in range(count):
        begin, at = _number(content, at)
        size, at = _number(content, at)
        found.append((begin, size))
    return found


def _number(content: bytes, at: int) -> tuple[int, int]:
    """A varint, and where the next one begins."""
    number = shift = 0
    while True:
        byte = content[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > 63:
            raise _UnknownFormatError
