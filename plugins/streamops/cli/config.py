"""`streamops config …`: what the settings file declares."""

import typer

from streamops.cli.options import AsJson, session_of
from streamops.cli.output import output
from streamops.settings import settings_in_force

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The settings file.")


@app.callback()
def _group() -> None:
    """The settings file."""


@app.command()
def check(context: typer.Context, as_json: AsJson = False) -> None:
    """Show which declarations are right, and what is wrong.

    A stream whose declaration is wrong, or gone without a stop, goes on as it was declared last, and that is told too.

    Exit code 0: all are. 2: something is wrong; streams without problems can be started all the same. What works and should be
    declared otherwise is told and changes no exit code.
    """
    settings = settings_in_force(session_of(context).path)
    output(as_json=as_json).settings(settings)
    raise typer.Exit(2 if settings.problems else 0)
