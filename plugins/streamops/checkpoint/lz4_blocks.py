"""The blocks in which Spark writes the changes of a state store, read without Spark.

Spark's default codec for state is `lz4`: lz4-java's LZ4BlockOutputStream, 3.5 to 4.3. Each block has a head of 21 bytes with
its lengths and the XXHash32 of its content; a block without content ends the stream.
"""

import struct

import lz4.block
import xxhash

MAGIC = b"LZ4Block"
_HEAD = struct.Struct("<8sBIII")
_STORED, _COMPRESSED = 0x10, 0x20
_SEED = 0x9747B28C
_CHECKED = 0x0FFFFFFF
"""The bits of a hash that are written: java.util.zip.Checksum of StreamingXXHash32."""
MAX_CONTENT = 64 * 1024 * 1024
"""Bytes that are unpacked; what comes behind is not looked at."""


def unpacked(content: bytes) -> tuple[bytes, str]:
    """What the blocks hold up to the end, or up to the first that can't be read, and why it can't; empty for no trouble."""
    found = bytearray()
    at = 0
    while len(found) < MAX_CONTENT:
        head = content[at : at + _HEAD.size]
        if len(head) < _HEAD.size or not head.startswith(MAGIC):
            return bytes(found), f"no whole block at byte {at} of {len(content)}"
        _, token, packed_size, size, checksum = _HEAD.unpack(head)
        if size == 0:
            break
        at += _HEAD.size
        packed = content[at : at + packed_size]
        if len(packed) < packed_size or size > MAX_CONTENT:
            return bytes(found), f"the block at byte {at} is cut, the file has {len(content)} bytes"
        piece = _piece(packed, token & 0xF0, size)
        if piece is None or xxhash.xxh32_intdigest(piece, _SEED) & _CHECKED != checksum:
            return bytes(found), f"the block at byte {at} is not as it was written"
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
