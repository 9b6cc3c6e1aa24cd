"""`streamops logs`: what a driver has written."""

import os
import socket
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated

import typer

from streamops.cli.driver_log import DriverLog
from streamops.cli.options import AsJson, Stream, session_of
from streamops.cli.output import output
from streamops.clock import Clock
from streamops.control.records import DriverEnded, DriverHandle, Record, Submitted
from streamops.errors import LaunchError, ObjectNotFoundError
from streamops.spec import StreamSpec
from streamops.supervision.driver_log import TAIL_LIMIT, open_log, tail, text_lines

FOLLOW_POLL = timedelta(milliseconds=500)


def logs(
    context: typer.Context,
    stream: Stream,
    epoch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="The epoch; the newest submitted one by default.", show_default=False),
    ] = None,
    lines: Annotated[int, typer.Option(metavar="N", min=1, help="How many lines, from the last MiB at most.")] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is written, until Ctrl-C.", show_default=False)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the end of a driver's log.

    It lies on the host that started the driver. It is what spark-submit writes to stdout and stderr; it is emptied when
    it grows past its cap, and deleted some time after the driver has ended (`keep` of the stream).
    """
    if follow and as_json:
        raise typer.BadParameter("--follow goes on without end, --json is one document: choose one of them")
    session = session_of(context)
    spec = session.spec(stream)
    records = session.log_reader(spec).read()
    submitted = _submitted(records, spec, epoch)
    path = submitted.handle.log
    position = os.path.getsize(path) if follow and os.path.isfile(path) else 0
    try:
        found = DriverLog(stream=stream, epoch=submitted.epoch, path=path, lines=tuple(tail(path, lines)))
    except ObjectNotFoundError as error:
        why = _pruned(records, submitted, spec, session.clock.now()) or _where(submitted.handle)
        raise ObjectNotFoundError(f"stream {stream}, epoch {submitted.epoch}: {why}") from error
    shown = output(as_json=as_json)
    shown.log(found)
    if not follow:
        return
    try:
        for more in follow_log(path, position=position, clock=session.clock):
            shown.log(DriverLog(stream=stream, epoch=submitted.epoch, path=path, lines=more))
    except KeyboardInterrupt:
        return


def follow_log(path: str, *, position: int, clock: Clock) -> Iterator[tuple[str, ...]]:
    """Whole lines as they are written behind a position, for ever; from the start again when the log was emptied."""
    pending = b""
    while True:
        clock.sleep(FOLLOW_POLL)
        try:
            with open_log(path) as file:
                if file.seek(0, os.SEEK_END) < position:
                    position, pending = 0, b""
                file.seek(position)
                content = file.read(TAIL_LIMIT)
        except OSError:
            continue  # Being moved aside; it comes back with the driver's next line.
        position += len(content)
        whole, separator, pending = (pending + content).rpartition(b"\n")
        if separator:
            yield tuple(text_lines(whole + separator))


def _submitted(records: Sequence[Record], spec: StreamSpec, epoch: int | None) -> Submitted:
    bodies = [record.body for record in records if isinstance(record.body, Submitted)]
    found = [body for body in bodies if epoch in (None, body.epoch)]
    if found:
        return found[-1]
    if epoch is None:
        raise LaunchError(f"stream {spec.name}: no driver of it was ever submitted, so there is no log")
    known = f"{bodies[0].epoch} to {bodies[-1].epoch}" if bodies else "none"
    raise LaunchError(f"stream {spec.name}: epoch {epoch} was never submitted; submitted: {known}")


def _pruned(records: Sequence[Record], submitted: Submitted, spec: StreamSpec, now: datetime) -> str:
    """That the log was pruned, where `keep` no longer holds it; empty where it is gone for another reason."""
    keep, number = spec.keep, submitted.epoch
    newer = sum(isinstance(record.body, Submitted) and record.body.epoch > number for record in records)
    ended = [record.at for record in records if isinstance(record.body, DriverEnded) and record.body.epoch == number]
    if newer < keep.epochs or not ended or now - ended[-1] <= timedelta(days=keep.days):
        return ""
    return (
        f"log pruned: it ended at {ended[-1]:%Y-%m-%d %H:%M} UTC, and the last {keep.epochs} epochs and {keep.days} days"
        f" are kept (`keep` of the stream). What it failed with is on record: `streamops history {spec.name}`"
    )


def _where(handle: DriverHandle) -> str:
    """Where a log lies that is not here. A log on a shared file system is simply read, whoever's it is."""
    here = socket.gethostname()
    if not handle.log:
        return f"its launcher ({handle.launcher}) has told no place for the log"
    if handle.host and handle.host != here:
        return f"its log is {handle.log} on host {handle.host}, this is {here}: run this command there"
    return f"its log {handle.log} is gone, or lies in another container of this host"
