"""What the files of a checkpoint have in common: names, sizes, and how their text is taken apart.

What Spark 4.2.0 makes of odd numbers, ids and JSON was tried on its own classes.
"""

import json
import re
from collections.abc import Sequence

METADATA = "metadata"
OFFSETS = "offsets"
COMMITS = "commits"

METADATA_LIMIT = 64 * 1024
"""Bytes. The file holds one id, 45 bytes."""
OFFSETS_LIMIT = 16 * 1024 * 1024
"""Bytes. 200 000 Kafka partitions take 4 MB, 5 MB with the largest offsets; everything else is far smaller."""
COMMIT_LIMIT = 16 * 1024 * 1024
"""Bytes. An entry with state ids holds 39 bytes for each store: room for 400 000 of them, offsets never grow so."""

ORDINARY_ID = re.compile(r"0|[1-9][0-9]{0,17}")
"""An id as Spark writes it: plain digits that fit into a long. Every other spelling is for `java_long` to judge."""
_LONG_TEXT = re.compile(r"[+-]?\d{1,1024}")
"""No name in any store is longer, and Python converts numbers of this length."""
_MIN_LONG = -(2**63)
_LINE_END = re.compile(r"\r\n?|\n")
_QUOTE_LENGTH = 40


def is_long(number: int) -> bool:
    """Whether a number fits into Java's long, as every number in a checkpoint does."""
    return _MIN_LONG <= number < -_MIN_LONG


def java_long(text: str) -> int | None:
    """The number that Java's Long.parse reads: signs, leading zeros and digits of other scripts included."""
    # Java looks at one UTF-16 unit at a time, and so knows no digits beyond the first plane.
    if not _LONG_TEXT.fullmatch(text) or not (text.isascii() or max(text) <= "\uffff"):
        return None
    number = int(text)
    return number if is_long(number) else None


def batch_id(name: str) -> int | None:
    """The batch that a file name stands for: `7` → 7, `00007` → 7, `7.tmp` and `.7.crc` → None.

    Spark takes whatever Java's Long.parse accepts (HDFSMetadataLog, 3.5 to 4.3), odd spellings included.
    """
    return int(name) if ORDINARY_ID.fullmatch(name) else java_long(name)


def lines_of(content: bytes) -> list[str]:
    """The lines as Scala's `getLines` reads them: any line end counts, the last one opens no further line.

    ValueError for bytes that are no UTF-8: the logs of 3.5 to 4.3 are read strictly, `metadata` is not (tried on 4.2.0).
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is no UTF-8") from error
    lines = _LINE_END.split(text)
    return lines[:-1] if lines[-1] == "" else lines


class RepeatedKeyError(ValueError):
    """A JSON object has a key twice, and is well otherwise as far as it was read."""


CUT = "it ends too early"
"""In the reason of a JSON text that has no end: Spark has other words for that than for a character in the wrong place."""


def json_value(text: str, *, is_spark_own: bool = True) -> object:
    """The first value of a JSON text; ValueError in a few printable words for everything else, however hostile.

    What follows that value does not matter: Jackson, which reads all of it in Spark, stops behind it (4.2.0). What Spark wrote
    itself has no NaN and no key twice: 4.2.0 refuses both. A source may write what it likes, and Python data sources do write
    NaN. A number beyond Java's long becomes a float, for it is no damage and no integer either.
    """
    decoder = _SPARK_JSON if is_spark_own else _ANY_JSON
    start = len(text) - len(text.lstrip(_JSON_BLANKS))
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip(_JSON_BLANKS)) or error.msg.startswith("Unterminated string")
        raise ValueError(f"not JSON from column {error.colno} on{f': {CUT}' if is_cut else ''}") from error
    except RecursionError as error:
        raise ValueError("not JSON that Spark reads: nested too deep") from error
    if not isinstance(value, dict | list | str) and text[end : end + 1].strip(_JSON_BLANKS):
        # The end of a number or a word is told by what follows: `5x` is no 5.
        raise ValueError(f"not JSON from column {end + 1} on")
    return value


def json_part(text: str) -> str:
    """A JSON object without what lies around it, which `json_value` passes over; any other text as it is."""
    start = len(text) - len(text.lstrip(_JSON_BLANKS))
    try:
        value, end = _ANY_JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        return text
    return text[start:end] if isinstance(value, dict) else text


def long_or_none(value: object) -> int | None:
    """A JSON value where a long belongs; None where it is missing or no long, ValueError where it is no number at all.

    Spark 4.2.0 refuses the last, and bends a number that is no long into one.
    """
    if value is None or isinstance(value, float):
        return None
    if type(value) is not int:
        raise ValueError("is no number")
    return value


def quoted(text: str) -> str:
    """A piece of hostile text for a message: short, and nothing in it can move a cursor."""
    shown = repr(text[: _QUOTE_LENGTH + 1])
    return shown if len(shown) <= _QUOTE_LENGTH else shown[:_QUOTE_LENGTH] + "…"


def _number(digits: str) -> int | float:
    number = int(digits) if len(digits) <= len(str(_MIN_LONG)) else None
    return number if number is not None and is_long(number) else float(digits)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"not JSON: {name}")


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise RepeatedKeyError("a key comes twice")
    return fields


_JSON_BLANKS = " \t\r\n"
_ANY_JSON = json.JSONDecoder(parse_int=_number)
_SPARK_JSON = json.JSONDecoder(parse_int=_number, parse_constant=_refuse_constant, object_pairs_hook=_unique)
