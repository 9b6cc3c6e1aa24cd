"""Commands that other packages bring: entry points of the group `streamops.commands`, loaded when asked for."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from streamops.cli.talk import say

GROUP = "streamops.commands"


class GroupWithEntryPoints(TyperGroup):
    """The built-in commands, and behind them those of entry points; an entry point never replaces a built-in one."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = list(super().list_commands(ctx))
        return own + sorted(_found().keys() - set(own))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            return command
        entry = _found().get(cmd_name)
        return _loaded(entry) if entry else None


def _found() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _loaded(entry: EntryPoint) -> Any:
    """The command behind an entry point; None, told on stderr, when it is broken: the others must work."""
    try:
        loaded = entry.load()
        if not isinstance(loaded, typer.Typer):
            raise TypeError(f"{entry.value} is a {type(loaded).__name__}, expected a typer.Typer")
        command = typer.main.get_command(loaded)
    except Exception as error:
        say(f"warning: the command {entry.name!r} ({entry.value}) can't be loaded: {type(error).__name__}: {error}")
        return None
    command.name = entry.name
    return command
