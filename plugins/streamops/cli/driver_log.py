"""The answer of `streamops logs`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverLog:
    """The end of the log of one epoch's driver."""

    stream: str
    epoch: int
    path: str
    lines: tuple[str, ...]
