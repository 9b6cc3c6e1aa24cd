"""Offsets of Kafka partitions and ids of topics, as plans and the control log keep them.

Of the standard library only: plans travel to drivers.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from streamops.control.records import Adopted, Body, Claimed, Released, TopicSeen

BROKEN = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What decoding of arbitrary bytes may raise."""
SHOWN = 200
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
            return offsets_of(json.loads(text, object_pairs_hook=without_twins))
        except BROKEN as error:
            raise ValueError(f"no offsets of Kafka partitions: {error!s:.{SHOWN}}") from error

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Which partitions these are, in order."""
        return tuple((position.topic, position.partition) for position in self.positions)

    def by_partition(self) -> dict[Partition, int]:
        """The offsets for looking them up."""
        return {(position.topic, position.partition): position.offset for position in self.positions}

    def partitions_json(self) -> str:
        """The partitions as Spark's Kafka source takes them by `assign`: `{"orders":[0,1]}`."""
        numbers: dict[str, list[int]] = {}
        for topic, number in self.partitions:
            numbers.setdefault(topic, []).append(number)
        return json.dumps(numbers, separators=(",", ":"), ensure_ascii=False)

    @property
    def source_text(self) -> str:
        """The same, as every place has it."""
        return self.kafka_json()

    def kafka_json(self) -> str:
        """As Spark's Kafka source writes and takes it: `{"orders":{"0":23,"1":40}}` (JsonUtils, 3.5 to 4.2)."""
        return json.dumps(fields_of(self), separators=(",", ":"), ensure_ascii=False)


def offsets_between(start: Offsets, end: Offsets) -> int:
    """How many offsets lie between two places in the same partitions."""
    return sum(last.offset - first.offset for first, last in zip(start.positions, end.positions, strict=True))


def offsets_of(fields: Any) -> Offsets:
    """From plain values, by topic and partition. One of BROKEN for others."""
    places: dict[Partition, int] = {}
    for topic, partitions in of_type(dict, fields).items():
        for number, offset in of_type(dict, partitions).items():
            if not (number.isascii() and number.isdecimal()) or str(int(number)) != number:
                raise ValueError(f"{number!r:.{SHOWN}} is not the number of a partition")
            places[topic, int(number)] = of_type(int, offset)
    return Offsets.of(places)


def fields_of(offsets: Offsets) -> dict[str, dict[str, int]]:
    """As plain values, by topic and partition."""
    topics: dict[str, dict[str, int]] = {}
    for position in offsets.positions:
        topics.setdefault(position.topic, {})[str(position.partition)] = position.offset
    return topics


def of_type(kind: type, value: Any) -> Any:
    """The value; TypeError where it is of another type, however alike."""
    if type(value) is not kind:
        raise TypeError(f"{value!r:.{SHOWN}} is not a {kind.__name__}")
    return value


def without_twins(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object; ValueError when it has one name twice: which of the two is meant, nobody knows."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"{name!r:.{SHOWN}} comes twice")
        fields[name] = value
    return fields


Topics = tuple[TopicSeen, ...]
"""In order of their names, each once."""


def topics_after(known: Topics, body: Body) -> Topics:
    """What is known once this record is there.

    A claim adds what its start found and keeps the rest, for the cluster may not have answered. What was known before a
    person accepted what is there counts no longer: it may be of the topics that were lost.
    """
    if accepts_what_is_there(body):
        return ()
    if not isinstance(body, Claimed):
        return known
    newest = {one.topic: one for one in (*known, *body.topics)}
    return tuple(newest[topic] for topic in sorted(newest))


def accepts_what_is_there(body: Body) -> bool:
    """Whether a person says that the topics that are there now are the query's own.

    A plain release says that the stream may run again, not that another topic is the right one.
    """
    return isinstance(body, Adopted) or (isinstance(body, Released) and body.accepts_unsafe)
