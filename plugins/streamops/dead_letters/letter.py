"""A dead letter, and the place in Kafka that it came from."""

import re
from dataclasses import dataclass
from datetime import datetime

EXPECTED_POSITIONS = "positions such as orders/0:17,orders/1:4 (topic/partition:offset)"
_POSITION = re.compile(r"([A-Za-z0-9._-]{1,249})/(\d{1,10}):(\d{1,19})", re.ASCII)
"""Letters and length of a topic's name are Kafka's (Topic.LEGAL_CHARS and MAX_NAME_LENGTH, 4.3)."""
_HEADER = re.compile(r"([A-Za-z0-9._-]{1,249})/(\d{1,10})/(\d{1,19})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class RecordPosition:
    """Where a record lies or lay."""

    topic: str
    """As the table has it: escape it before you show it."""
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}:{self.offset}"

    @property
    def header(self) -> str:
        """As the header of a replayed record has it: `orders/0/17`."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    @classmethod
    def of_header(cls, text: str) -> "RecordPosition | None":
        """From such a header; None for anything else."""
        match = _HEADER.fullmatch(text)
        return cls(topic=match[1], partition=int(match[2]), offset=int(match[3])) if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One row of the table. All texts are as the table has them: escape them before you show them."""

    position: RecordPosition | None
    """None in a table that has no columns `topic`, `partition` and `offset`."""
    at: datetime | None
    """Of the record: the column `timestamp`, or the first column that holds times."""
    reason: str
    text: str = ""
    """Its begin."""
    fields: tuple[tuple[str, str], ...] = ()
    """Name and text of the further columns, in a table that has no positions."""


def positions_of(text: str) -> frozenset[RecordPosition]:
    """`orders/0:17,orders/1:4`. ValueError naming the part that is no position."""
    found = set()
    for part in text.split(","):
        match = _POSITION.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part.strip()!r:.200} is no position")
        found.add(RecordPosition(topic=match[1], partition=int(match[2]), offset=int(match[3])))
    return frozenset(found)
