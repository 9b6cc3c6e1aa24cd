"""What can be said of a backfill at the terminal."""

from datetime import timedelta
from typing import Annotated

import typer

from streamops.backfill.asked_text import EXPECTED
from streamops.backfill.backfill_service import CHUNK
from streamops.cli.options import duration

From = Annotated[
    str,
    typer.Option(
        "--from", metavar="TIME|OFFSETS|VERSION|FILES", help=f"The first record: {EXPECTED}.", show_default=False
    ),
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="TIME|OFFSETS|VERSION",
        help="Behind the last record, as --from; the last version; nothing for files.",
        show_default=False,
    ),
]
Slack = Annotated[
    timedelta,
    typer.Option(
        parser=duration,
        metavar="DURATION",
        help="How late a record of the time range may have come: read on so far, and leave out what is too young.",
    ),
]
Table = Annotated[
    str, typer.Option(metavar="PATH", help="Write there instead of the stream's own table.", show_default=False)
]
DeadLetters = Annotated[
    str,
    typer.Option(
        metavar="PATH", help="Where records go that can't be parsed. Default: beside the table.", show_default=False
    ),
]
Chunk = Annotated[
    int, typer.Option(metavar="N", min=1, help=f"Records of a step at most, or versions or files. Default: {CHUNK}.")
]
AcceptExpired = Annotated[
    bool,
    typer.Option("--accept-expired", help="Go on although records of the range are deleted.", show_default=False),
]
Approximate = Annotated[
    bool,
    typer.Option(
        "--approximate",
        help="Run a job that keeps state, though it sees the range alone.",
        show_default=False,
    ),
]
Resume = Annotated[
    str, typer.Option("--resume", metavar="ID", help="Go on with a backfill, or watch it.", show_default=False)
]
ConfirmDead = Annotated[
    int | None,
    typer.Option(
        "--confirm-dead",
        metavar="EPOCH",
        min=1,
        help="With --resume or --stop: vouch for the end of this epoch's driver, where no machine can tell. Make sure first.",
        show_default=False,
    ),
]
AcceptUnsafe = Annotated[
    bool,
    typer.Option(
        "--accept-unsafe",
        help="With --resume: let the next start go ahead although it may lose or repeat data.",
        show_default=False,
    ),
]
End = Annotated[
    str, typer.Option("--stop", metavar="ID", help="Stop a backfill between two steps.", show_default=False)
]
Listed = Annotated[bool, typer.Option("--list", help="Show the stream's backfills.", show_default=False)]
