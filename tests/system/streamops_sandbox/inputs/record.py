"""One record of an input, and how much of an input is wrong in which way."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class InputRecord:
    """A record of Kafka, as it is to be sent."""

    topic: str
    key: bytes | None
    value: bytes | None
    wave: int
    """From 0: to be sent when all records of the waves before were processed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Fractions of an input's records; what is left of 1 is in order and plain."""

    late: float = 0.0
    """Behind the watermark for certain."""
    duplicate: float = 0.0
    """Equal to a record sent before."""
    malformed: float = 0.0
    """To be found among the dead letters."""
    out_of_order: float = 0.0
    """Older than a record sent before, and not behind the watermark."""

    def __post_init__(self) -> None:
        shares = (self.late, self.duplicate, self.malformed, self.out_of_order)
        if min(shares) < 0 or sum(shares) > 1:
            raise ValueError(f"shares are {shares}, expected fractions from 0 with a sum of at most 1")


USUAL = Shares(late=0.05, duplicate=0.1, malformed=0.05, out_of_order=0.1)
"""Some of everything."""


def waves(records: Iterable[InputRecord]) -> tuple[tuple[InputRecord, ...], ...]:
    """The records wave by wave, in the order in which they are to be sent; of several inputs too."""
    in_order = sorted(records, key=lambda record: record.wave)
    return tuple(tuple(group) for _, group in groupby(in_order, key=lambda record: record.wave))
