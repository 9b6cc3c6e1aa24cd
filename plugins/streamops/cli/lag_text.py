"""Lags for people: a line for each stream, or one for each partition with the nearest deadline first."""

import dataclasses
from collections.abc import Container, Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from streamops.formatting import brief, left, moment
from streamops.retention import PartitionState
from streamops.retention.lag import StreamLag
from streamops.retention.lag_lines import COLUMNS, FIGURES, MOST_PARTITIONS, row, summary
from streamops.retention.lag_lines import rest as rest
from streamops.verdict import Verdict

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
            left(lag.act_by, lag.at),
            Text(lag.reason),
        )
    return table


def lag_heading(lag: StreamLag) -> Iterator[Text]:
    """The verdict on one stream, in words."""
    yield Text.assemble(f"{lag.stream}: ", (str(lag.verdict), STYLES[lag.verdict]), f": {lag.reason}")
    yield from (Text(f"  {line}") for line in summary(lag))


def partition_table(lag: StreamLag) -> Table:
    """One partition a line."""
    table = _table(COLUMNS, figures=FIGURES)
    for one in lag.partitions[:MOST_PARTITIONS]:
        partition, standing, *cells = map(Text, row(one))
        standing.stylize(_style(one.coverage.standing))
        table.add_row(partition, standing, *cells)
    return table


def lag_fields(lag: StreamLag) -> dict[str, object]:
    """As JSON has it, with what is worked out from the partitions."""
    return {
        **_plain(lag),
        "lag": lag.lag,
        "behind": lag.behind,
        "deadline": lag.deadline,
        "act_by": lag.act_by,
        "partitions": [
            {**dataclasses.asdict(one), "lag": one.coverage.lag, "act_by": one.act_by} for one in lag.partitions
        ],
    }


def _plain(lag: StreamLag) -> dict[str, object]:
    """Without the earlier looks: they are thousands of figures, and have their own file."""
    fields = dataclasses.asdict(dataclasses.replace(lag, past=None))
    del fields["past"]
    return fields


def _style(standing: PartitionState) -> str:
    if standing.is_lossy:
        return "bold red"
    return "magenta" if standing is PartitionState.UNKNOWN else ""


def _table(columns: Sequence[str], *, figures: Container[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in figures else "left", overflow="fold")
    return table
