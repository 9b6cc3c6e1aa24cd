"""`streamops config …`: what the settings file declares."""

import typer

from streamops.cli.options import AsJson, session_of
from streamops.cli.output import output
from streamops.settings import load_settings

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The settings file.")


@app.callback()
def _group() -> None:
    """The settings file."""


@app.command()
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """Show which declarations are right, and what is wrong.

    Exit code 0: all are. 2: something is wrong; streams without problems can be started all the same. What works and should be
    declared otherwise is told and changes no exit code.
    """
    settings = load_settings(session_of(context).path)
    output(as_json=as_json).settings(settings)
    raise typer.Exit(2 if settings.problems else 0)
