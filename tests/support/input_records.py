"""Records of the catalogue's inputs, written by hand."""

import json
from datetime import UTC, datetime

from streamops_sandbox.inputs import InputRecord


def sent(wave: int, key: str = "k", /, **fields: object) -> InputRecord:
    """A record with one JSON object; expectations do not look at its topic."""
    return InputRecord("by-hand", key.encode(), json.dumps(fields).encode(), wave)


def bad(wave: int, value: bytes | None, key: str = "k") -> InputRecord:
    """A record with any value."""
    return InputRecord("by-hand", key.encode(), value, wave)


def at(text: str) -> str:
    """The event time of this hour and minute, such as `12:04` or `12:04:30`."""
    return f"2026-01-01T{text}{'' if text.count(':') == 2 else ':00'}.000Z"


def moment(text: str) -> datetime:
    """The same as a value."""
    return datetime.fromisoformat(f"2026-01-01T{text}").replace(tzinfo=UTC)
