"""The commands of `streamops`, each loaded when it is asked for: `--help` needs none of them, and no command needs the others."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "init": ("streamops.cli.init:init", "Make a folder a state root."),
    "status": ("streamops.cli.status:status", "Show where streams stand."),
    "check": ("streamops.cli.check:check", "Judge a checkpoint, declared or not."),
    "plan": ("streamops.cli.plan:plan", "Show what a start of a stream would do now."),
    "lag": ("streamops.cli.lag:lag", "Show what is unread, and until when it is there."),
    "stop": ("streamops.cli.lifecycle:stop", "Let a stream finish its batch and stand still."),
    "start": ("streamops.cli.lifecycle:start", "Let a stopped stream run again."),
    "restart": ("streamops.cli.lifecycle:restart", "Replace a stream's driver."),
    "release": ("streamops.cli.lifecycle:release", "Let a parked stream run again."),
    "adopt": ("streamops.cli.lifecycle:adopt", "Take over a checkpoint with a history of others."),
    "forget": ("streamops.cli.forget:forget", "Remove a stream from the registry."),
    "catchup": ("streamops.cli.catchup:catchup", "Let a stream read all that waits, and end."),
    "backfill": ("streamops.cli.backfill:backfill", "Read a range of a source once more."),
    "batches": ("streamops.cli.batches:batches", "Show what batches cost, step by step."),
    "dlq": ("streamops.cli.dlq:dlq", "Show or replay records that could not be parsed."),
    "history": ("streamops.cli.history:history", "Show who did what to a stream, when and why."),
    "logs": ("streamops.cli.logs:logs", "Show the end of a driver's log."),
    "supervise": ("streamops.cli.supervise:supervise", "Keep streams running, without Airflow."),
    "reconcile": ("streamops.cli.reconcile:reconcile", "Compare what is declared with what runs."),
    "estimate": ("streamops.cli.estimate:app", "Estimate latency, state, watermark and retention."),
    "config": ("streamops.cli.config:app", "Check the settings file."),
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
