"""Records to JSON text and back. Unknown keys are skipped, a broken record is an error that names the file."""

import dataclasses
import functools
import json
import types
import typing
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from streamops.control.records import KNOWN_BODIES, READER_VERSION, Author, Body, Record, UnknownBody
from streamops.errors import CorruptRecordError, NewerRecordError

T = TypeVar("T")

_BROKEN = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What decoding of arbitrary bytes may raise."""

_SHOWN = 200
"""Characters of what a message repeats from a file: it may be the whole of it."""


def encode_record(record: Record) -> bytes:
    """The record as the bytes of its file."""
    return encode(
        {
            "min_reader": record.min_reader,
            "number": record.number,
            "kind": record.body.kind,
            "at": record.at,
            "by": record.by,
            "reason": record.reason,
            "nonce": record.nonce,
            "body": record.body,
        }
    )


def decode_record(content: bytes, *, address: str) -> Record:
    """The record in a file.

    Raises CorruptRecordError naming the file, NewerRecordError when it needs a newer reader.
    """
    try:
        fields = json.loads(content)
        min_reader = _convert(int, fields["min_reader"])
        if min_reader > READER_VERSION:
            raise NewerRecordError(
                f"{address} needs a reader of version {min_reader!s:.{_SHOWN}}, this streamops is version"
                f" {READER_VERSION}: upgrade it"
            )
        return Record(
            number=_convert(int, fields["number"]),
            at=_convert(datetime, fields["at"]),
            by=_build(Author, fields["by"]),
            reason=_convert(str, fields["reason"]),
            nonce=_convert(str, fields["nonce"]),
            body=_decode_body(fields["kind"], fields["body"]),
            min_reader=min_reader,
        )
    except _BROKEN as error:
        raise CorruptRecordError(f"{address} is not a control record: {error!r:.{_SHOWN}}") from error


def encode(value: object) -> bytes:
    """A dataclass or mapping as one line of JSON. Half a surrogate, as names of files may bring, becomes a question mark."""
    text = json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")


def decode(kind: type[T], content: bytes, *, address: str) -> T:
    """A dataclass from the JSON in a file; CorruptRecordError naming the file."""
    try:
        return _build(kind, json.loads(content))
    except _BROKEN as error:
        raise CorruptRecordError(f"{address} does not hold a {kind.__name__}: {error!r:.{_SHOWN}}") from error


def _decode_body(kind: str, fields: dict[str, Any]) -> Body:
    known = KNOWN_BODIES.get(kind)
    return _build(known, fields) if known else UnknownBody(kind=kind)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no place in a control record")


def _build(kind: type[T], fields: dict[str, Any]) -> T:
    hints = _field_types(typing.cast(type, kind))
    return kind(**{name: _convert(hint, fields[name]) for name, hint in hints.items() if name in fields})


@functools.cache
def _field_types(kind: type) -> dict[str, Any]:
    # Kept: working out the hints of every object anew took 40 % of a supervisor's look (measured).
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _convert(kind: Any, value: Any) -> Any:
    """One value, made what its field's annotation says; ValueError or TypeError when it is something else."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        choices = [choice for choice in typing.get_args(kind) if choice is not type(None)]
        return None if value is None else _convert(choices[0], value)
    if origin is tuple:
        return tuple(_convert(typing.get_args(kind)[0], item) for item in value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _build(kind, value)
    if kind is datetime:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return moment
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value
