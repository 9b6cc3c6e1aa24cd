"""Arguments and options that several commands share."""

import re
from datetime import timedelta
from typing import Annotated

import typer

from streamops.cli.wiring import Session
from streamops.control.texts import REASON_LIMIT, reason_trouble
from streamops.durations import parse_duration
from streamops.errors import SettingsError


def session_of(context: typer.Context) -> Session:
    """The session of this call, as `main` made it."""
    session = context.obj
    if not isinstance(session, Session):
        raise AssertionError("a command was called without a session")
    return session


def duration(text: str) -> timedelta:
    """`30s`, `5m`, or a bare number of seconds."""
    try:
        return timedelta(seconds=int(text)) if re.fullmatch(r"\d{1,9}", text) else parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not {error}") from error


def reason_text(text: str) -> str:
    """What is said for the record, refused where it is too long. Whether it may be left out is for the command to say."""
    if trouble := reason_trouble(text.strip()):
        raise typer.BadParameter(trouble)
    return text.strip()


def given(reason: str) -> str:
    """The reason of what can't be done without one; SettingsError for none."""
    if not reason:
        raise SettingsError("--reason is empty: say why, others will read it")
    return reason


Stream = Annotated[str, typer.Argument(metavar="STREAM", help="Name of a declared stream.", show_default=False)]
Streams = Annotated[
    list[str] | None,
    typer.Argument(metavar="STREAM", help="Names of declared streams; all when none is given.", show_default=False),
]
Reason = Annotated[
    str,
    typer.Option(
        "--reason",
        parser=reason_text,
        metavar="TEXT",
        help=f"Why, for the record: others will read it. At most {REASON_LIMIT} characters.",
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.", show_default=False)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and do nothing.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON.", show_default=False)]
Force = Annotated[
    bool,
    typer.Option("--force", help="Kill the driver at once; its batch runs again.", show_default=False),
]
ConfirmStopped = Annotated[
    bool,
    typer.Option(
        "--confirm-stopped",
        help="Vouch that no program outside of streamops runs this query any more, nor is started again by a unit or a cron"
        " entry. If one does, both write: rows are doubled, and either may fail.",
        show_default=False,
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it has come about.", show_default=False)]
WaitLimit = Annotated[
    timedelta | None,
    typer.Option(
        parser=duration,
        metavar="DURATION",
        help="Wait, but no longer than this: 90, 90s, 5m. Default: what a graceful stop and a start may take.",
        show_default=False,
    ),
]
