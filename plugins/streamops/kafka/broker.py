"""The port to a cluster: what the suite asks it, whoever answers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from streamops.kafka.facts import BrokerFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPlace:
    """An offset in a partition."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTime:
    """The stamp of the first record at or behind a place."""

    at: datetime | None
    """None where no record is there, or nobody may say."""
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOffset:
    """The first offset of a partition whose record is as young as a moment."""

    offset: int | None
    """None where no record is so young, or nobody may say."""
    trouble: str = ""


class Broker(Protocol):
    """Answers within bounded time, whatever the cluster does."""

    def scan(self, topics: Collection[str], *, committed: bool = False) -> BrokerFacts:
        """What these topics hold and how long they keep it. Never raises for what the cluster says: that is a fact, too.

        `committed`: whether to ask, too, how far readers of committed records come.
        """
        ...

    def record_times(self, places: Collection[RecordPlace]) -> Mapping[RecordPlace, RecordTime]:
        """The stamps of the records there. Reads records, so it is for the few places where it matters. Never raises."""
        ...

    def offsets_at(self, partitions: Collection[tuple[str, int]], at: datetime) -> Mapping[tuple[str, int], TimeOffset]:
        """The first offset of each partition, by topic and number, whose record is as young as that. Never raises.

        Everything before it is older, whatever the order of the stamps: the cluster goes by the highest stamp so far.
        """
        ...
