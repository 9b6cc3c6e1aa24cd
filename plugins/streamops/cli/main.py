"""`streamops`: the entry point. The one place that turns errors into a message and an exit code.

0 fine, 1 failed, 2 usage or settings, 3 verdict warning, 4 verdict unknown or critical.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamops import __version__
from streamops.cli.lazy_commands import LazyCommands
from streamops.cli.stderr import say
from streamops.errors import SettingsError, StreamOpsError

if TYPE_CHECKING:
    from streamops.cli.wiring import Wiring

app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Operations for Spark Structured Streaming: look at streams, stop and start them, keep them running.",
    epilog="Exit codes: 0 fine, 1 failed, 2 usage or settings, 3 warning, 4 unknown or critical.",
)


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
    # What `--help` and `--version` do without: it brings the clients of all that commands look at.
    from streamops.cli.wiring import Session, Wiring

    wiring = context.obj if isinstance(context.obj, Wiring) else Wiring()
    context.obj = Session(config_path, wiring)


def main(argv: Sequence[str] | None = None, *, wiring: "Wiring | None" = None) -> int:
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
