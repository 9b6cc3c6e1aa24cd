"""What a backfill reads, in which steps, and where it writes: the file `plan.json` beside its checkpoint.

It is written once, before the first claim, and never changed: a driver that goes on after a crash finds the same steps. It
travels to drivers, so this is the standard library only. A plan of another format is refused: what it leaves out may matter.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from streamops.errors import CorruptRecordError, NewerRecordError

FORMAT = 1
PLAN_LIMIT = 64 * 1024 * 1024
"""Bytes of a plan that are read at most: a thousand steps over two thousand partitions take half of it."""

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_BROKEN = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What decoding of arbitrary bytes may raise."""
_SHOWN = 200
"""Characters of what a message repeats from a file: it may be the whole of it."""

Partition = tuple[str, int]
"""Topic and number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffset:
    """A place in one partition."""

    topic: str
    partition: int
    offset: int

    def __post_init__(self) -> None:
        if not self.topic or self.partition < 0 or self.offset < 0:
            raise ValueError(f"{self.topic!r} {self.partition}: {self.offset} is no offset of a partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """One offset in each of some partitions, by topic and number. Raises ValueError for none and for one that comes twice."""

    positions: tuple[PartitionOffset, ...]

    def __post_init__(self) -> None:
        places = self.partitions
        if not places:
            raise ValueError("offsets of no partition at all")
        if any(left >= right for left, right in pairwise(places)):
            raise ValueError("offsets are not in the order of their partitions, or one comes twice")

    @classmethod
    def of(cls, found: Mapping[Partition, int]) -> "Offsets":
        """From a mapping, in whatever order it is."""
        return cls(
            positions=tuple(
                PartitionOffset(topic=topic, partition=number, offset=offset)
                for (topic, number), offset in sorted(found.items())
            )
        )

    @classmethod
    def from_kafka(cls, text: str) -> "Offsets":
        """From the JSON that Spark's Kafka source writes and takes: `{"orders":{"0":23,"1":40}}`. Raises ValueError."""
        try:
            return _offsets(json.loads(text, object_pairs_hook=_without_twins))
        except _BROKEN as error:
            raise ValueError(f"no offsets of Kafka partitions: {error!s:.{_SHOWN}}") from error

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Which partitions these are, in order."""
        return tuple((position.topic, position.partition) for position in self.positions)

    def by_partition(self) -> dict[Partition, int]:
        """The offsets for looking them up."""
        return {(position.topic, position.partition): position.offset for position in self.positions}

    def kafka_json(self) -> str:
        """As Spark's Kafka source writes and takes it: `{"orders":{"0":23,"1":40}}` (JsonUtils, 3.5 to 4.2)."""
        return json.dumps(_by_topic(self), separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """One backfill. Raises ValueError for steps that leave something out or read something twice."""

    id: str
    stream: str
    by: str
    """Who asked for it, as records of the control log name their authors."""
    at: datetime
    reason: str
    asked: str
    """The range in the words in which it was asked for."""
    start: Offsets
    chunks: tuple[Offsets, ...]
    """Where each step ends: the first begins at `start`, every other where the one before ends. All name each partition."""
    table: str
    """Canonical address of what is written."""
    dead_letters: str
    """Canonical address of what records that can't be parsed are written to."""
    is_redirected: bool
    """Whether that is not where the stream itself writes."""
    not_before: datetime | None = None
    """Records with an older stamp are left out."""
    before: datetime | None = None
    """Records with this stamp or a younger one are left out."""
    is_approximate: bool = False
    """Whether a person accepted that a job with state sees the range alone: neither what came before nor what comes after."""
    notes: tuple[str, ...] = ()
    """What a person should know of it, a sentence each."""

    def __post_init__(self) -> None:
        if not is_backfill_id(self.id):
            raise ValueError(f"id {self.id!r}: up to 64 lower-case letters, digits and dashes")
        if not self.chunks:
            raise ValueError("a backfill has one step at least")
        for before, after in pairwise((self.start, *self.chunks)):
            if before.partitions != after.partitions:
                raise ValueError("the steps of a backfill do not name the same partitions")
            taken = [end.offset - begin.offset for begin, end in zip(before.positions, after.positions, strict=True)]
            if min(taken) < 0 or not any(taken):
                raise ValueError("a step of a backfill goes back, or reads nothing")
        moments = [moment for moment in (self.at, self.not_before, self.before) if moment is not None]
        if any(moment.tzinfo is None for moment in moments):
            raise ValueError("a time of a backfill has no time zone")

    @property
    def end(self) -> Offsets:
        """Where the last step ends."""
        return self.chunks[-1]

    @property
    def records(self) -> int:
        """Offsets in the range. At most so many records: compaction and transactions leave offsets without one."""
        return offsets_between(self.start, self.end)

    def partitions_json(self) -> str:
        """The partitions as Spark's Kafka source takes them by `assign`: `{"orders":[0,1]}`."""
        numbers: dict[str, list[int]] = {}
        for topic, number in self.start.partitions:
            numbers.setdefault(topic, []).append(number)
        return json.dumps(numbers, separators=(",", ":"), ensure_ascii=False)

    def chunk_start(self, number: int) -> Offsets:
        """Where a step begins."""
        return self.chunks[number - 1] if number else self.start


def is_backfill_id(text: str) -> bool:
    """Whether a backfill may be called that: the id is the name of a folder."""
    return bool(_ID.fullmatch(text))


def derived_name(stream: str, backfill: str) -> str:
    """The name of the stream that a backfill is, beside the declared one."""
    return f"{stream}__{backfill.replace('-', '_')}"


def offsets_between(start: Offsets, end: Offsets) -> int:
    """How many offsets lie between two places in the same partitions."""
    return sum(last.offset - first.offset for first, last in zip(start.positions, end.positions, strict=True))


def encode_plan(plan: BackfillPlan) -> bytes:
    """The plan as the bytes of its file."""
    fields: dict[str, Any] = {
        "format": FORMAT,
        "id": plan.id,
        "stream": plan.stream,
        "by": plan.by,
        "at": plan.at.isoformat(),
        "reason": plan.reason,
        "asked": plan.asked,
        "table": plan.table,
        "dead_letters": plan.dead_letters,
        "is_redirected": plan.is_redirected,
        "is_approximate": plan.is_approximate,
        "not_before": plan.not_before and plan.not_before.isoformat(),
        "before": plan.before and plan.before.isoformat(),
        "notes": plan.notes,
        "start": _by_topic(plan.start),
        "chunks": [_by_topic(chunk) for chunk in plan.chunks],
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def decode_plan(content: bytes, *, address: str) -> BackfillPlan:
    """The plan in a file.

    Raises CorruptRecordError naming the file, NewerRecordError for one of another format.
    """
    try:
        fields = json.loads(content, object_pairs_hook=_without_twins)
        found = fields["format"]
        if found != FORMAT:
            raise NewerRecordError(
                f"{address} has format {found!s:.{_SHOWN}}, this streamops reads format {FORMAT}: upgrade it, or make"
                " a new plan"
            )
        return _plan(fields)
    except _BROKEN as error:
        raise CorruptRecordError(f"{address} is not the plan of a backfill: {error!r:.{_SHOWN}}") from error


def _plan(fields: dict[str, Any]) -> BackfillPlan:
    return BackfillPlan(
        **{name: _of(str, fields[name]) for name in ("id", "stream", "by", "reason", "asked", "table", "dead_letters")},
        **{name: _of(bool, fields[name]) for name in ("is_redirected", "is_approximate")},
        not_before=_moment(fields["not_before"]),
        before=_moment(fields["before"]),
        at=datetime.fromisoformat(fields["at"]),
        notes=tuple(_of(str, note) for note in _of(list, fields["notes"])),
        start=_offsets(fields["start"]),
        chunks=tuple(_offsets(chunk) for chunk in _of(list, fields["chunks"])),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _offsets(fields: Any) -> Offsets:
    places: dict[Partition, int] = {}
    for topic, partitions in _of(dict, fields).items():
        for number, offset in _of(dict, partitions).items():
            if not (number.isascii() and number.isdecimal()) or str(int(number)) != number:
                raise ValueError(f"{number!r:.{_SHOWN}} is not the number of a partition")
            places[topic, int(number)] = _of(int, offset)
    return Offsets.of(places)


def _by_topic(offsets: Offsets) -> dict[str, dict[str, int]]:
    topics: dict[str, dict[str, int]] = {}
    for position in offsets.positions:
        topics.setdefault(position.topic, {})[str(position.partition)] = position.offset
    return topics


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.{_SHOWN}} is not a {kind.__name__}")
    return value


def _without_twins(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object; ValueError when it has one name twice: which of the two is meant, nobody knows."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"{name!r:.{_SHOWN}} comes twice")
        fields[name] = value
    return fields
