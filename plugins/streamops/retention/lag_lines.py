"""The lag of a stream in plain words and columns: what a terminal colours and a log takes as it is."""

from collections.abc import Iterator

from streamops.diagnosis.checkup_text import printable
from streamops.formatting import brief, left, moment
from streamops.retention import PartitionState
from streamops.retention.catch_up import CatchUp
from streamops.retention.forecast import Basis
from streamops.retention.lag import PartitionLag, StreamLag

MOST_PARTITIONS = 50
"""Lines shown of one stream; the rest is counted. `streamops lag --json` has all."""

COLUMNS = (
    "partition",
    "standing",
    "next",
    "earliest",
    "latest",
    "lag",
    "deleted from (UTC)",
    "expected (UTC)",
    "why",
)
FIGURES = frozenset({"next", "earliest", "latest", "lag"})
"""Columns of numbers."""


def lag_lines(lag: StreamLag) -> tuple[str, ...]:
    """The whole report, as `streamops lag STREAM` shows it. Every line is printable."""
    lines = [f"{lag.stream}: {lag.verdict}: {lag.reason}", *(f"  {text}" for text in summary(lag))]
    if lag.partitions:
        lines += _aligned([COLUMNS, *map(row, lag.partitions[:MOST_PARTITIONS])])
    return tuple(printable(line) for line in (*lines, *([rest(lag)] if rest(lag) else [])))


def summary(lag: StreamLag) -> Iterator[str]:
    """What is to be said of all partitions together, beside the verdict."""
    if lag.lag is not None:
        behind = f", the oldest is {brief(lag.behind)} old" if lag.behind is not None else ""
        yield f"{lag.lag} offsets are not read yet{behind}"
    if lag.deadline and lag.act_by:
        when = left(lag.deadline, lag.at)
        yield (
            f"the first record that waits may be deleted from {moment(lag.deadline)} UTC on"
            f" ({'in ' if lag.deadline > lag.at else ''}{when}): act by {moment(lag.act_by)} UTC"
        )
    if lag.catch_up and (told := _caught_up(lag.catch_up)):
        yield told
    yield from lag.shortfalls


def row(one: PartitionLag) -> tuple[str, ...]:
    """One partition, a text for each column."""
    coverage, foretold = one.coverage, one.forecast
    figures = (coverage.start, coverage.earliest, coverage.latest, coverage.lag)
    return (
        f"{coverage.topic}-{coverage.partition}",
        str(coverage.standing),
        *("" if figure is None else str(figure) for figure in figures),
        "" if foretold.not_before is None else moment(foretold.not_before),
        "" if foretold.expected is None else moment(foretold.expected),
        _why(one),
    )


def rest(lag: StreamLag) -> str:
    """What the rows left out; empty where they are all."""
    hidden = len(lag.partitions) - MOST_PARTITIONS
    return f"  … and {hidden} partitions that are less urgent (--json shows all)" if hidden > 0 else ""


def _caught_up(caught: CatchUp) -> str:
    """Empty where it is not known."""
    if caught.duration:
        return f"once it is started it takes {brief(caught.duration)} to catch up: {caught.reason}"
    return caught.reason if caught.is_never else ""


def _why(one: PartitionLag) -> str:
    if one.coverage.standing is not PartitionState.COVERED:
        return one.coverage.reason
    return "" if one.forecast.basis in (Basis.TIME, Basis.NOTHING_TO_LOSE) else one.forecast.reason


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        padded = (
            cell.rjust(width) if name in FIGURES else cell.ljust(width)
            for name, cell, width in zip(COLUMNS, cells, widths, strict=True)
        )
        yield "  ".join(padded).rstrip()
