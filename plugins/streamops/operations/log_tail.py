"""The newest records of a control log, without the others; and a request that is among them already.

Numbers come from one listing of names; then a record is read only when it is asked for. A broken record is a fact here:
whoever looks into the history of a log that nothing can fold must see what is around the damage.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from streamops.control import codec
from streamops.control.layout import RECORD_NAME, log_folder, record_address
from streamops.control.records import (
    Adopted,
    Claimed,
    DriverEnded,
    Outcome,
    Record,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from streamops.errors import ControlLogError, StorageError
from streamops.operations.act_plan import AwaitedStart
from streamops.storage import FileKind, ReadableStorage, read_file


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableRecord:
    """A record that is missing, broken, or of a newer version."""

    number: int
    trouble: str


def records_backwards(storage: ReadableStorage, control: str) -> Iterator[Record | UnreadableRecord]:
    """The records, the newest first, each read when it is asked for. StorageError when the log can't be listed."""
    names = storage.list(log_folder(control))
    present = {int(match[1]) for name in names if (match := RECORD_NAME.match(name))}
    for number in range(max(present, default=-1), -1, -1):
        if number in present:
            yield _read(storage, control, number)
        else:
            yield UnreadableRecord(number=number, trouble="it is missing although later records exist")


def _read(storage: ReadableStorage, control: str, number: int) -> Record | UnreadableRecord:
    address = record_address(control, number)
    try:
        record = codec.decode_record(read_file(storage, FileKind.RECORD, address), address=address)
    except (ControlLogError, StorageError) as error:
        return UnreadableRecord(number=number, trouble=str(error))
    if record.number != number:
        return UnreadableRecord(number=number, trouble=f"{address} holds record {record.number}: copied or renamed")
    return record


SEARCH_LIMIT = 2000
"""Records that are searched at most."""

CLOCK_TOLERANCE = timedelta(hours=1)
"""How much the clocks of those who write may differ from that of whoever asked."""

_REQUESTS = (StopRequested, StartRequested, RestartRequested, Released, Adopted, DriverEnded)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRequest:
    """The record, and what shows that it has come about."""

    record: Record
    awaits: AwaitedStart | None
    """None where no start follows from it."""


def find_request(backwards: Iterable[Record | UnreadableRecord], mark: str, *, since: datetime) -> FoundRequest | None:
    """The newest request with the mark in its reason. Only requests count: supervisors repeat reasons in theirs."""
    records = iter(islice(backwards, SEARCH_LIMIT))
    found = find_record(records, mark, since=since, kinds=_REQUESTS)
    return FoundRequest(record=found, awaits=_awaited(found, records)) if found else None


def find_record(
    backwards: Iterable[Record | UnreadableRecord], mark: str, *, since: datetime, kinds: tuple[type, ...]
) -> Record | None:
    """The newest record of one of these kinds with the mark in its reason."""
    for record in islice(backwards, SEARCH_LIMIT):
        if isinstance(record, UnreadableRecord):
            continue
        if record.at < since - CLOCK_TOLERANCE:
            return None
        if isinstance(record.body, kinds) and mark in record.reason and not _is_a_supervisors(record):
            return record
    return None


def _is_a_supervisors(record: Record) -> bool:
    """An end that nobody vouched for: it repeats the reason of whoever asked for it."""
    return isinstance(record.body, DriverEnded) and record.body.outcome is not Outcome.CONFIRMED_DEAD


def _awaited(request: Record, before: Iterable[Record | UnreadableRecord]) -> AwaitedStart | None:
    """The epoch behind the request; where the newest one was still open, that one may simply go on."""
    if isinstance(request.body, Adopted):
        return None
    if isinstance(request.body, DriverEnded):
        return AwaitedStart(epoch=request.body.epoch + 1, commit=request.body.position.commit)
    if isinstance(request.body, RestartRequested):
        return AwaitedStart(epoch=request.body.epoch + 1)
    ended = set()
    for record in before:
        if not isinstance(record, Record):
            continue
        if isinstance(record.body, DriverEnded):
            ended.add(record.body.epoch)
        if isinstance(record.body, Claimed):
            epoch = record.body.epoch
            return AwaitedStart(epoch=epoch + 1 if epoch in ended else epoch, commit=record.body.position.commit)
    return AwaitedStart(epoch=1)
