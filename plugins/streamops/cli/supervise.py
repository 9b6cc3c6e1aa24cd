"""`streamops supervise`: the same supervision as Airflow's, without Airflow."""

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import Annotated

import typer

from streamops.cli.options import AsJson, Streams, duration, session_of
from streamops.cli.stream_reports import statuses_of
from streamops.fleet.supervise_all import Supervision
from streamops.terminal.output import output


def supervise(
    context: typer.Context,
    streams: Streams = None,
    once: Annotated[
        bool, typer.Option("--once", help="One round over all streams, then show where they stand.", show_default=False)
    ] = False,
    interval: Annotated[
        timedelta,
        typer.Option(parser=duration, metavar="DURATION", help="Time between two looks at a stream: 2, 2s, 500ms."),
    ] = "2s",  # type: ignore[assignment]  # Typer parses defaults as well.
    as_json: AsJson = False,
) -> None:
    """Keep declared streams running, without Airflow.

    It starts, watches, restarts and parks them. Several supervisors of one stream do no harm: the control log lets one
    act at a time. The settings file is read again when it changes: new streams are picked up, one that left it is supervised
    on until it is stopped, and what can't be read goes on as it was declared last. SIGTERM and Ctrl-C end the supervision,
    never the streams.

    With --once, as from cron, a hung driver is not recognised: that takes eyes that stay on it. The exit code is then 1
    when a stream could not be settled, 2 when settings are wrong.
    """
    if interval <= timedelta(0):
        raise typer.BadParameter("--interval must be positive")
    if as_json and not once:
        raise typer.BadParameter(
            "--json shows where the streams stand after --once; without it there is nothing to show"
        )
    session = session_of(context)
    supervision = Supervision(session.path, session.wiring, names=frozenset(streams or ()), interval=interval)
    with _logging_to_stderr():
        if not once:
            with _ended_by_signals(supervision):
                supervision.run()
            return
        are_settled = supervision.run_once()
        around, patience = session.surroundings, session.wiring.patience
        found = statuses_of(supervision.specs, session.look, around=around, patience=patience)
        output(as_json=as_json).statuses(found, supervision.problems)
        raise typer.Exit(1 if not are_settled else 2 if supervision.problems else 0)


@contextmanager
def _ended_by_signals(supervision: Supervision) -> Iterator[None]:
    """SIGTERM and SIGINT end the supervision; only a main thread can be told so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        supervision.end(signal.Signals(number).name)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _logging_to_stderr() -> Iterator[None]:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("streamops")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
