"""`streamops estimate …`: latency, state, watermark and retention, from real progress or from figures by hand."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from streamops.cli.delay_sample import read_delays
from streamops.cli.estimate_answer import EstimateAnswer, show
from streamops.cli.estimate_figures import (
    growth_of,
    interval_of,
    known_of,
    lateness_of,
    outage_of,
    processing_of,
    rate_of,
    restart_of,
    row_of,
    throughput_figure,
    window_of,
)
from streamops.cli.estimate_options import PERCENT, amount, share, span
from streamops.cli.options import AsJson, session_of
from streamops.cost.delays import included_by, watermark_for
from streamops.cost.figure import Origin, lasting
from streamops.cost.latency import latency
from streamops.cost.measured import BATCHES, dropped_late
from streamops.cost.retention import retention, retention_at_pace
from streamops.cost.state import operator_states, state_size
from streamops.errors import SettingsError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Estimates with their inputs: by hand where an option gives them, else as declared or measured of a STREAM.",
)

StreamName = Annotated[
    str, typer.Argument(metavar="STREAM", help="A declared stream that has run batches.", show_default=False)
]


def _lasting(name: str, text: str) -> Any:
    return typer.Option(name, parser=span, metavar="DURATION", help=text, show_default=False)


def _amount(name: str, text: str, *, metavar: str = "N") -> Any:
    return typer.Option(name, parser=amount, metavar=metavar, help=text, show_default=False)


Interval = Annotated[timedelta | None, _lasting("--interval", "The trigger interval. Default: as declared.")]
Processing = Annotated[timedelta | None, _lasting("--processing", "Of a batch. Default: 95 % of the last ones.")]
Rate = Annotated[float | None, _amount("--rate", "Records that come in a second. Default: as measured.")]
Window = Annotated[timedelta | None, _lasting("--window", "How long an event belongs to its window.")]
Lateness = Annotated[timedelta | None, _lasting("--lateness", "The delay of the watermark. Default: none.")]
Bytes = Annotated[float | None, _amount("--bytes", "Of a row of state. Default: as measured.", metavar="BYTES")]
Sample = Annotated[
    Path | None,
    typer.Option("--sample", metavar="FILE", help="Delays, one a line: 12.5 (seconds) or 3m.", show_default=False),
]
Watermark = Annotated[timedelta | None, _lasting("--watermark", "What share of the events does it let in?")]
Share = Annotated[
    float | None,
    typer.Option(
        "--share", parser=share, metavar=PERCENT, help="What watermark lets in so many: 99.9.", show_default=False
    ),
]
Outage = Annotated[timedelta | None, _lasting("--outage", "The longest to be tolerated. Default: as declared.")]
Restart = Annotated[timedelta | None, _lasting("--restart", "To see the alarm and start the query. Default: 30m.")]
CatchUp = Annotated[timedelta | None, _lasting("--catch-up", "Default: by rate and throughput.")]
ThroughputOption = Annotated[
    float | None, _amount("--throughput", "Records a second that the query can read. Default: as measured.")
]


@app.callback()
def _group() -> None:
    """Estimates with their inputs."""


@app.command("latency")
def latency_command(
    context: typer.Context,
    stream: StreamName = "",
    interval: Interval = None,
    processing: Processing = None,
    as_json: AsJson = False,
) -> None:
    """How long a record takes into the sink, while the query keeps up."""
    known = known_of(session_of(context), stream)
    estimate = latency(interval_of(known, interval), processing_of(known, processing))
    show(EstimateAnswer(kind="latency", stream=stream, estimates=(estimate,)), as_json=as_json)


@app.command()
def state(
    context: typer.Context,
    stream: StreamName = "",
    rate: Rate = None,
    window: Window = None,
    lateness: Lateness = None,
    row: Bytes = None,
    as_json: AsJson = False,
) -> None:
    """How large state gets; of a STREAM also what it keeps, and where commits of state are a large part of its batches.

    That it grows without end is told by the figures of a day that the DAG streamops_checkpoint_health keeps.

    Exit code 4: nothing is known of the stream's state, and no --window was given to estimate it.
    """
    session = session_of(context)
    known = known_of(session, stream)
    answer = EstimateAnswer(
        kind="state",
        stream=stream,
        states=operator_states(known.all_queries, last=BATCHES),
        growth=growth_of(session, known),
    )
    if window is not None or not stream:
        size = state_size(rate_of(known, rate), window_of(known, window), lateness_of(lateness), row_of(known, row))
        answer = replace(answer, estimates=(size,))
    show(answer, as_json=as_json)


@app.command()
def watermark(
    context: typer.Context,
    stream: StreamName = "",
    sample: Sample = None,
    delay: Watermark = None,
    wanted: Share = None,
    as_json: AsJson = False,
) -> None:
    """What share of events a watermark lets in, or what watermark a share needs, by a sample of their delays.

    Of a STREAM it tells how many rows were dropped as too late.

    Exit code 4: of the stream no batch with state is known.
    """
    if sample is None and not stream:
        raise SettingsError("by what? `--sample FILE` with --watermark or --share, or a declared STREAM")
    if sample is not None and delay is None and wanted is None:
        raise SettingsError(
            "what is asked of the sample? --watermark DURATION (what it lets in), --share PERCENT, or both"
        )
    if sample is None and (delay is not None or wanted is not None):
        raise SettingsError("--watermark and --share are asked of a sample of delays: give --sample FILE")
    known = known_of(session_of(context), stream)
    delays = read_delays(sample) if sample else ()
    by_delay = (included_by(delays, delay),) if delay is not None else ()
    by_share = (watermark_for(delays, wanted),) if wanted is not None else ()
    answer = EstimateAnswer(
        kind="watermark",
        stream=stream,
        estimates=(*by_delay, *by_share),
        dropped=dropped_late(known.history) if stream else None,
    )
    show(answer, as_json=as_json)


@app.command("retention")
def retention_command(
    context: typer.Context,
    stream: StreamName = "",
    outage: Outage = None,
    restart: Restart = None,
    catch_up: CatchUp = None,
    rate: Rate = None,
    throughput: ThroughputOption = None,
    as_json: AsJson = False,
) -> None:
    """How long the source must keep its records, so that an outage loses none.

    Exit code 4: it is not known, or the query never catches up.
    """
    known = known_of(session_of(context), stream)
    longest, again = outage_of(known, outage), restart_of(restart)
    if catch_up is not None:
        estimate = retention(longest, again, lasting("catch-up", catch_up, Origin.GIVEN))
    else:
        comes = rate_of(known, rate)
        reads, is_most = throughput_figure(known, throughput)
        estimate = retention_at_pace(longest, again, comes, reads, is_most=is_most)
    show(EstimateAnswer(kind="retention", stream=stream, estimates=(estimate,)), as_json=as_json)
