"""A dead letter, the place in Kafka that it came from, and whether a replay sends it. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

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


MAX_LETTERS = 100_000
"""Of one replay: its plan is one file."""


class LeftOut(StrEnum):
    """Why a dead letter is not sent again."""

    OTHER_TOPIC = "of a topic that the stream does not read"
    HELD = "in a replay already"
    DIED_AGAIN = "died again after a replay (--again sends them once more)"
    NO_RAW = "written without key and value, by an older job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A dead letter that may be sent again."""

    position: RecordPosition
    lacks_raw: bool = False
    """Whether its row was written without the raw record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a replay sends."""

    chosen: tuple[RecordPosition, ...]
    """Each once, in order."""
    left_out: tuple[tuple[LeftOut, tuple[RecordPosition, ...]], ...] = ()
    """By reason, in order; only reasons that hold for some."""
    unknown: tuple[RecordPosition, ...] = ()
    """Positions that were asked for and that no dead letter has."""
    waiting: int = 0
    """How many more there are than one replay sends."""


def choose(
    candidates: Iterable[Candidate],
    *,
    topics: Collection[str],
    held: Collection[RecordPosition],
    born_again: Mapping[RecordPosition, RecordPosition],
    asked: frozenset[RecordPosition] | None = None,
    again: bool = False,
    most: int = MAX_LETTERS,
) -> Choice:
    """Those of the candidates, or of the positions that are asked for, that no replay holds.

    `born_again` has the positions of records that replays sent: a dead letter there has died again. Where there are more than
    `most`, the first by position are chosen.
    """
    found = {one.position: one for one in candidates if asked is None or one.position in asked}
    left: dict[LeftOut, list[RecordPosition]] = {why: [] for why in LeftOut}
    chosen = []
    for position, candidate in sorted(found.items()):
        why = _why_not(candidate, topics=topics, held=held, born_again=born_again, again=again)
        if why:
            left[why].append(position)
        else:
            chosen.append(position)
    return Choice(
        chosen=tuple(chosen[:most]),
        left_out=tuple((why, tuple(positions)) for why, positions in left.items() if positions),
        unknown=tuple(sorted((asked or frozenset()) - found.keys())),
        waiting=max(0, len(chosen) - most),
    )


def _why_not(
    candidate: Candidate,
    *,
    topics: Collection[str],
    held: Collection[RecordPosition],
    born_again: Mapping[RecordPosition, RecordPosition],
    again: bool,
) -> LeftOut | None:
    """None for one that is sent. What was sent is told first: it is what people ask for."""
    position = candidate.position
    if position in held:
        return LeftOut.HELD
    if position.topic not in topics:
        return LeftOut.OTHER_TOPIC
    if position in born_again and not again:
        return LeftOut.DIED_AGAIN
    return LeftOut.NO_RAW if candidate.lacks_raw else None
