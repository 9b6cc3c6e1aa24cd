"""The port through which records are sent, and looked for where they were sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRecord:
    """A record to be sent."""

    topic: str
    partition: int | None
    """None leaves it to the key, as Kafka's own clients do."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of a record that was sent."""

    partition: int = -1
    offset: int = -1
    trouble: str = ""
    """Why it is not known to be in the topic; empty where it is. Printable, without secrets."""
    is_unfit: bool = False
    """Whether the topic refuses this very record, for its size for example: then it is not there, and others may fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRecord:
    """A record that bears a mark."""

    topic: str
    partition: int
    offset: int
    headers: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The records that bear a mark, of a range."""

    records: tuple[MarkedRecord, ...] = ()
    trouble: str = ""
    """Why the range was not read to its end; empty where it was."""


Ranges = Mapping[tuple[str, int], tuple[int, int]]
"""By topic and partition: the first offset, and the one behind the last."""


class Sender(Protocol):
    """Sends records to one cluster."""

    def send(self, records: Sequence[OutgoingRecord]) -> tuple[Delivery, ...]:
        """One answer for each record, in their order, once all are known. Never raises for what the cluster says.

        A record without trouble is in the topic once. One with trouble may be in it, unless it is unfit.
        """
        ...

    def marked(self, ranges: Ranges, *, name: str, value: bytes) -> Marked:
        """The records of these ranges that have a header of this name and value. Never raises."""
        ...
