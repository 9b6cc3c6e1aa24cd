"""A Delta table at an address, and how long it keeps what a reader of its older versions needs.

Read with the `deltalake` library (extra `delta`), which is imported when a table is read.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from streamops.deltalog.log_size import log_size
from streamops.errors import (
    BrokenDeltaLogError,
    DeltaLogError,
    ForeignDeltaLogError,
    MissingLibraryError,
    ObjectNotFoundError,
)
from streamops.storage import ReadableStorage
from streamops.storage.address import local_path

if TYPE_CHECKING:
    from deltalake import DeltaTable


LOG_RETENTION = "delta.logRetentionDuration"
FILE_RETENTION = "delta.deletedFileRetentionDuration"
LOG_CLEANUP = "delta.enableExpiredLogCleanup"

_PART = re.compile(r"([+-]?\d{1,12})\s+([a-z]+)", re.ASCII)
_UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}
"""Delta refuses months and years, which have no fixed length (DeltaConfigs.parseCalendarInterval, 4.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRetention:
    """What a table's properties say; the defaults are Delta's own (4.4)."""

    log: timedelta | None = timedelta(days=30)
    """Of commits, from their files' time on; None where the property is not understood."""
    cleans_log: bool = True
    """Whether writers remove older commits when they write a checkpoint of the log."""
    deleted_files: timedelta | None = timedelta(weeks=1)
    """Of data files that a commit has removed: VACUUM leaves younger ones. None where the property is not understood."""


def retention_of(properties: Mapping[str, str | None]) -> TableRetention:
    """What the properties of a table say, and the defaults for those that it has not."""
    own = TableRetention()
    log, files = properties.get(LOG_RETENTION), properties.get(FILE_RETENTION)
    cleans = (properties.get(LOG_CLEANUP) or "true").strip().lower()
    return TableRetention(
        log=own.log if log is None else interval(log),
        cleans_log=cleans != "false",
        deleted_files=own.deleted_files if files is None else interval(files),
    )


def interval(text: str) -> timedelta | None:
    """`interval 30 days`, `1 week 2 hours`; None for anything else, and for a negative one."""
    rest = text.strip().lower().removeprefix("interval").strip()
    found, total = _PART.findall(rest), timedelta(0)
    if not found or _PART.sub("", rest).strip():
        return None
    for count, unit in found:
        length = _UNITS.get(unit.removesuffix("s"))
        if length is None:
            return None
        try:
            total += int(count) * length
        except OverflowError:
            return None
    return total if total >= timedelta(0) else None


MAX_LOG_BYTES = 64 * 1024 * 1024
"""Of the log that a table is read from. A table of 1 200 000 files takes about as much; its load takes seconds."""
MAX_LOG_FILES = 10_000
"""Commits since the newest checkpoint: Delta writes one every 10 or every 100."""
RECENT_COMMITS = 50
MAX_APPLICATIONS = 20

_STREAMING_UPDATE = "STREAMING UPDATE"
_REASON_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWrites:
    """What Delta's own streaming sink wrote for one query, as far as the newest commits tell."""

    query_id: str
    """As the commit has it: escape it before you show it."""
    newest_batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTableFacts:
    """A table as it stood at one moment."""

    address: str
    table_id: str
    """As the log has it: escape it before you show it."""
    version: int
    transactions: tuple[tuple[str, int], ...] = ()
    """Application id and newest transaction version, of the applications that were asked for and have one.

    Delta's own streaming sink takes the query's id and the batch; a foreachBatch with `txnAppId` what its author chose. The
    table forgets a transaction after `delta.setTransactionRetentionDuration`, where that is set.
    """
    earliest_commit: int | None = None
    """The lowest version that a streaming source can still read by its commit; None where none is there."""
    retention: TableRetention = field(default_factory=TableRetention)
    """How long it keeps what readers of older versions need."""
    recent_writers: tuple[QueryWrites, ...] = ()
    """Queries that Delta's own sink wrote for in the last RECENT_COMMITS commits, the latest writer first."""

    def transaction(self, application: str) -> int | None:
        """The newest transaction version of an application; None where the table has none."""
        return dict(self.transactions).get(application)

    def writes_of(self, query_id: str) -> QueryWrites | None:
        """What Delta's own sink wrote for a query lately; None where it wrote nothing."""
        return next((writes for writes in self.recent_writers if writes.query_id == query_id), None)


def read_delta_table(storage: ReadableStorage, address: str, *, applications: Iterable[str] = ()) -> DeltaTableFacts:
    """The table at a canonical address, with the transactions of at most MAX_APPLICATIONS applications.

    Raises ObjectNotFoundError where no table lies there, StorageError where the place can't be asked, DeltaLogError for a log
    that can't be read or is larger than MAX_LOG_BYTES, BrokenDeltaLogError for one that lacks a commit or has a damaged
    one, ForeignDeltaLogError for one with a commit that is none or was taken away, MissingLibraryError without the extra `delta`.
    """
    size = log_size(storage, address)
    if size.size > MAX_LOG_BYTES or size.files > MAX_LOG_FILES:
        raise DeltaLogError(
            f"{address}: its log takes {size.size} bytes in {size.files} files, more than is read here ({MAX_LOG_BYTES}"
            f" bytes, {MAX_LOG_FILES} files)"
        )
    if size.missing:
        lacks = ", ".join(map(str, size.missing))
        raise BrokenDeltaLogError(
            f"{address}: its log lacks version {lacks}, and has newer ones: Delta refuses such a table"
        )
    if size.stale:
        raise BrokenDeltaLogError(
            f"{address}: its log's {', '.join(size.stale)} is not what the .crc beside it was written for: Delta refuses such a"
            " table"
        )
    if size.without_json:
        raise BrokenDeltaLogError(
            f"{address}: its log's {', '.join(size.without_json)} is no JSON: Delta can't read such a table"
        )
    if size.foreign:
        raise ForeignDeltaLogError(f"{address}: its log's {', '.join(size.foreign)} holds no action of Delta")
    if size.taken_back:
        gone = ", ".join(f"{version:020d}.json" for version in size.taken_back)
        raise ForeignDeltaLogError(f"{address}: its log's {gone} is gone, and the .crc of that version is still there")
    table = _opened(address)
    try:
        asked = list(dict.fromkeys(applications))[:MAX_APPLICATIONS]
        metadata = table.metadata()
        found = [(application, table.transaction_version(application)) for application in asked]
        return DeltaTableFacts(
            address=address,
            table_id=str(metadata.id),
            version=table.version(),
            transactions=tuple((application, version) for application, version in found if version is not None),
            earliest_commit=size.earliest_commit,
            retention=retention_of(metadata.configuration),
            recent_writers=_recent_writers(table.history(RECENT_COMMITS)),
        )
    except Exception as error:
        raise _unreadable(address, error) from error


def _opened(address: str) -> "DeltaTable":
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError
    except ImportError as error:
        raise MissingLibraryError(
            f"{address} is a Delta table: reading it needs the extra `delta`, pip install 'streamops[delta]'"
        ) from error
    try:
        return DeltaTable(local_path(address) or address)
    except TableNotFoundError as error:
        raise ObjectNotFoundError(f"{address}: no Delta table") from error
    # The library raises its own errors, OSError and ValueError alike; of hostile files it says more than a line.
    except Exception as error:
        raise _unreadable(address, error) from error


def _unreadable(address: str, error: Exception) -> DeltaLogError:
    """In one short, printable line: the library adds stack traces, colours and pieces of the file."""
    first = str(error).strip().partition("\n")[0][:_REASON_LENGTH]
    reason = "".join(letter if letter.isprintable() else "?" for letter in first)
    return DeltaLogError(f"{address}: the Delta log can't be read: {reason or type(error).__name__}")


def _recent_writers(history: Iterable[dict[str, object]]) -> tuple[QueryWrites, ...]:
    """Each query once, with the highest batch; `operationParameters` hold texts, whoever wrote them."""
    found: dict[str, int] = {}
    for commit in history:
        parameters = commit.get("operationParameters")
        if commit.get("operation") != _STREAMING_UPDATE or not isinstance(parameters, dict):
            continue
        query_id, batch = parameters.get("queryId"), str(parameters.get("epochId"))
        if isinstance(query_id, str) and batch.isascii() and batch.isdecimal() and len(batch) < 19:
            found[query_id] = max(int(batch), found.get(query_id, -1))
    return tuple(QueryWrites(query_id=query_id, newest_batch=batch) for query_id, batch in found.items())
