"""The columns of a file source as DDL, `id BIGINT, amount DECIMAL(10,2)`, and what Spark refuses of them.

The grammar is `singleTableSchema` of Spark's SqlBaseParser; the bounds are those of DataTypeAstBuilder, DataStreamReader takes
no CHAR or VARCHAR, and the readers of files no name twice and no bare INTERVAL (4.2.0, `tests/spark/test_ddl_against_spark.py`).
"""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from streamops.settings.model_places import DDL

_PLAIN = (
    "bigint|binary|boolean|byte|date|double|float|int|integer|long|real|short|smallint"
    "|timestamp_ltz|timestamp_ntz|tinyint|variant|void"
)
_OTHERS = "array|dec|decimal|geography|geometry|interval|map|numeric|string|struct|time|timestamp"
_CHARS = "char|character|varchar"
_UNITS = (("year", "month"), ("day", "hour", "minute", "second"))
_MOST_DIGITS = 38
_MOST_DIGITS_OF_SECONDS = 6

_GRAMMAR = rf"""
schema: column ("," column)*
column: NAME _type _rest
field: NAME ":"? _type _rest
_rest: ("NOT"i "NULL"i)? ("COMMENT"i TEXT)?

_type: PLAIN | decimal | string | chars | time | timestamp | interval | place | array | map | struct
decimal: ("DECIMAL"i | "DEC"i | "NUMERIC"i) ("(" COUNT ("," COUNT)? ")")?
string: "STRING"i ("COLLATE"i NAME)?
chars: CHARS ["(" COUNT ")"]
time: "TIME"i ("(" COUNT ")")? _zone?
timestamp: "TIMESTAMP"i _zone?
_zone: "WITHOUT"i "TIME"i "ZONE"i
interval: "INTERVAL"i (UNIT ("TO"i UNIT)?)?
place: ("GEOMETRY"i | "GEOGRAPHY"i) "(" (COUNT | "ANY"i) ")"
array: "ARRAY"i "<" _type ">"
map: "MAP"i "<" _type "," _type ">"
struct: "STRUCT"i "<" (field ("," field)*)? ">"

NAME: /`(?:[^`]|``)*`/ | /(?!\d+(?:[LSYDF]|BD|E\d+)?(?!\w))[A-Z0-9_]+/i
PLAIN: /(?:{_PLAIN})(?!\w)/i
CHARS: /(?:{_CHARS})(?!\w)/i
UNIT: /{"|".join(unit for units in _UNITS for unit in units)}/i
COUNT: /[0-9]+/
TEXT: /'(?:[^'\\]|\\.|'')*'/s | /"(?:[^"\\]|\\.|"")*"/s
%ignore /\s+/
%ignore /--[^\r\n]*/
%ignore /\/\*.*?\*\//s
"""


def refused_ddl(ddl: str, *, nests: bool = True) -> str:
    """What is expected instead of these columns; empty where Spark takes them. `nests`: whether the files hold more than rows
    of plain values."""
    try:
        schema = _parser().parse(ddl)
    except UnexpectedInput as error:
        return _expected(ddl, error)
    return next(_refusals(schema, nests=nests), "")


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, start="schema", parser="lalr")


def _expected(ddl: str, error: UnexpectedInput) -> str:
    """A type that is none is the common mistake; all else is shown from where it can't be read on."""
    rest = (
        "" if isinstance(error, UnexpectedToken) and error.token.type == "$END" else ddl[error.pos_in_stream :].strip()
    )
    if not rest:
        return f"{DDL}: it breaks off after {ddl.strip()!r}"
    word = re.match(r"\w+", rest)
    if word is None or "PLAIN" not in _allowed(error):
        return f"{DDL}: not understood from {rest!r} on"
    close = get_close_matches(word[0].lower(), f"{_PLAIN}|{_OTHERS}".split("|"), n=1)
    meant = f", did you mean {close[0].upper()}" if close else ""
    return f"types of Spark: {word[0]!r} is none{meant}"


def _allowed(error: UnexpectedInput) -> set[str]:
    """Names of what could have stood there; the two kinds of error keep them under two names."""
    return set(getattr(error, "expected", None) or getattr(error, "allowed", None) or ())


def _refusals(schema: Tree[Token], *, nests: bool) -> Iterator[str]:
    """What follows the grammar, and is refused by what comes after it."""
    for decimal in schema.find_data("decimal"):
        given = [int(str(number)) for number in decimal.children]
        digits, scale = (*given, *(10, 0)[len(given) :])
        if digits > _MOST_DIGITS:
            yield f"at most {_MOST_DIGITS} digits in a DECIMAL, found {digits}"
        if scale > digits:
            yield f"no more digits behind the point than in all in a DECIMAL, found {scale} of {digits}"
    for chars in schema.find_data("chars"):
        yield f"STRING: the schema of a source has no {str(chars.children[0]).upper()}"
    for time in schema.find_data("time"):
        if any(int(str(digits)) > _MOST_DIGITS_OF_SECONDS for digits in time.children):
            yield f"TIME with at most {_MOST_DIGITS_OF_SECONDS} digits of a second, found {time.children[0]}"
    for interval in schema.find_data("interval"):
        units = [str(unit).lower() for unit in interval.children]
        if not units:
            yield "INTERVAL YEAR TO MONTH or INTERVAL DAY TO SECOND: no file holds a bare INTERVAL"
        if len(units) == 2 and not any(_in_order(units, known) for known in _UNITS):
            yield f"INTERVAL from a longer to a shorter unit, found {' to '.join(units).upper()}"
    for nested in schema.find_pred(lambda part: part.data in ("array", "map", "struct")):
        if not nests:
            yield f"columns of plain values in this format, found {nested.data.upper()}"
    for holder in (schema, *schema.find_data("struct")):
        columns = [part.children[0] for part in holder.children if isinstance(part, Tree)]
        named = Counter(str(name).strip("`").lower() for name in columns)
        yield from (f"each column once, found {name} {count} times" for name, count in named.items() if count > 1)


def _in_order(units: list[str], known: tuple[str, ...]) -> bool:
    return all(unit in known for unit in units) and known.index(units[0]) < known.index(units[1])
