"""`streamops dlq`: the records that a job could not parse."""

import json
import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from streamops.cli.dlq_replay import Replaying, ReplayRequest, answer_fields, answer_lines
from streamops.cli.options import AsJson, DryRun, Stream, Yes, reason_text, session_of
from streamops.dead_letters import RecordPosition
from streamops.dead_letters.letter import EXPECTED_POSITIONS, positions_of
from streamops.dead_letters.reading import LetterTable
from streamops.dead_letters.replay import ReplayStore, first_positions, holders
from streamops.errors import ObjectNotFoundError, SettingsError
from streamops.spec import StreamSpec
from streamops.storage.kinds import storage_for
from streamops.terminal.console import PrintableConsole, say
from streamops.terminal.dlq_text import LetterList, heading, letter_table, list_fields, reasons_among, summary_lines

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


_UNBOUNDED = 10_000


def dlq(
    context: typer.Context,
    stream: Stream,
    last: Last = 20,
    reason: Why = "",
    only_reason: OnlyReason = "",
    since: Since = None,
    everything: All = False,
    replay: Replay = False,
    resume: Resume = False,
    give_up: GiveUp = False,
    offsets: Offsets = None,
    again: Again = False,
    take_over: TakeOver = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Show the records that a stream's job could not parse, the newest first; with --replay send them again, once.

    They lie in the Delta table that the stream declares as `sink.dead_letters`. The time is the record's own. Of the table only
    the files are read that may hold the newest.

    --replay is for the time after the job was mended: it sends key and value, as they came, to the topic and partition that they
    came from, with the headers `streamops-replay` (its id) and `streamops-position` (`orders/0/17`). Whoever reads the topic gets
    them once more. What is sent is put on record first, so no dead letter is sent twice: a replay that broke off is carried on
    by the next --replay or --resume, and sends what is missing. Credentials come from the properties file that
    STREAMOPS_KAFKA_PROPERTIES names; they need the rights to read, describe and write the topic.

    Exit code 1: the replay is not at its end.
    """
    session = session_of(context)
    spec = session.spec(stream)
    acts = [name for name, is_asked in (("replay", replay), ("resume", resume), ("give-up", give_up)) if is_asked]
    if len(acts) > 1:
        raise SettingsError(f"--{acts[0]} and --{acts[1]}: one of them")
    if not acts:
        if offsets is not None or again or take_over or yes or dry_run:
            raise SettingsError("--offsets, --again, --take-over, --yes and --dry-run belong to --replay: add that")
        found = listed(spec, last=last, reason=only_reason or reason, since=since, everything=everything)
        _show_list(found, as_json=as_json)
        return
    asked = ReplayRequest(
        reason=reason,
        only_reason=only_reason,
        since=since,
        positions=offsets,
        again=again,
        takes_over=take_over,
        yes=yes,
        dry_run=dry_run,
    )
    replaying = Replaying(session, spec, address_of(spec))
    act = {"replay": replaying.replay, "resume": replaying.resume, "give-up": replaying.give_up}[acts[0]]
    try:
        answer = act(asked)
    except KeyboardInterrupt:
        say(f"{stream}: stopped; `streamops dlq {stream} --resume` carries on what has begun")
        raise typer.Exit(130) from None
    if as_json:
        _write(answer_fields(answer))
    else:
        for line in answer_lines(answer):
            _console().print(line)
    raise typer.Exit(answer.exit_code)


def address_of(spec: StreamSpec) -> str:
    """Where the dead letters of a stream lie. SettingsError where none are declared."""
    if not spec.sink.dead_letters:
        raise SettingsError(f"stream {spec.name} declares no table of dead letters: set sink.dead_letters")
    return spec.sink.dead_letters


def listed(spec: StreamSpec, *, last: int, reason: str, since: datetime | None, everything: bool) -> LetterList:
    """The newest dead letters of a stream. SettingsError where none are declared, and for a time where there are no times."""
    address = address_of(spec)
    is_filtered = bool(reason or since)
    try:
        table = LetterTable(storage_for(address), address)
    except ObjectNotFoundError:
        return LetterList(stream=spec.name, table=address, is_filtered=is_filtered)
    newest = table.newest(last, reason=reason, since=since)
    reasons = table.summary(reason=reason, since=since) if everything else reasons_among(newest.letters)
    replays = ReplayStore(storage=storage_for(spec.checkpoint), checkpoint=spec.checkpoint).replays()
    return LetterList(
        stream=spec.name,
        table=address,
        letters=newest.letters,
        first=first_positions(replays),
        replayed=holders(replays),
        total=table.count(),
        reasons=reasons,
        covers_all=everything,
        is_filtered=is_filtered,
        is_cut=newest.is_cut,
        missing=table.columns.missing,
        is_timed=bool(table.columns.time),
    )


def _show_list(found: LetterList, *, as_json: bool) -> None:
    if as_json:
        _write(list_fields(found))
        return
    console = _console()
    console.print(heading(found))
    if found.letters:
        console.print(letter_table(found), soft_wrap=False)
        for line in summary_lines(found):
            console.print(line)


def _console() -> PrintableConsole:
    console = PrintableConsole()
    if not console.is_terminal:
        console.width = _UNBOUNDED
    return console


def _write(document: object) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=True, indent=2) + "\n")
