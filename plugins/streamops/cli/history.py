"""`streamops history`: who did what, when, why, and what came of it."""

from typing import Annotated

import typer

from streamops.cli.options import AsJson, Stream, session_of
from streamops.cli.output import output


def history(
    context: typer.Context,
    stream: Stream,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many entries, the newest ones.")] = 50,
    acts: Annotated[
        bool, typer.Option("--acts", help="Only what somebody asked for, no starts and ends.", show_default=False)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show who did what to a stream, when, why, and what came of it.

    It is read from the end of the control log, however long that is. A record that can't be read is shown as such.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    output(as_json=as_json).history(desk.history(limit=limit, acts_only=acts))
