"""A request that is on record already, so that a retry does not ask twice. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from streamops.control.records import (
    Claimed,
    DriverEnded,
    Record,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from streamops.operations.act_progress import AwaitedStart
from streamops.operations.log_tail import UnreadableRecord

SEARCH_LIMIT = 2000
"""Records that are searched at most."""

CLOCK_TOLERANCE = timedelta(hours=1)
"""How much the clocks of those who write may differ from that of whoever asked."""

_REQUESTS = (StopRequested, StartRequested, RestartRequested, Released)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRequest:
    """The record, and what shows that it has come about."""

    record: Record
    awaits: AwaitedStart


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
        if isinstance(record.body, kinds) and mark in record.reason:
            return record
    return None


def _awaited(request: Record, before: Iterable[Record | UnreadableRecord]) -> AwaitedStart:
    """The epoch behind the request; where the newest one was still open, that one may simply go on."""
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
