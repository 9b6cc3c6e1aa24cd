"""Figures with where they come from: an estimate is worth what its inputs are, so it shows them."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Origin(StrEnum):
    """Where a figure comes from."""

    GIVEN = "given"
    """By hand."""
    DECLARED = "declared"
    """In the settings of the stream."""
    MEASURED = "measured"
    """From the progress of the stream's driver, or from a sample."""
    ASSUMED = "assumed"
    """Nobody has said: a default."""
    ESTIMATED = "estimated"
    """From other figures."""


class Unit(StrEnum):
    """What a figure counts; a duration counts nothing, it is a timedelta."""

    DURATION = "duration"
    BYTES = "bytes"
    RECORDS = "records"
    RECORDS_PER_SECOND = "records/s"
    SHARE = "share"
    """0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure."""

    name: str
    value: timedelta | float
    unit: Unit
    origin: Origin
    note: str = ""
    """How it was come by, or what it leaves out; empty where the name says it all."""

    def __post_init__(self) -> None:
        if isinstance(self.value, timedelta) != (self.unit is Unit.DURATION):
            raise ValueError(f"{self.name}: {self.value!r} is no {self.unit}")

    @property
    def duration(self) -> timedelta:
        """The value of a duration; ValueError for any other figure."""
        if isinstance(self.value, timedelta):
            return self.value
        raise ValueError(f"{self.name} is no duration")

    @property
    def number(self) -> float:
        """The value of anything but a duration; ValueError for that."""
        if isinstance(self.value, timedelta):
            raise ValueError(f"{self.name} is a duration")
        return self.value


def lasting(name: str, value: timedelta, origin: Origin, note: str = "") -> Figure:
    """A duration."""
    return Figure(name=name, value=value, unit=Unit.DURATION, origin=origin, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What was worked out, and from what."""

    inputs: tuple[Figure, ...]
    results: tuple[Figure, ...]
    formula: str = ""
    """How the results follow from the inputs."""
    notes: tuple[str, ...] = ()
    """What the figures do not say."""
