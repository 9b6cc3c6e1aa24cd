"""Writes the files of a RocksDB state store as Spark does."""

import json
import zipfile
from io import BytesIO


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


def store_at(version: int, *, partition: int = 0, sst: bytes = b"12345") -> dict[str, bytes]:
    """One store whose newest snapshot is of that version; its only SST file is the content given."""
    folder = f"state/0/{partition}"
    return {
        f"{folder}/{version}.zip": snapshot_zip({"000008-0a1b.sst": 5}),
        f"{folder}/SSTs/000008-0a1b.sst": sst,
    }
