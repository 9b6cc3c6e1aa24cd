"""Which record comes when: the kinds of an input's records, spread over waves, with the event time of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from streamops_sandbox.inputs.draws import draw
from streamops_sandbox.inputs.record import Shares

WATERMARK = timedelta(minutes=10)
"""The delay that jobs declare for these inputs."""

WAVES = 5
"""Without the last one, which holds the closing record alone."""

FIRST_WAVE = datetime(2026, 1, 1, 8, tzinfo=UTC)
STEP = timedelta(minutes=15)
"""Event time from the begin of one wave to the begin of the next."""

SPAN = timedelta(minutes=6)
"""Event time within a wave. Shorter than WATERMARK: whatever part of a wave comes first, no other part is late by it."""

LATENESS = timedelta(hours=2)
"""How far a late record is behind the begin of its wave. The watermark is then 24 minutes behind that begin or less, so by
more than an hour and a half the record is too old."""

CLOSING = timedelta(hours=3)
"""How far the closing record is ahead."""

_LEAD = timedelta(minutes=2)
"""What is in order begins so far behind the begin of its wave: room for what is out of order."""


class Kind(StrEnum):
    """What is special about a record."""

    PLAIN = "plain"
    OUT_OF_ORDER = "out of order"
    LATE = "late"
    DUPLICATE = "duplicate"
    MALFORMED = "malformed"
    CLOSING = "closing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The place of one record in its input."""

    kind: Kind
    wave: int
    number: int
    """From 0 in the order of sending; malformed ones have numbers of their own, a duplicate has its original's."""
    rank: int
    """From 0 among the plain and out-of-order records of the wave; of any other record that of the one before."""
    at: datetime
    """Event time, whole milliseconds."""

    def label(self, prefix: str) -> str:
        """An id such as e-000012; of a malformed record such as e-bad-000012."""
        return f"{prefix}-bad-{self.number:06d}" if self.kind is Kind.MALFORMED else f"{prefix}-{self.number:06d}"


def begin_of(wave: int) -> datetime:
    """Where the event times of a wave begin."""
    return FIRST_WAVE + wave * STEP


def arrange(*, seed: int, count: int, shares: Shares) -> tuple[Slot, ...]:
    """The slots of `count` records in the order of sending, the closing one last.

    Each share of `count` is rounded to whole records. ValueError where fewer than WAVES plain records are left.
    """
    odd = {
        Kind.OUT_OF_ORDER: round(count * shares.out_of_order),
        Kind.LATE: round(count * shares.late),
        Kind.DUPLICATE: round(count * shares.duplicate),
        Kind.MALFORMED: round(count * shares.malformed),
    }
    plain = count - sum(odd.values()) - 1
    if plain < WAVES:
        raise ValueError(
            f"{count} records with {shares} leave {plain} plain ones, expected at least {WAVES}: ask for more"
        )
    by_wave = {kind: _spread(number, WAVES) for kind, number in odd.items()} | {Kind.PLAIN: _spread(plain, WAVES)}
    # Nothing is late before the watermark has moved.
    by_wave[Kind.LATE] = [0, *_spread(odd[Kind.LATE], WAVES - 1)]
    kinds = [_kinds_of_wave(seed, wave, {kind: by_wave[kind][wave] for kind in by_wave}) for wave in range(WAVES)]
    return tuple(_slots(seed, kinds))


def _spread(number: int, places: int) -> list[int]:
    return [number // places + (place < number % places) for place in range(places)]


def _kinds_of_wave(seed: int, wave: int, numbers: dict[Kind, int]) -> list[tuple[Kind, int]]:
    """Kinds in the order of sending, each with its index; a duplicate with the index of its original, which comes before it.

    The first is plain: it is what an out-of-order record is older than.
    """
    shuffled = [kind for kind, number in numbers.items() if kind is not Kind.DUPLICATE for _ in range(number)]
    shuffled.remove(Kind.PLAIN)
    places = sorted(range(len(shuffled)), key=lambda place: draw(2**64, seed, "order", wave, place))
    base = [Kind.PLAIN, *(shuffled[place] for place in places)]
    originals = [index for index, kind in enumerate(base) if kind in (Kind.PLAIN, Kind.OUT_OF_ORDER)]
    # Sorted by a position between those of two others: an insertion each would take the square of the count.
    placed: list[tuple[float, Kind, int]] = [(float(index), kind, index) for index, kind in enumerate(base)]
    for repeat in range(numbers[Kind.DUPLICATE]):
        original = originals[draw(len(originals), seed, "original", wave, repeat)]
        part = (1 + draw(1000, seed, "behind", wave, repeat)) / 1001
        placed.append((original + (len(base) - original) * part, Kind.DUPLICATE, original))
    return [(kind, index) for _, kind, index in sorted(placed, key=lambda place: place[0])]


def _slots(seed: int, kinds: list[list[tuple[Kind, int]]]) -> Iterator[Slot]:
    good = malformed = 0
    for wave, in_wave in enumerate(kinds):
        steps = sum(kind is Kind.PLAIN for kind, _ in in_wave)
        step = rank = 0
        newest = begin_of(wave) + _LEAD
        originals: dict[int, Slot] = {}
        for kind, index in in_wave:
            if kind is Kind.DUPLICATE:
                original = originals[index]
                yield Slot(kind=kind, wave=wave, number=original.number, rank=original.rank, at=original.at)
                continue
            if kind is Kind.PLAIN:
                newest = begin_of(wave) + _LEAD + _milliseconds((SPAN - _LEAD) * step / steps)
                step += 1
            number = malformed if kind is Kind.MALFORMED else good
            at = _event_time(kind, newest=newest, begin=begin_of(wave), chance=draw(2**32, seed, kind, number))
            originals[index] = Slot(kind=kind, wave=wave, number=number, rank=rank, at=at)
            yield originals[index]
            rank += kind in (Kind.PLAIN, Kind.OUT_OF_ORDER)
            malformed += kind is Kind.MALFORMED
            good += kind is not Kind.MALFORMED
    yield Slot(kind=Kind.CLOSING, wave=WAVES, number=good, rank=0, at=begin_of(WAVES) + CLOSING)


def _event_time(kind: Kind, *, newest: datetime, begin: datetime, chance: int) -> datetime:
    """`newest` is the time of the last plain record before."""
    if kind is Kind.OUT_OF_ORDER:
        return newest - timedelta(seconds=5 + chance % 115)
    if kind is Kind.LATE:
        return begin - LATENESS - timedelta(seconds=chance % 300)
    return newest


def _milliseconds(duration: timedelta) -> timedelta:
    return timedelta(milliseconds=duration // timedelta(milliseconds=1))
