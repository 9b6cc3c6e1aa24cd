"""Which dead letters a replay sends, and which it leaves out. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from streamops.dead_letters.letter import RecordPosition

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
