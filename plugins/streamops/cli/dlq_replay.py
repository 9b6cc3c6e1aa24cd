"""How a person has dead letters sent again: what is found is chosen from, shown, asked about, put on record, sent."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from streamops.cli.acting import ask_whether
from streamops.cli.dlq_replay_text import ReplayAnswer, plan_lines
from streamops.cli.options import given
from streamops.cli.progress_bar import counted
from streamops.cli.stderr import say
from streamops.cli.wiring import Session
from streamops.dead_letters import RecordPosition
from streamops.dead_letters.choice import choose
from streamops.dead_letters.reading import LetterTable
from streamops.dead_letters.replay import Replay, first_positions, holders
from streamops.dead_letters.replay_service import ReplayService
from streamops.dead_letters.replay_store import ReplayStore
from streamops.errors import ObjectNotFoundError, ReplayError, SettingsError
from streamops.kafka.access import access_of
from streamops.operations.requests import this_person
from streamops.spec import KafkaSource, StreamSpec
from streamops.storage.kinds import storage_for


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
