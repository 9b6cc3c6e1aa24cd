"""`streamops`: the entry point. The one place that turns errors into a message and an exit code.

0 fine, 1 failed, 2 usage or settings, 3 verdict warning, 4 verdict unknown or critical.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from streamops import __version__
from streamops.cli import (
    backfill,
    batches,
    catchup,
    check,
    config,
    dlq,
    estimate,
    forget,
    history,
    init,
    lag,
    logs,
    plan,
    reconcile,
    requests,
    status,
    supervise,
)
from streamops.cli.talk import say
from streamops.cli.wiring import Session, Wiring
from streamops.errors import SettingsError, StreamOpsError
from streamops.settings import default_settings_path

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Operations for Spark Structured Streaming: look at streams, stop and start them, keep them running.",
    epilog="Exit codes: 0 fine, 1 failed, 2 usage or settings, 3 warning, 4 unknown or critical.",
)
app.command()(init.init)
app.command()(status.status)
app.command()(check.check)
app.command()(plan.plan)
app.command()(lag.lag)
app.command()(requests.stop)
app.command()(requests.start)
app.command()(requests.restart)
app.command()(requests.release)
app.command()(requests.adopt)
app.command()(forget.forget)
app.command()(catchup.catchup)
app.command()(backfill.backfill)
app.command()(batches.batches)
app.command()(dlq.dlq)
app.command()(history.history)
app.command()(logs.logs)
app.command()(supervise.supervise)
app.command()(reconcile.reconcile)
app.add_typer(estimate.app, name="estimate")
app.add_typer(config.app, name="config")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _begin(
    context: typer.Context,
    config_path: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="PATH",
            help="The settings file. Default: $STREAMOPS_CONFIG, or else config/streams.yaml.",
            show_default=False,
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True, show_default=False),
    ] = False,
) -> None:
    wiring = context.obj if isinstance(context.obj, Wiring) else Wiring()
    context.obj = Session(config_path or default_settings_path(), wiring)


def main(argv: Sequence[str] | None = None, *, wiring: Wiring | None = None) -> int:
    """Run one command line; its exit code."""
    options: dict[str, Any] = {"args": None if argv is None else list(argv), "obj": wiring, "prog_name": "streamops"}
    try:
        app(**options)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except StreamOpsError as error:
        say(f"error: {error}")
        return 2 if isinstance(error, SettingsError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
