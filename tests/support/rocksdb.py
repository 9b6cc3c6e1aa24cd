"""Writes the files of a RocksDB state store as Spark does."""

import json
import struct
import zipfile
from io import BytesIO

import xxhash


def _block(content: bytes) -> bytes:
    return content + struct.pack("<BI", 0, xxhash.xxh3_64_intdigest(content) & 0xFFFFFFFF)


def _empty_sst() -> bytes:
    """Two blocks without entries, the metaindex and the index, and the footer that leads to them."""
    no_entries = struct.pack("<II", 0, 1)
    blocks = _block(no_entries) * 2
    handles = bytes([0, len(no_entries), len(blocks) // 2, len(no_entries)])
    return blocks + bytes([4]) + handles.ljust(40, b"\0") + struct.pack("<IQ", 5, 0x88E241B785F4CFF7)


EMPTY_SST = _empty_sst()


def snapshot_zip(ssts: dict[str, int], logs: dict[str, int] | None = None) -> bytes:
    """A snapshot that refers to these files of these sizes."""
    told = {
        "sstFiles": [{"localFileName": f"{n}.sst", "dfsSstFileName": n, "sizeBytes": size} for n, size in ssts.items()],
        "logFiles": [{"dfsLogFileName": n, "sizeBytes": size} for n, size in (logs or {}).items()],
        "numKeys": 7,
    }
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("CURRENT", "MANIFEST-000005")
        archive.writestr("metadata", "v1\n" + json.dumps(told))
    return content.getvalue()


def store_at(version: int, *, partition: int = 0, sst: bytes = EMPTY_SST) -> dict[str, bytes]:
    """One store whose newest snapshot is of that version; its only SST file is the content given."""
    folder = f"state/0/{partition}"
    return {
        f"{folder}/{version}.zip": snapshot_zip({"000008-0a1b.sst": len(EMPTY_SST)}),
        f"{folder}/SSTs/000008-0a1b.sst": sst,
    }
