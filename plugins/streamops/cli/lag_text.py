"""Lags for people: a line for each stream, or one for each partition with the nearest deadline first."""

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import datetime

from rich import box
from rich.table import Table
from rich.text import Text

from streamops.cli.words import brief, moment
from streamops.coverage import Standing
from streamops.coverage.forecast import Basis
from streamops.health.verdict import Verdict
from streamops.supervisor.lag import PartitionLag, StreamLag

MOST_PARTITIONS = 50
"""Lines shown of one stream; the rest is counted. `--json` has all."""

STYLES = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.UNKNOWN: "magenta", Verdict.CRITICAL: "bold red"}


def lag_table(lags: Sequence[StreamLag]) -> Table:
    """One stream a line."""
    table = _table(("stream", "verdict", "lag", "behind", "act by (UTC)", "left", "reason"), figures=("lag",))
    for lag in lags:
        table.add_row(
            Text(lag.stream),
            Text(lag.verdict, style=STYLES[lag.verdict]),
            "" if lag.lag is None else f"{lag.lag}",
            "" if lag.behind is None else brief(lag.behind),
            "" if lag.act_by is None else moment(lag.act_by),
            _left(lag.act_by, lag.at),
            Text(lag.reason),
        )
    return table


def lag_heading(lag: StreamLag) -> Iterator[Text]:
    """The verdict on one stream, in words."""
    yield Text.assemble(f"{lag.stream}: ", (str(lag.verdict), STYLES[lag.verdict]), f": {lag.reason}")
    if lag.lag is not None:
        behind = f", the oldest is {brief(lag.behind)} old" if lag.behind is not None else ""
        yield Text(f"  {lag.lag} offsets are not read yet{behind}")
    if lag.deadline and lag.act_by:
        yield Text(
            f"  the first record that waits may be deleted from {moment(lag.deadline)} UTC on"
            f" (in {_left(lag.deadline, lag.at)}): act by {moment(lag.act_by)} UTC"
        )


def partition_table(lag: StreamLag) -> Table:
    """One partition a line."""
    columns = (
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
    table = _table(columns, figures=("next", "earliest", "latest", "lag"))
    for one in lag.partitions[:MOST_PARTITIONS]:
        coverage, foretold = one.coverage, one.forecast
        table.add_row(
            Text(f"{coverage.topic}-{coverage.partition}"),
            Text(coverage.standing, style=_style(coverage.standing)),
            *map(_figure, (coverage.start, coverage.earliest, coverage.latest, coverage.lag)),
            "" if foretold.not_before is None else moment(foretold.not_before),
            "" if foretold.expected is None else moment(foretold.expected),
            Text(_why(one)),
        )
    return table


def rest(lag: StreamLag) -> str:
    """What the table left out; empty where it shows all."""
    left = len(lag.partitions) - MOST_PARTITIONS
    return f"  … and {left} partitions that are less urgent (--json shows all)" if left > 0 else ""


def lag_fields(lag: StreamLag) -> dict[str, object]:
    """As JSON has it, with what is worked out from the partitions."""
    return {
        **dataclasses.asdict(lag),
        "lag": lag.lag,
        "behind": lag.behind,
        "deadline": lag.deadline,
        "act_by": lag.act_by,
        "partitions": [
            {**dataclasses.asdict(one), "lag": one.coverage.lag, "act_by": one.act_by} for one in lag.partitions
        ],
    }


def _why(one: PartitionLag) -> str:
    if one.coverage.standing is not Standing.COVERED:
        return one.coverage.reason
    return "" if one.forecast.basis in (Basis.TIME, Basis.NOTHING_TO_LOSE) else one.forecast.reason


def _left(until: datetime | None, now: datetime) -> str:
    if until is None:
        return ""
    return brief(until - now) if until > now else f"over since {brief(now - until)}"


def _style(standing: Standing) -> str:
    if standing.is_lossy:
        return "bold red"
    return "magenta" if standing is Standing.UNKNOWN else ""


def _figure(number: int | None) -> str:
    return "" if number is None else str(number)


def _table(columns: Sequence[str], *, figures: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in figures else "left", overflow="fold")
    return table
