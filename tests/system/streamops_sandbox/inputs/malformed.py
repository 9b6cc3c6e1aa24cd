"""Records that are wrong, in six ways by turns."""

import json
from enum import IntEnum
from typing import Any

from streamops_sandbox.inputs.shape import FieldType, Shape


class Fault(IntEnum):
    """What is wrong; the number of a malformed record says which by its remainder."""

    NOT_JSON = 0
    FIELD_MISSING = 1
    WRONG_TYPE = 2
    """A time or a number that is none. A number where a text belongs is no fault: Spark reads its digits."""
    EMPTY = 3
    TWO_OBJECTS = 4
    """`from_json` reads the first and passes over what stands behind it."""
    INVALID_UTF8 = 5
    """A cast of bytes to text keeps them; only `is_valid_utf8` finds out (Spark 4.0 and later)."""


_NOT_A = {FieldType.TIME: "yesterday", FieldType.AMOUNT: "much", FieldType.NUMBER: "warm"}


def spoil(fields: dict[str, Any], shape: Shape, *, number: int, null_is_content: bool = False) -> bytes | None:
    """The value of the malformed record with this number, out of the fields of a good one.

    A record without a value is null or empty by turns; always empty where null has a meaning of its own.
    """
    fault, turn = Fault(number % len(Fault)), number // len(Fault)
    names = list(shape)
    text = to_json(fields)
    if fault is Fault.NOT_JSON:
        return text[: len(text) * 2 // 3]
    if fault is Fault.FIELD_MISSING:
        missing = names[turn % len(names)]
        return to_json({name: value for name, value in fields.items() if name != missing})
    if fault is Fault.WRONG_TYPE:
        typed = [name for name in names if shape[name] in _NOT_A]
        wrong = typed[turn % len(typed)]
        return to_json(fields | {wrong: _NOT_A[shape[wrong]]})
    if fault is Fault.EMPTY:
        return b"" if null_is_content or turn % 2 else None
    if fault is Fault.TWO_OBJECTS:
        return text + text
    begin = text.index(b'": "') + len(b'": "')
    return text[:begin] + b"\xff\xfe" + text[begin:]


def to_json(fields: dict[str, Any]) -> bytes:
    """One JSON object in UTF-8."""
    return json.dumps(fields, ensure_ascii=False).encode()
