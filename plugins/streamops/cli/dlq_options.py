"""What can be said of dead letters at the terminal."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from streamops.cli.options import reason_text
from streamops.dead_letters import RecordPosition
from streamops.dead_letters.letter import EXPECTED_POSITIONS, positions_of

_EXPECTED = "2026-11-28T14:00+01:00 is expected"


def time_of(text: str) -> datetime:
    """A time with its zone."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no time: {_EXPECTED}") from error
    if at.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no time zone: {_EXPECTED}")
    return at.astimezone(UTC)


def asked_positions(text: str) -> frozenset[RecordPosition]:
    """Positions as the list shows them."""
    try:
        return positions_of(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}: {EXPECTED_POSITIONS} are expected") from error


Last = Annotated[int, typer.Option("--last", metavar="N", min=1, max=10_000, help="List so many, the newest.")]
Why = Annotated[
    str,
    typer.Option(
        "--reason",
        parser=reason_text,
        metavar="TEXT",
        help="With --replay and --give-up: why, for the record. Else as --only-reason.",
        show_default=False,
    ),
]
OnlyReason = Annotated[
    str,
    typer.Option("--only-reason", metavar="TEXT", help="Only those whose reason holds this text.", show_default=False),
]
Since = Annotated[
    datetime | None,
    typer.Option(
        "--since",
        parser=time_of,
        metavar="TIME",
        help="Only records from this time on, 2026-11-28T14:00+01:00.",
        show_default=False,
    ),
]
All = Annotated[
    bool, typer.Option("--all", help="Count the reasons of all that match, not of those listed.", show_default=False)
]
Replay = Annotated[
    bool, typer.Option("--replay", help="Send them to their topic again, or carry on.", show_default=False)
]
Resume = Annotated[bool, typer.Option("--resume", help="Carry the open replay on.", show_default=False)]
GiveUp = Annotated[
    bool, typer.Option("--give-up", help="End the open replay without sending the rest.", show_default=False)
]
Offsets = Annotated[
    frozenset[RecordPosition] | None,
    typer.Option(
        "--offsets",
        parser=asked_positions,
        metavar="T/P:O,…",
        help="Replay only these, as the list shows them.",
        show_default=False,
    ),
]
Again = Annotated[
    bool,
    typer.Option("--again", help="Replay also what died again after an earlier replay.", show_default=False),
]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over", help="The process that began it on another host has ended, you know that.", show_default=False
    ),
]
