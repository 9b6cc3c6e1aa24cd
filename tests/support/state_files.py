"""Files of changes of a state store as Spark writes them: blocks of lz4-java around keys, values and the mark at the end."""

import json
import struct

import lz4.block
import xxhash

END = struct.pack(">i", -1)
EMPTY_BLOCK = struct.pack("<8sBIII", b"LZ4Block", 0x15, 0, 0, 0)


def block(content: bytes) -> bytes:
    """One block with its head, compressed."""
    packed = lz4.block.compress(content, store_size=False)
    checksum = xxhash.xxh32_intdigest(content, 0x9747B28C) & 0x0FFFFFFF
    return struct.pack("<8sBIII", b"LZ4Block", 0x25, len(packed), len(content), checksum) + packed


def change(key: bytes, value: bytes) -> bytes:
    """A row that was put."""
    return struct.pack(">i", len(key)) + key + struct.pack(">i", len(value)) + value


CHANGES = block(change(b"key-0001", b"value-01") + END) + EMPTY_BLOCK
"""A delta, a snapshot of the HDFS provider, or a changelog of RocksDB, with one row."""


def schema(*columns: str) -> bytes:
    """As StateSchemaCompatibilityChecker writes it: the key's columns, then the value's."""
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in columns]
    key = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":")).encode()
    value = b'{"type":"struct","fields":[]}'
    return b"\x00\x02v2" + b"".join(b"\x00\x00\x00\x01" + len(text).to_bytes(2) + text for text in (key, value))
