"""`streamops`: the entry point, and each command loaded when it is asked for. The one place that turns errors into an exit code.

0 fine, 1 failed, 2 usage or settings, 3 verdict warning, 4 verdict unknown or critical.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from streamops import __version__
from streamops.errors import SettingsError, StreamOpsError
from streamops.terminal.console import say

if TYPE_CHECKING:
    from streamops.cli.wiring import Wiring


COMMANDS = {
    "init": ("streamops.cli.administration:init", "Make a folder a state root."),
    "status": ("streamops.cli.stream_reports:status", "Show where streams stand."),
    "check": ("streamops.cli.check:check", "Judge a checkpoint, declared or not."),
    "plan": ("streamops.cli.stream_reports:plan", "Show what a start of a stream would do now."),
    "lag": ("streamops.cli.stream_reports:lag", "Show what is unread, and until when it is there."),
    "stop": ("streamops.cli.lifecycle:stop", "Let a stream finish its batch and stand still."),
    "start": ("streamops.cli.lifecycle:start", "Let a stopped stream run again."),
    "restart": ("streamops.cli.lifecycle:restart", "Replace a stream's driver."),
    "release": ("streamops.cli.lifecycle:release", "Let a parked stream run again."),
    "acknowledge": ("streamops.cli.lifecycle:acknowledge", "Say that a stream's unsafe starts are known."),
    "adopt": ("streamops.cli.lifecycle:adopt", "Take over a checkpoint with a history of others."),
    "forget": ("streamops.cli.administration:forget", "Remove a stream from the registry."),
    "catchup": ("streamops.cli.catchup:catchup", "Let a stream read all that waits, and end."),
    "backfill": ("streamops.cli.backfill:backfill", "Read a range of a source once more."),
    "batches": ("streamops.cli.batches:batches", "Show what batches cost, step by step."),
    "dlq": ("streamops.cli.dlq:dlq", "Show or replay records that could not be parsed."),
    "history": ("streamops.cli.stream_reports:history", "Show who did what to a stream, when and why."),
    "explain": ("streamops.cli.stream_reports:explain", "Tell the last hours of a stream in five sentences."),
    "logs": ("streamops.cli.stream_reports:logs", "Show the end of a driver's log."),
    "supervise": ("streamops.cli.supervise:supervise", "Keep streams running, without Airflow."),
    "reconcile": ("streamops.cli.reconcile:reconcile", "Compare what is declared with what runs."),
    "estimate": ("streamops.cli.estimate:app", "Estimate latency, state, watermark and retention."),
    "config": ("streamops.cli.administration:app", "Check the settings file."),
}
"""By name, in the order of the help: the function or the group of commands, and a line for the overview."""


class LazyCommands(TyperGroup):
    """A group that imports a command's module when that command is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = typer.main.get_command(_group_of(getattr(import_module(module), name)))
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in COMMANDS.items()])


def _group_of(loaded: Any) -> typer.Typer:
    if isinstance(loaded, typer.Typer):
        return loaded
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command()(loaded)
    return alone


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
