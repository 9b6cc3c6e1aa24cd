"""Which columns a table of dead letters has, and the SQL that reads its newest rows.

Tables of older and of foreign jobs have fewer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

SHOWN = 300
"""Characters of a text that are read."""

_POSITION = {"topic": ("string",), "partition": ("integer", "long"), "offset": ("long", "integer")}
_RAW = ("key", "value")
_TIMES = ("timestamp", "timestamp_ntz")
_SIMPLE = ("string", "integer", "long", "short", "byte", "boolean", "date", "double", "float", *_TIMES)
_NOTHING = "''"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterColumns:
    """What a table can tell."""

    has_position: bool
    has_raw: bool
    """Whether it keeps key and value as they came: without both nothing can be sent again."""
    time: str = ""
    """The column with the record's time; empty where none is."""
    has_reason: bool = False
    has_text: bool = False
    others: tuple[str, ...] = ()
    """Further columns that are simple values; none in a table that has positions."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Groups of columns that a replay needs and that are not there."""
        return (
            *(() if self.has_position else ("topic, partition and offset",)),
            *(() if self.has_raw else ("key and value",)),
        )


def columns_of(types: Mapping[str, str]) -> LetterColumns:
    """From names and types, as Delta's schema names them; the first column of times is the time where `timestamp` is none."""
    has_position = all(types.get(name) in allowed for name, allowed in _POSITION.items())
    times = [name for name, kind in types.items() if kind in _TIMES]
    time = "timestamp" if "timestamp" in times else (times[0] if times else "")
    known = {time, "reason", "text", *_RAW}
    others = (
        () if has_position else tuple(name for name, kind in types.items() if kind in _SIMPLE and name not in known)
    )
    return LetterColumns(
        has_position=has_position,
        has_raw=all(types.get(name) == "binary" for name in _RAW),
        time=time,
        has_reason=types.get("reason") == "string",
        has_text=types.get("text") == "string",
        others=others,
    )


def newest_query(
    columns: LetterColumns, *, last: int, reason: str = "", since: datetime | None = None, bound: datetime | None = None
) -> str:
    """The newest rows first; the table is registered as `letters`. `bound` is as `since`, and the later of both counts."""
    selected = [f"{_micros(columns)} AS at", *_texts(columns)]
    if columns.has_position:
        selected += list(_POSITION)
    selected += [f"{_begin(name)} AS other_{number}" for number, name in enumerate(columns.others)]
    later = max((moment for moment in (since, bound) if moment), default=None)
    order = f" ORDER BY {quoted(columns.time)} DESC NULLS LAST" if columns.time else ""
    if columns.has_position and order:
        order += ', topic, partition, "offset" DESC'
    return _select(selected, columns, reason=reason, since=later) + f"{order} LIMIT {last}"


def summary_query(columns: LetterColumns, *, limit: int, reason: str = "", since: datetime | None = None) -> str:
    """By reason how many, and the first and the last time; the most frequent first."""
    why = _begin("reason") if columns.has_reason else _NOTHING
    times = [f"{end}({_micros(columns)}) AS {name}" for end, name in (("min", "first"), ("max", "last"))]
    selected = [f"{why} AS reason", "count(*) AS letters", *times]
    where = _select(selected, columns, reason=reason, since=since)
    return f"{where} GROUP BY 1 ORDER BY letters DESC, 1 LIMIT {limit}"


def candidates_query(columns: LetterColumns, *, limit: int, reason: str = "", since: datetime | None = None) -> str:
    """The positions of all rows, and whether the raw record is missing in a row that was written without it."""
    lost = f"{quoted('value')} IS NULL AND {quoted('text')} IS NOT NULL" if columns.has_text else "false"
    selected = [*_POSITION, f"{lost} AS lacks_raw"]
    return _select(selected, columns, reason=reason, since=since) + f" LIMIT {limit}"


def records_query(topic: str, partition: int, first: int, last: int) -> str:
    """Key and value of the rows of a partition between two offsets, both included."""
    return (
        f'SELECT "offset", {quoted("key")}, {quoted("value")} FROM letters WHERE topic = {literal(topic)}'
        f' AND partition = {partition} AND "offset" >= {first} AND "offset" <= {last}'
    )


def quoted(name: str) -> str:
    """A column's name, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, whatever is in it."""
    return "'" + text.replace("'", "''") + "'"


def moment_of(micros: object) -> datetime | None:
    """From microseconds; None for none, and for a time that no calendar of Python's has."""
    try:
        return _EPOCH + timedelta(microseconds=micros) if type(micros) is int else None
    except OverflowError:
        return None


def _select(selected: list[str], columns: LetterColumns, *, reason: str, since: datetime | None) -> str:
    names = ", ".join(quoted(one) if one in _POSITION else one for one in selected)
    conditions = []
    if reason:
        # A table without reasons has none that holds this text.
        told = quoted("reason") if columns.has_reason else _NOTHING
        conditions.append(f"strpos(lower({told}), lower({literal(reason)})) > 0")
    if since and columns.time:
        micros = (since - _EPOCH) // timedelta(microseconds=1)
        conditions.append(f"{quoted(columns.time)} >= to_timestamp_micros({micros})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {names} FROM letters{where}"


def _texts(columns: LetterColumns) -> list[str]:
    return [
        f"{_begin('reason') if columns.has_reason else _NOTHING} AS reason",
        f"{_begin('text') if columns.has_text else _NOTHING} AS text",
    ]


def _begin(name: str) -> str:
    return f"substr(cast({quoted(name)} AS varchar), 1, {SHOWN})"


def _micros(columns: LetterColumns) -> str:
    # Delta's times are microseconds, and this cast keeps them (DataFusion, deltalake 1.6).
    return f"cast({quoted(columns.time)} AS bigint)" if columns.time else "cast(null AS bigint)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTimes:
    """A data file, as the table's log tells of it."""

    records: int
    first: datetime | None
    """The time of its oldest row; None where the log does not tell."""


def bound_for(files: Iterable[FileTimes], *, wanted: int) -> datetime | None:
    """A time from which on there are so many rows at least; None where the whole table must be read for them.

    All rows of a file whose oldest is not before the bound count. So the newest rows that were asked for lie behind it, in
    these files and in those that overlap them.
    """
    total = 0
    for file in sorted((file for file in files if file.first), key=_first, reverse=True):
        total += file.records
        if total >= wanted:
            return file.first
    return None


def _first(file: FileTimes) -> datetime:
    if file.first is None:
        raise AssertionError("a file without times was to be sorted by them")
    return file.first
