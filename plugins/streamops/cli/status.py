"""`streamops status`: where the streams stand."""

from collections.abc import Sequence

import typer

from streamops.cli.look import statuses_of
from streamops.cli.options import AsJson, Streams, session_of
from streamops.cli.output import output
from streamops.settings import SettingsProblem
from streamops.supervisor.status import AS_WANTED, StreamStatus


def status(context: typer.Context, streams: Streams = None, as_json: AsJson = False) -> None:
    """Show where streams stand. Reads only.

    The age of the last beat is told by the driver's own clock, for information. One look can't tell a hung driver
    from a living one: whoever supervises the stream does.

    Exit code 0: all run, or are stopped on purpose. 2: settings of a stream are wrong. 3: one waits for its next
    attempt or was never started. 4: one is parked, blocked or unknown, or needs a person.
    """
    session = session_of(context)
    settings = session.settings()
    specs = [settings.stream(name) for name in dict.fromkeys(streams)] if streams else settings.streams
    problems = () if streams else settings.errors
    found = statuses_of(specs, session.look, patience=session.wiring.patience)
    output(as_json=as_json).statuses(found, problems)
    raise typer.Exit(exit_code(found, problems))


def exit_code(statuses: Sequence[StreamStatus], problems: Sequence[SettingsProblem]) -> int:
    """The worst of all streams; a stream with wrong settings may run well, but nobody can look after it."""
    if any(status.needs_attention for status in statuses):
        return 4
    if problems:
        return 2
    return 3 if any(status.phase not in AS_WANTED for status in statuses) else 0
