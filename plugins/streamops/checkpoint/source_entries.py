"""The files that sources keep in a checkpoint, taken apart: input files of a batch, Kafka's first offsets, a rate's start.

Spark classes: FileStreamSourceLog, KafkaMicroBatchStream, RateStreamMicroBatchStream; 3.5 to 4.3.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from streamops.checkpoint.compact_log import entry_lines, json_object
from streamops.checkpoint.layout import lines_of
from streamops.errors import CheckpointError

_MILLISECONDS = re.compile(r"-?[0-9]{1,19}")


class SourceKind(StrEnum):
    """What a source's folder holds."""

    FILE = "file"
    KAFKA = "kafka"
    RATE = "rate"
    DELTA_SCHEMA_LOG = "delta-schema-log"
    OTHER = "other"
    """Something readable of another form."""
    UNKNOWN = "unknown"
    """Nothing that tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """An input file that a batch of a file source took."""

    path: str
    """An absolute URI, as Spark wrote it; empty where it is null: Spark takes such an entry, and knows no file by it. A batch
    that reads it fails (FileStreamSource.getBatch, tried on 4.2.0)."""
    modified_ms: int
    log_id: int


def parse_source_entries(content: bytes, *, address: str) -> list[SourceFile]:
    """The entries of a file of FileStreamSourceLog; CheckpointError naming file and line."""
    lines = entry_lines(content, address=address)
    return [_entry(line, place=f"{address} line {number}") for number, line in enumerate(lines, start=2)]


def parse_initial_offsets(content: bytes, *, address: str) -> str:
    """Kafka's JSON behind a byte 0 and, since Spark 2.2, a version line; CheckpointError naming the file."""
    if not content.startswith(b"\0"):
        raise CheckpointError(f"{address} does not begin with a byte 0: no initial offsets of Kafka")
    content = content[1:]
    # Spark 2.1 wrote no version, and no JSON object begins with a letter.
    lines = entry_lines(content, address=address) if content.startswith(b"v") else [content.decode(errors="replace")]
    text = "\n".join(lines)
    json_object(text, place=f"{address} line 2")
    return text


def parse_start_time(content: bytes, *, address: str) -> int:
    """The epoch milliseconds at which a rate source began; CheckpointError naming file and line."""
    lines = entry_lines(content, address=address)
    if len(lines) != 1 or not _MILLISECONDS.fullmatch(lines[0]):
        raise CheckpointError(f"{address} line 2: no number of milliseconds")
    return int(lines[0])


def content_kind(content: bytes) -> SourceKind:
    """The kind of source that writes such a file. Never raises."""
    if content.startswith(b"\0"):
        return SourceKind.KAFKA
    try:
        version, line, *_ = (*lines_of(content), "", "")
    except ValueError:
        return SourceKind.OTHER
    if version != "v1" or not line:
        return SourceKind.OTHER if version not in ("", "v1") else SourceKind.UNKNOWN
    if _MILLISECONDS.fullmatch(line):
        return SourceKind.RATE
    if not line.startswith("{"):
        return SourceKind.OTHER
    try:
        return SourceKind.FILE if "path" in json_object(line, place="") else SourceKind.OTHER
    except CheckpointError:
        # No other source writes an object here, so a cut one is a file source's.
        return SourceKind.FILE


def _entry(line: str, *, place: str) -> SourceFile:
    entry = json_object(line, place=place)
    path, modified, log_id = entry.get("path"), _whole(entry.get("timestamp")), _whole(entry.get("batchId"))
    if path is None and "path" in entry:
        path = ""
    if not isinstance(path, str) or modified is None or log_id is None:
        raise CheckpointError(f"{place}: an entry has a path, a timestamp and a batchId")
    return SourceFile(path=path, modified_ms=modified, log_id=log_id)


def _whole(number: object) -> int | None:
    """A number that Java bends into a long, whatever its size; None for anything else."""
    if type(number) is int:
        return number
    return int(number) if isinstance(number, float) and isfinite(number) else None
