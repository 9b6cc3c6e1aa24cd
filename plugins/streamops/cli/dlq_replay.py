"""How a person has dead letters sent again: what is found is chosen from, shown, asked about, put on record, sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from streamops.cli.acting import ask_whether
from streamops.cli.options import given
from streamops.cli.wiring import Session
from streamops.dead_letters import RecordPosition
from streamops.dead_letters.letter import Choice, choose
from streamops.dead_letters.reading import LetterTable
from streamops.dead_letters.replay import (
    PartitionOffsets,
    Replay,
    ReplayDone,
    ReplayStore,
    first_positions,
    grouped,
    holders,
)
from streamops.dead_letters.replay_service import ReplayOutcome, ReplayService
from streamops.errors import ObjectNotFoundError, ReplayError, SettingsError
from streamops.formatting import moment
from streamops.kafka.broker import access_of
from streamops.operations.requests import this_person
from streamops.spec import KafkaSource, StreamSpec
from streamops.storage.kinds import storage_for
from streamops.terminal.console import counted, printable, say

_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayAnswer:
    """A replay that was planned, carried on, or given up."""

    stream: str
    bootstrap: str
    others: tuple[str, ...] = ()
    """Other declared streams that read one of the topics: they get the records again, too."""
    choice: Choice | None = None
    """What a new replay sends."""
    open_one: Replay | None = None
    """The open replay that is carried on, or given up."""
    outcome: ReplayOutcome | None = None
    """None where nothing was sent: it was only planned."""
    given_up: ReplayDone | None = None

    @property
    def exit_code(self) -> int:
        """1 for a replay that has not come to its end."""
        return 1 if self.outcome and not self.outcome.is_done else 0

    @property
    def parts(self) -> tuple[PartitionOffsets, ...]:
        """What is to be sent, by partition."""
        if self.open_one:
            return self.open_one.plan.letters
        return grouped(self.choice.chosen) if self.choice else ()


def plan_lines(answer: ReplayAnswer) -> Iterator[str]:
    """What is going to be sent, and what is not."""
    letters = sum(len(part.offsets) for part in answer.parts)
    if answer.open_one:
        plan = answer.open_one.plan
        yield (
            f"{answer.stream}: replay {plan.number} of {moment(plan.at)} UTC by {plan.by.actor} is open ({plan.reason});"
            f" it is carried on: of its {_letters(letters)} those are sent that are not in their topics yet"
        )
    elif letters:
        yield f"{answer.stream}: sends {_letters(letters)} again to where they came from, at {answer.bootstrap}"
    else:
        yield f"{answer.stream}: no dead letters to send again"
    for part in answer.parts:
        yield f"  {part.topic}, partition {part.partition}: {len(part.offsets)}"
    if letters:
        others = f"; so do the streams {', '.join(answer.others)}" if answer.others else ""
        yield f"  whoever reads these topics gets the records once more{others}"
    if answer.choice:
        yield from _left_out(answer.choice)


def answer_lines(answer: ReplayAnswer) -> Iterator[str]:
    """What came of it; the plan where nothing was done."""
    outcome, given_up = answer.outcome, answer.given_up
    if given_up and answer.open_one:
        yield from _given_up_lines(answer.stream, answer.open_one, given_up)
    elif outcome is None:
        yield from plan_lines(answer)
    else:
        number, total = outcome.plan.number, len(outcome.plan.positions)
        if outcome.is_done:
            yield f"{answer.stream}: replay {number} is done: {_letters(total)} sent, {outcome.sent_now} of them now"
            return
        yield f"{answer.stream}: replay {number} is open: {outcome.sent} of {_letters(total)} are sent, the rest is not"
        yield f"  {outcome.trouble}"
        yield (
            f"  when that is mended: `streamops dlq {answer.stream} --resume`; to end it: `streamops dlq"
            f" {answer.stream} --give-up --reason …`"
        )


def answer_fields(answer: ReplayAnswer) -> dict[str, object]:
    """The same as values."""
    plan = answer.outcome.plan if answer.outcome else answer.open_one.plan if answer.open_one else None
    choice, outcome, given_up = answer.choice, answer.outcome, answer.given_up
    return {
        "stream": answer.stream,
        "replay": plan.number if plan else None,
        "id": plan.id if plan else None,
        "letters": [
            {"topic": part.topic, "partition": part.partition, "letters": len(part.offsets)} for part in answer.parts
        ],
        "others": list(answer.others),
        "left_out": {why.name.lower(): [str(one) for one in ones] for why, ones in choice.left_out} if choice else {},
        "unknown": [str(one) for one in choice.unknown] if choice else [],
        "waiting": choice.waiting if choice else 0,
        "outcome": {
            "sent": outcome.sent,
            "sent_now": outcome.sent_now,
            "is_done": outcome.is_done,
            "trouble": outcome.trouble,
        }
        if outcome
        else None,
        "is_given_up": given_up is not None,
    }


def _left_out(choice: Choice) -> Iterator[str]:
    for why, positions in choice.left_out:
        yield f"  left out: {len(positions)} {why}: {_examples(positions)}"
    if choice.unknown:
        yield f"  no dead letters: {len(choice.unknown)} of the positions asked for: {_examples(choice.unknown)}"
    if choice.waiting:
        yield f"  {choice.waiting} more wait for the next replay: this one is full"


def _given_up_lines(stream: str, replay: Replay, done: ReplayDone) -> Iterator[str]:
    total, sent = len(replay.plan.positions), sum(len(part.offsets) for part in done.sent)
    yield f"{stream}: replay {replay.plan.number} is given up"
    if done.is_unknown:
        yield f"  nobody can tell which of its {_letters(total)} were sent: none of them is sent again"
    else:
        yield f"  {sent} of its {_letters(total)} were sent; the other {total - sent} may be sent by another replay"


def _examples(positions: Sequence[RecordPosition]) -> str:
    more = f" and {len(positions) - _EXAMPLES} more" if len(positions) > _EXAMPLES else ""
    return ", ".join(printable(str(one)) for one in positions[:_EXAMPLES]) + more


def _letters(count: int) -> str:
    return "1 dead letter" if count == 1 else f"{count} dead letters"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What is to be sent, and how the person wants it done."""

    reason: str
    only_reason: str = ""
    since: datetime | None = None
    positions: frozenset[RecordPosition] | None = None
    again: bool = False
    takes_over: bool = False
    yes: bool = False
    dry_run: bool = False


class Replaying:
    """The replays of one stream, for the person at this terminal. SettingsError for a stream that does not read Kafka."""

    def __init__(self, session: Session, spec: StreamSpec, address: str) -> None:
        if not isinstance(spec.source, KafkaSource):
            raise SettingsError(
                f"stream {spec.name} reads {spec.source}: only dead letters from Kafka can be sent again; mend the input and"
                f" let the stream read it anew, `streamops backfill {spec.name} --help`"
            )
        source = spec.source
        access = access_of(source.bootstrap_servers, source.options)
        self._spec, self._source, self._address, self._session = spec, source, address, session
        self._storage = storage_for(spec.checkpoint, access=spec.file_access)
        self._shelf = ReplayStore(storage=self._storage, checkpoint=spec.checkpoint)
        self._desk = ReplayService(
            stream=spec.name,
            shelf=self._shelf,
            broker=session.wiring.broker(access, session.clock),
            sender=partial(session.wiring.sender, access, session.clock),
            clock=session.clock,
            author=this_person(),
        )

    def replay(self, asked: ReplayRequest) -> ReplayAnswer:
        """Carry the open replay on; where none is open, begin one."""
        replays = self._shelf.replays()
        if any(one.is_open for one in replays):
            return self.resume(asked)
        given(asked.reason)
        answer = self._planned(replays, asked)
        if asked.dry_run or not answer.parts or answer.choice is None:
            return answer
        self._session.refuse_unmounted(self._spec)
        self._ask("replay", answer, asked)
        begun = self._desk.begin(answer.choice, table=self._address, reason=asked.reason)
        return self._carried_on(answer, begun, asked)

    def resume(self, asked: ReplayRequest) -> ReplayAnswer:
        """Carry the open replay on; ReplayError where none is."""
        open_one = self._open_one()
        answer = self._answer(replace(self._blank(), open_one=open_one))
        if asked.dry_run:
            return answer
        self._ask("carry the replay on:", answer, asked)
        return self._carried_on(answer, open_one, asked)

    def give_up(self, asked: ReplayRequest) -> ReplayAnswer:
        """End the open replay; ReplayError where none is."""
        given(asked.reason)
        open_one = self._open_one()
        answer = self._answer(replace(self._blank(), open_one=open_one))
        if asked.dry_run:
            return answer
        ask_whether(f"give up replay {open_one.plan.number} of {self._spec.name}", yes=asked.yes)
        given_up = self._desk.give_up(open_one, reason=asked.reason, takes_over=asked.takes_over)
        return replace(answer, given_up=given_up)

    def _planned(self, replays: tuple[Replay, ...], asked: ReplayRequest) -> ReplayAnswer:
        try:
            table = LetterTable(self._storage, self._address)
        except ObjectNotFoundError:
            return self._blank()
        if table.columns.missing:
            raise ReplayError(
                f"{self._address} has no columns {' and no '.join(table.columns.missing)}: without them nothing can be sent"
                " again; jobs write them by streamops.spark.json_records.dead_letters"
            )
        choice = choose(
            table.candidates(reason=asked.only_reason, since=asked.since),
            topics=self._source.topics,
            held=holders(replays),
            born_again=first_positions(replays),
            asked=asked.positions,
            again=asked.again,
        )
        if choice.chosen:
            self._desk.topics(choice.chosen)
        return self._answer(replace(self._blank(), choice=choice))

    def _carried_on(self, answer: ReplayAnswer, replay: Replay, asked: ReplayRequest) -> ReplayAnswer:
        table = LetterTable(self._storage, replay.plan.table)
        with counted(f"sending dead letters of {self._spec.name}", total=len(replay.plan.positions)) as tell:
            outcome = self._desk.carry_on(
                replay, table, takes_over=asked.takes_over, tell=lambda sent: tell(sent, "in their topics")
            )
        return replace(answer, outcome=outcome)

    def _open_one(self) -> Replay:
        found = next((one for one in self._shelf.replays() if one.is_open), None)
        if found is None:
            raise ReplayError(f"stream {self._spec.name} has no open replay")
        return found

    def _ask(self, act: str, answer: ReplayAnswer, asked: ReplayRequest) -> None:
        for line in plan_lines(answer):
            say(line)
        ask_whether(f"{act} {self._spec.name}", yes=asked.yes)

    def _blank(self) -> ReplayAnswer:
        return ReplayAnswer(stream=self._spec.name, bootstrap=self._source.bootstrap_servers)

    def _answer(self, answer: ReplayAnswer) -> ReplayAnswer:
        """With the other streams that are going to see the records."""
        topics = {part.topic for part in answer.parts}
        others = (
            other.name
            for other in self._session.settings().streams
            if other.name != self._spec.name
            and isinstance(other.source, KafkaSource)
            and other.source.bootstrap_servers == self._source.bootstrap_servers
            and topics & set(other.source.topics)
        )
        return replace(answer, others=tuple(sorted(others)))
