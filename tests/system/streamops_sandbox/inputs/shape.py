"""The fields of a JSON value, and reading them as strictly as a job has to: any doubt makes a record malformed."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from streamops_sandbox.inputs.record import InputRecord


class FieldType(StrEnum):
    """What a field's JSON value means."""

    TEXT = "text"
    NUMBER = "number"
    """A JSON number."""
    AMOUNT = "amount"
    """A decimal with two digits, as text."""
    TIME = "time"
    """ISO 8601 in UTC, as text."""


Shape = dict[str, FieldType]
"""All fields of a value by name; each is required."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record that is not malformed."""

    wave: int
    key: str
    fields: dict[str, Any]
    """str, float, Decimal and datetime, by the type of the field."""

    @property
    def at(self) -> datetime:
        """Its event time."""
        moment: datetime = self.fields["event_time"]
        return moment


def time_text(moment: datetime) -> str:
    """A moment as these inputs write it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def amount_text(cents: int) -> str:
    """An amount as these inputs write it."""
    return f"{cents // 100}.{cents % 100:02d}"


def good_rows(records: Iterable[InputRecord], shape: Shape) -> Iterator[Row]:
    """The records that are not malformed, repeats and late ones too, in their order."""
    for record in records:
        fields = read_value(record.value, shape)
        if fields is not None:
            yield Row(wave=record.wave, key=(record.key or b"").decode(), fields=fields)


def malformed_records(records: Iterable[InputRecord], shape: Shape) -> tuple[InputRecord, ...]:
    """The others."""
    return tuple(record for record in records if read_value(record.value, shape) is None)


def read_value(value: bytes | None, shape: Shape) -> dict[str, Any] | None:
    """The fields of a value; None where it is not exactly one JSON object with all of them, each of its type."""
    try:
        content = json.loads((value or b"").decode("utf-8"))
        return {name: _read_field(content[name], kind) for name, kind in shape.items()}
    except (ValueError, KeyError, TypeError, InvalidOperation):
        return None


def _read_field(found: Any, kind: FieldType) -> Any:
    if kind is FieldType.NUMBER:
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise TypeError(f"{found!r} is no number")
        return float(found)
    if not isinstance(found, str):
        raise TypeError(f"{found!r} is no text")
    if kind is FieldType.AMOUNT:
        return Decimal(found)
    return datetime.fromisoformat(found) if kind is FieldType.TIME else found
