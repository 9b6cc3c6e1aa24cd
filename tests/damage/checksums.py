"""The side files in which Hadoop's local file system keeps checksums: `.5.crc` beside `5`."""

import struct
import zlib
from pathlib import Path

HEADER = b"crc\x00"
CHUNK = 512


def side_file(file: Path) -> Path:
    """Where the checksum of a file is."""
    return file.with_name(f".{file.name}.crc")


def checksum(content: bytes) -> bytes:
    """What Hadoop writes for this content."""
    chunks = [content[start : start + CHUNK] for start in range(0, len(content), CHUNK)]
    return HEADER + struct.pack(">i", CHUNK) + b"".join(struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks)


def rewrite(file: Path) -> None:
    """The checksum of what is in the file now."""
    side_file(file).write_bytes(checksum(file.read_bytes()))
