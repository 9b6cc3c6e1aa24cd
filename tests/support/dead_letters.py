"""Tables of dead letters, written without Spark."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NO_JSON = "the record is not one JSON object"
EMPTY = "the record is empty"

_TYPES = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "key": pa.binary(),
    "value": pa.binary(),
    "text": pa.string(),
    "reason": pa.string(),
}


def a_letter(offset: int, *, minutes: float = 0, **changes: Any) -> dict[str, Any]:
    """A row as jobs write it: a record of the topic orders, so many minutes after noon."""
    letter = {
        "topic": "orders",
        "partition": 0,
        "offset": offset,
        "timestamp": NOON + timedelta(minutes=minutes),
        "key": b"k%d" % offset,
        "value": b"{broken %d" % offset,
        "reason": NO_JSON,
        **changes,
    }
    return {"text": letter["value"].decode(errors="replace") if letter["value"] is not None else None, **letter}


def append(folder: Path | str, *letters: dict[str, Any], without: tuple[str, ...] = ()) -> None:
    """One commit with one file, as a batch leaves it; `without` some columns, as older jobs wrote it."""
    columns = {name: kind for name, kind in _TYPES.items() if name not in without}
    rows = {name: pa.array([letter[name] for letter in letters], kind) for name, kind in columns.items()}
    write_deltalake(str(folder).removeprefix("file://"), pa.table(rows), mode="append", schema_mode="merge")
