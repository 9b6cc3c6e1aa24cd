"""`streamops estimate …`: latency, state, watermark and retention, from real progress or from figures by hand."""

import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

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
from streamops.cli.options import AsJson, duration, session_of
from streamops.cost.estimates import included_by, latency, retention, retention_at_pace, watermark_for
from streamops.cost.figure import Origin, lasting
from streamops.cost.state import BATCHES, dropped_late, operator_states, state_size
from streamops.durations import EXPECTED, parse_duration
from streamops.errors import SettingsError

LONGEST = timedelta(days=3650)

PERCENT = "PERCENT"

_NUMBER = re.compile(r"\d{1,15}(\.\d{1,9})?")


def span(text: str) -> timedelta:
    """`30s`, `5m`, or a bare number of seconds; ten years at most."""
    found = duration(text)
    if found > LONGEST:
        raise typer.BadParameter(f"{text!r} is longer than {LONGEST.days} days")
    return found


def amount(text: str) -> float:
    """A number above zero: `1500`, `0.5`."""
    if not _NUMBER.fullmatch(text) or float(text) <= 0:
        raise typer.BadParameter(f"{text!r} is not a number above 0, such as 1500 or 0.5")
    return float(text)


def share(text: str) -> float:
    """A share in percent: `99`, `99.9%`; above 0, 100 at most."""
    number = text.removesuffix("%").rstrip()
    if not _NUMBER.fullmatch(number) or not 0 < float(number) <= 100:
        raise typer.BadParameter(f"{text!r} is not a share in percent, above 0 and 100 at most, such as 99.9")
    return float(number) / 100


MOST_BYTES = 16 * 1024 * 1024
"""Two million delays, read in some seconds: far more than a share needs."""

_SECONDS = re.compile(r"\d{1,12}(\.\d{1,12})?")
_SHOWN = 60


def read_delays(path: Path) -> tuple[timedelta, ...]:
    """The delays in a file; blank lines and those that begin with `#` are passed over. SettingsError with the line."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise SettingsError(f"--sample {path}: it is not a plain file: write the delays to one")
        if found.st_size > MOST_BYTES:
            raise SettingsError(
                f"--sample {path}: more than {MOST_BYTES >> 20} MiB: take a sample of it, `shuf -n 100000`"
            )
        text = path.read_text(errors="replace")
    except OSError as error:
        raise SettingsError(f"--sample {path}: it can't be read: {error.strerror}") from error
    delays = tuple(_each(path, text))
    if not delays:
        raise SettingsError(
            f"--sample {path}: there is no delay in it: one a line is expected, `12.5` (seconds) or `3m`"
        )
    return delays


def _each(path: Path, text: str) -> Iterator[timedelta]:
    for number, line in enumerate(text.split("\n"), start=1):
        word = line.strip()
        if word and not word.startswith("#"):
            try:
                yield delay(word)
            except ValueError as error:
                raise SettingsError(
                    f"--sample {path}: line {number}: {word[:_SHOWN]!r}: {error}; expected: seconds (`12.5`) or {EXPECTED}"
                ) from error


def delay(word: str) -> timedelta:
    """One delay. ValueError that says what is wrong with it."""
    if word.startswith("-"):
        raise ValueError("a delay is not negative: an event with a later time than its arrival has 0")
    if _SECONDS.fullmatch(word):
        seconds = float(word)
        found = timedelta(seconds=seconds) if seconds <= LONGEST.total_seconds() else timedelta.max
    else:
        try:
            found = parse_duration(word)
        except ValueError as error:
            raise ValueError("no delay") from error
    if found > LONGEST:
        raise ValueError(f"longer than {LONGEST.days} days")
    return found


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
