"""One entry of the offset log: what a batch was planned to read, written before the batch runs.

Spark class: OffsetSeqLog, 3.5 to 4.3. `v1`, a header line of JSON, one line for each source in plan order; `-` where a
source has never had an offset. `v2` puts `<source id>:` before each source's text.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streamops.errors import CheckpointError

SUPPORTED_VERSIONS = ("v1", "v2")
NO_OFFSET = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetEntry:
    """A planned batch."""

    batch: int
    version: str
    planned_at: datetime | None
    sources: tuple[str | None, ...]
    """Each source's own text, opaque to Spark's engine; None where the source had no offset yet."""


def parse_offsets(content: bytes, *, batch: int, address: str) -> OffsetEntry:
    """The entry in a file; CheckpointError naming file and line."""
    lines = content.decode(errors="replace").split("\n")
    if not content.strip():
        raise CheckpointError(f"{address} is empty")
    if lines[0] not in SUPPORTED_VERSIONS:
        raise CheckpointError(
            f"{address} line 1: version {lines[0][:20]!r}, supported: {', '.join(SUPPORTED_VERSIONS)} — upgrade streamops"
        )
    if len(lines) < 2:
        raise CheckpointError(f"{address} line 2: the header is missing")
    texts = lines[2:-1] if lines[-1] == "" else lines[2:]
    if not texts:
        raise CheckpointError(f"{address} line 3: no source follows the header")
    if lines[0] == "v2":
        texts = [text.partition(":")[2] for text in texts]
    return OffsetEntry(
        batch=batch,
        version=lines[0],
        planned_at=_planned_at(lines[1], address=address),
        sources=tuple(_source(text, line=line, address=address) for line, text in enumerate(texts, start=3)),
    )


def _planned_at(header: str, *, address: str) -> datetime | None:
    try:
        milliseconds = json.loads(header).get("batchTimestampMs")
    except (ValueError, AttributeError) as error:
        raise CheckpointError(f"{address} line 2: the header is not a JSON object: {error}") from error
    if not isinstance(milliseconds, int):
        return None
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def _source(text: str, *, line: int, address: str) -> str | None:
    if text == NO_OFFSET:
        return None
    # Spark notices a cut text only when the source parses it, deep in the start; every known form but bare numbers is JSON.
    try:
        json.loads(text)
    except ValueError as error:
        raise CheckpointError(f"{address} line {line}: the source's offset is cut or not JSON: {error}") from error
    return text
