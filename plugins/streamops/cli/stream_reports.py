"""`streamops status`, `lag`, `plan`, `history`, `logs`: the commands that read streams and change nothing."""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from streamops.backfill.status import BackfillStatus
from streamops.bounded_pool import WorkLimits, work_on
from streamops.cli.options import AsJson, Stream, Streams, duration, session_of
from streamops.cli.wiring import Session
from streamops.clock import Clock
from streamops.control.records import DriverEnded, DriverHandle, Record, Submitted
from streamops.errors import LaunchError, ObjectNotFoundError, SettingsError, StreamOpsError
from streamops.explanation import explain as explain_stream
from streamops.fleet.newest_verdicts import LIMITS, newest_verdicts
from streamops.kafka.broker import access_of
from streamops.operations.snapshot import ActContext, outlook_of
from streamops.reconcile.attendance import with_idle_dag
from streamops.reconcile.finding import read_book
from streamops.retention.observe_lag import LagPorts, lags_of
from streamops.spec import StreamSpec
from streamops.status import AS_WANTED, GETTING_ON, Phase, StreamStatus, stream_status
from streamops.supervision.endings import TAIL_LIMIT, open_log, tail, text_lines
from streamops.supervision.supervisor import Look
from streamops.terminal.output import output
from streamops.terminal.results import DriverLog
from streamops.verdict import StreamVerdicts, Verdict

if TYPE_CHECKING:
    from streamops.settings import SettingsProblem


LONGEST_REPORT = timedelta(minutes=10)
"""For all streams."""


def statuses_of(
    specs: Sequence[StreamSpec],
    look: Callable[[StreamSpec], Look],
    *,
    around: Callable[[StreamSpec], ActContext] | None = None,
    backfills: Callable[[StreamSpec], tuple[BackfillStatus, ...]] | None = None,
    patience: timedelta,
) -> tuple[StreamStatus, ...]:
    """The status of each stream, in order; with `around`, also who looks after it and running against declared; with
    `backfills`, those of its backfills that are not finished.

    One whose look takes longer than `patience` is unknown.
    """

    def look_at(spec: StreamSpec) -> StreamStatus:
        status = status_of(spec, look, around)
        return replace(status, backfills=_unfinished(spec, backfills)) if backfills else status

    worked = work_on(specs, look_at, pace=WorkLimits(limit=patience, budget=LONGEST_REPORT))
    found = {one.answer.stream: one.answer for one in worked if one.answer}
    silence = f"no answer within {patience.total_seconds():.0f} s"
    return tuple(found.get(spec.name) or StreamStatus.unreachable(spec, silence) for spec in specs)


def _unfinished(
    spec: StreamSpec, backfills: Callable[[StreamSpec], tuple[BackfillStatus, ...]]
) -> tuple[BackfillStatus, ...]:
    """None where they can't be listed: the stream itself lies at the same place, and its own look tells why."""
    try:
        return tuple(one for one in backfills(spec) if one.is_unfinished)
    except StreamOpsError:
        return ()


def status_of(
    spec: StreamSpec, look: Callable[[StreamSpec], Look], around: Callable[[StreamSpec], ActContext] | None = None
) -> StreamStatus:
    """The status of one stream; unknown with the reason when the facts can't be had."""
    try:
        return stream_status(look(spec), spec, around=around(spec) if around else None)
    except StreamOpsError as error:
        return StreamStatus.unreachable(spec, str(error))
    except Exception as error:
        # Whatever is wrong with this one stream, the others are shown.
        return StreamStatus.unreachable(spec, f"{type(error).__name__}: {error}")


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

    Beside each stand the newest verdicts on its checkpoint and on what Kafka keeps for it: those of the last round of
    `streamops_checkpoint_health` and `streamops_retention_coverage`, and a fresh look where no round was made lately or
    the stream does not run.

    Exit code 0: all run, or are stopped on purpose. 2: settings of a stream are wrong. 3: one waits for its next
    attempt, was never started, has odd records in its log, an unsafe start that nobody has acknowledged, a backfill that
    nobody carries on, something that does not answer it, or a verdict that is not ok.
    4: one is parked, blocked, unknown or unattended, its DAG is paused or missing, it has a critical verdict, or needs a person.

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
    found = _with_dags(_with_verdicts(found, specs, session), session)
    output(as_json=as_json).statuses(found, problems)
    raise typer.Exit(exit_code(found, problems))


def _with_verdicts(
    statuses: Sequence[StreamStatus], specs: Sequence[StreamSpec], session: Session
) -> tuple[StreamStatus, ...]:
    """Without those of streams that can't be looked at: what keeps one look from an answer keeps the next one."""
    running_since = {
        status.stream: status.claimed_at
        for status in statuses
        if status.claimed_at and status.phase in GETTING_ON and not status.quiet
    }
    read = {status.stream for status in statuses if status.is_read}
    verdicts = newest_verdicts([spec for spec in specs if spec.name in read], running_since, session.verdict_ports())
    return tuple(status.with_verdicts(verdicts.get(status.stream, StreamVerdicts())) for status in statuses)


def _with_dags(statuses: Sequence[StreamStatus], session: Session) -> tuple[StreamStatus, ...]:
    """With what the DAG `streamops_reconcile` has heard of their DAGs a moment ago; a command line can't ask Airflow."""
    settings = session.settings()
    (book,) = work_on(
        (settings.state_root,), lambda address: read_book(settings.storage_for(address), address), pace=LIMITS
    )
    told = book.answer.recently_told(session.clock.now()) if book.answer else None
    tasks = {one.stream: one.task for one in told.idle} if told else {}
    return tuple(
        with_idle_dag(status, tasks[status.stream]) if status.stream in tasks else status for status in statuses
    )


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
    is_ill = status.verdict not in (None, Verdict.OK)
    is_marked = status.has_odd_records or bool(status.unsafe_starts) or bool(status.dag_trouble)
    return status.phase not in AS_WANTED or bool(status.waits_for) or is_marked or has_left or is_ill


def drift_exit_code(statuses: Sequence[StreamStatus], problems: Sequence["SettingsProblem"]) -> int:
    """Whether everything runs as declared, as far as that can be told."""
    if any(status.drift is None and status.phase is Phase.UNKNOWN for status in statuses):
        return 4
    if problems:
        return 2
    return 3 if any(status.is_declared_differently for status in statuses) else 0


EXIT_CODES = {Verdict.OK: 0, Verdict.WARNING: 3, Verdict.UNKNOWN: 4, Verdict.CRITICAL: 4}


def lag(
    context: typer.Context,
    streams: Streams = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All declared streams, one line each.", show_default=False)
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what streams have not read yet, whether it is still there, and until when.

    It compares the checkpoint with the broker, so it tells the same of a living and of a dead query. The deadline is the
    moment at which the first record that waits may be deleted; act-by leaves half an hour for a restart, and the time to
    catch up. A query that was seen to keep pace, by the looks that the DAG streamops_retention_coverage keeps, has no
    deadline. Of a stream that reads a Delta table or files, which have no such deadline, it tells the versions or the files
    that are not read yet. Credentials come from the properties file that STREAMOPS_KAFKA_PROPERTIES names. Reads only.

    Exit code 0: ok. 3: somebody must act within twelve hours, or a topic keeps its records for less than the outage that is
    declared as tolerated. 4: records are lost or act-by is over, or the answer is not known.
    """
    session = session_of(context)
    if not streams and not everything:
        raise SettingsError("which stream? `streamops lag STREAM`, or `streamops lag --all`")
    settings = session.settings()
    specs = list(settings.streams) if everything else [settings.stream(name) for name in dict.fromkeys(streams or ())]
    doors = LagPorts(
        storage_for=settings.storage_for,
        access_for=lambda spec: access_of(spec.kafka.bootstrap_servers, spec.kafka.options),
        broker_for=lambda access: session.wiring.broker(access, session.clock),
        clock=session.clock,
    )
    found = lags_of(specs, doors=doors)
    output(as_json=as_json).lags(found, in_detail=not everything)
    worst = max((EXIT_CODES[one.verdict] for one in found), default=0)
    raise typer.Exit(worst)


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


def explain(
    context: typer.Context,
    stream: Stream,
    last: Annotated[
        timedelta,
        typer.Option(metavar="DURATION", parser=duration, help="How far back, for example 90m, 6h or 2d."),
    ] = "6h",  # type: ignore[assignment]
    as_json: AsJson = False,
) -> None:
    """Tell the last hours of a stream in five sentences: where it stands, its drivers, its batches, what people asked for,
    and its data.

    The first thing to read when one is called. Reads only: the control log from its end, one look as `status` takes it, and
    the newest verdicts.

    Exit code: that of `streamops status STREAM`.
    """
    session = session_of(context)
    spec, now = session.spec(stream), session.clock.now()
    found = statuses_of((spec,), session.look, around=session.surroundings, patience=session.wiring.patience)
    (status,) = _with_dags(_with_verdicts(found, (spec,), session), session)
    records = session.desk(spec).records_since(now - last) if status.is_read else ()
    output(as_json=as_json).explanation(explain_stream(status, records, now=now, window=last))
    raise typer.Exit(exit_code((status,), ()))


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
