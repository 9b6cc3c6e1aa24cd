"""Reads tables of dead letters by the `deltalake` library, as little of them as the question needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from streamops.dead_letters.columns import (
    FileTimes,
    LetterColumns,
    bound_for,
    candidates_query,
    columns_of,
    moment_of,
    newest_query,
    records_query,
    summary_query,
)
from streamops.dead_letters.letter import Candidate, DeadLetter, RecordPosition
from streamops.deltalog import read_delta_table
from streamops.errors import DeltaLogError, SettingsError
from streamops.storage import ReadableStorage
from streamops.storage.address import local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

MAX_LOOKED_AT = 1_000_000
"""Rows that a search for the newest looks at, and that a replay chooses from."""
MAX_REASONS = 50
_WIDER = 8
"""A window in which too few rows match is widened so many times."""
_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonCount:
    """The dead letters of one reason."""

    reason: str
    letters: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest dead letters that match."""

    letters: tuple[DeadLetter, ...]
    """The newest first, by the time of their record."""
    is_cut: bool = False
    """Whether the search ended before the whole table was looked at, with fewer than were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    """The record as it came."""

    position: RecordPosition
    key: bytes | None
    value: bytes | None


class LetterTable:
    """A table of dead letters as it stood when it was opened.

    Raises ObjectNotFoundError where none lies there, StorageError, DeltaLogError, MissingLibraryError without the extra `delta`.
    Each question raises DeltaLogError for files that can't be read, and SettingsError for a `since` where there are no times.
    """

    def __init__(self, storage: ReadableStorage, address: str) -> None:
        self.address = address
        # It refuses logs that are too large, and translates what the library raises when it opens one.
        self.table_id = read_delta_table(storage, address).table_id
        self._table = _opened(address)
        self.columns: LetterColumns = columns_of(_types(self._table))

    def count(self) -> int | None:
        """How many there are by the table's log alone; None where a file does not tell."""
        counts = self._files()["num_records"]
        return None if None in counts else sum(counts)

    def newest(self, last: int, *, reason: str = "", since: datetime | None = None) -> Newest:
        """The newest rows whose reason holds a text, from a time on. Reads no file that can't hold one of them."""
        self._check_since(since)
        files, wanted = self._file_times(), last
        while True:
            bound = bound_for(files, wanted=wanted) if self.columns.time else None
            query = newest_query(self.columns, last=last, reason=reason, since=since, bound=bound)
            found = tuple(self._letter(row) for row in self._rows(query))
            is_whole = bound is None or (since is not None and bound <= since)
            if is_whole or len(found) >= last:
                return Newest(letters=found)
            if wanted >= MAX_LOOKED_AT:
                return Newest(letters=found, is_cut=True)
            wanted *= _WIDER

    def summary(self, *, reason: str = "", since: datetime | None = None) -> tuple[ReasonCount, ...]:
        """By reason, the most frequent first, MAX_REASONS at most. Reads the reasons and times of the whole table."""
        self._check_since(since)
        query = summary_query(self.columns, limit=MAX_REASONS, reason=reason, since=since)
        return tuple(
            ReasonCount(
                reason=row["reason"] or "",
                letters=row["letters"],
                first=moment_of(row["first"]),
                last=moment_of(row["last"]),
            )
            for row in self._rows(query)
        )

    def candidates(self, *, reason: str = "", since: datetime | None = None) -> tuple[Candidate, ...]:
        """All that match. DeltaLogError for more than MAX_LOOKED_AT."""
        self._check_since(since)
        query = candidates_query(self.columns, limit=MAX_LOOKED_AT + 1, reason=reason, since=since)
        found = tuple(
            Candidate(position=position, lacks_raw=bool(row["lacks_raw"]))
            for row in self._rows(query)
            if (position := _position(row))
        )
        if len(found) > MAX_LOOKED_AT:
            raise DeltaLogError(
                f"{self.address}: more than {MAX_LOOKED_AT} dead letters match: narrow them down by --only-reason or --since"
            )
        return found

    def records(self, topic: str, partition: int, offsets: Sequence[int]) -> dict[int, RawRecord]:
        """The raw records of some offsets of a partition; one that the table has no more is left out."""
        wanted = frozenset(offsets)
        rows = self._rows(records_query(topic, partition, min(wanted), max(wanted)))
        return {
            row["offset"]: RawRecord(
                position=RecordPosition(topic=topic, partition=partition, offset=row["offset"]),
                key=row["key"],
                value=row["value"],
            )
            for row in rows
            if row["offset"] in wanted
        }

    def _check_since(self, since: datetime | None) -> None:
        if since and not self.columns.time:
            raise SettingsError(f"{self.address} has no column with times: leave --since away")

    def _file_times(self) -> list[FileTimes]:
        files = self._files()
        firsts = files.get(f"min.{self.columns.time}") or [None] * len(files["num_records"])
        return [
            FileTimes(records=records or 0, first=first if isinstance(first, datetime) else None)
            for records, first in zip(files["num_records"], firsts, strict=True)
        ]

    def _files(self) -> Mapping[str, list[Any]]:
        """Columns of the add actions: statistics may be missing."""
        try:
            actions = self._table.get_add_actions(flatten=True)
            kept = ("num_records", f"min.{self.columns.time}")
            found: dict[str, list[Any]] = {
                name: list(actions.column(name).to_pylist()) for name in kept if name in actions.schema.names
            }
            return {"num_records": [None] * actions.num_rows, **found}
        except Exception as error:
            raise _unreadable(self.address, error) from error

    def _letter(self, row: Mapping[str, Any]) -> DeadLetter:
        others = [(name, row[f"other_{number}"]) for number, name in enumerate(self.columns.others)]
        return DeadLetter(
            position=_position(row) if self.columns.has_position else None,
            at=moment_of(row["at"]),
            reason=row["reason"] or "",
            text=row["text"] or "",
            fields=tuple((name, text) for name, text in others if text is not None),
        )

    def _rows(self, query: str) -> Iterator[dict[str, Any]]:
        from deltalake import QueryBuilder

        try:
            for batch in QueryBuilder().register("letters", self._table).execute(query):
                yield from batch.to_struct_array().to_pylist()
        except Exception as error:
            raise _unreadable(self.address, error) from error


def _opened(address: str) -> "DeltaTable":
    from deltalake import DeltaTable

    try:
        return DeltaTable(local_path(address) or address)
    except Exception as error:
        raise _unreadable(address, error) from error


def _types(table: "DeltaTable") -> dict[str, str]:
    """Names and types; a nested one by its kind."""
    return {field.name: str(getattr(field.type, "type", "")) for field in table.schema().fields}


def _position(row: Mapping[str, Any]) -> RecordPosition | None:
    """None where one of the three is null."""
    topic, partition, offset = row["topic"], row["partition"], row["offset"]
    if topic is None or partition is None or offset is None:
        return None
    return RecordPosition(topic=topic, partition=partition, offset=offset)


def _unreadable(address: str, error: Exception) -> DeltaLogError:
    """The library raises what it likes; its first line may hold pieces of files."""
    first = str(error).strip().partition("\n")[0][:_SHOWN]
    reason = "".join(letter if letter.isprintable() else "?" for letter in first)
    return DeltaLogError(f"{address}: the dead letters can't be read: {reason or type(error).__name__}")
