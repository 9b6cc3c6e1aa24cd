"""`streamops plan`: what Spark would do if a declared stream were started now."""

import typer

from streamops.cli.options import AsJson, Stream, session_of
from streamops.cli.output import output
from streamops.operations.forecast import outlook_of

REFUSED = 4


def plan(context: typer.Context, stream: Stream, as_json: AsJson = False) -> None:
    """Show what Spark would do if the stream were started now: the next batch, what runs again, what would fail.

    It reads the checkpoint in depth, needs no Spark, and changes nothing. A living driver is no obstacle: the plan is then
    for the moment after its end.

    Exit code 0: a supervisor starts it. 4: it would refuse, or wait for what it can't read.
    """
    session = session_of(context)
    desk = session.desk(session.spec(stream))
    outlook = outlook_of(desk.sight(), desk.spec)
    output(as_json=as_json).outlook(outlook)
    raise typer.Exit(REFUSED if outlook.is_refused else 0)
