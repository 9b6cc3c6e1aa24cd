"""`streamops status`: where the streams stand."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from streamops.cli.observe import statuses_of
from streamops.cli.options import AsJson, Streams, session_of
from streamops.cli.output import output
from streamops.status import AS_WANTED, Phase, StreamStatus

if TYPE_CHECKING:
    from streamops.settings import SettingsProblem


def status(
    context: typer.Context,
    streams: Streams = None,
    drift: Annotated[
        bool,
        typer.Option("--drift", help="How what runs differs from what is declared, instead.", show_default=False),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show where streams stand. Reads only.

    The age of the last beat is told by the driver's own clock, for information. One look can't tell a hung driver
    from a living one: whoever supervises the stream does. A stream that is meant to run and that nobody supervises
    needs a person, however well its driver does: nobody would restart it. Backfills of a stream that are not finished
    are told of below the table; `streamops backfill STREAM --list` shows all.

    Exit code 0: all run, or are stopped on purpose. 2: settings of a stream are wrong. 3: one waits for its next
    attempt, was never started, has odd records in its log, or a backfill that nobody carries on. 4: one is parked,
    blocked, unknown or unattended, or needs a person.

    With --drift: setting by setting, job file and library. Exit code 3: a restart would bring something else. 4: that
    could not be told.
    """
    session = session_of(context)
    settings = session.settings()
    specs = [settings.stream(name) for name in dict.fromkeys(streams)] if streams else settings.streams
    problems = [problem for problem in settings.errors if not streams or problem.stream in ("", *streams)]
    found = statuses_of(
        specs,
        session.look,
        around=session.surroundings,
        backfills=None if drift else session.backfills,
        patience=session.wiring.patience,
    )
    if drift:
        output(as_json=as_json).drifts(found, problems)
        raise typer.Exit(drift_exit_code(found, problems))
    output(as_json=as_json).statuses(found, problems)
    raise typer.Exit(exit_code(found, problems))


def exit_code(statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> int:
    """The worst of all streams; a stream with wrong settings may run well, but nobody can look after it."""
    if any(status.needs_attention for status in statuses):
        return 4
    if problems:
        return 2
    return 3 if any(_is_odd(status) for status in statuses) else 0


def _is_odd(status: StreamStatus) -> bool:
    """Whether somebody should look at it by day."""
    has_left = any(backfill.needs_a_person for backfill in status.backfills)
    return status.phase not in AS_WANTED or status.has_odd_records or has_left


def drift_exit_code(statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> int:
    """Whether everything runs as declared, as far as that can be told."""
    if any(status.drift is None and status.phase is Phase.UNKNOWN for status in statuses):
        return 4
    if problems:
        return 2
    return 3 if any(status.is_declared_differently for status in statuses) else 0
