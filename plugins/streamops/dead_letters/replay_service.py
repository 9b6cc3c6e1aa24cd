"""Where dead letters are sent again: a plan, its intent on record, the records, the outcome on record.

Each dead letter comes to its topic once, whatever crashes: the plan has the ends of the partitions before the first record was
sent, and each record bears the replay's id and its old position. Whoever carries on reads the topic from those ends, and sends
what is missing. A process takes a replay up before it sends, and stops when it sees that another has.

What this rests on: a record that a process sent before it died is in the topic SETTLING after the next one has taken the replay
up, or never comes there. A live broker appends what it has received within milliseconds.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from streamops.clock import Clock
from streamops.control.records import Author
from streamops.control.texts import FAILURE_LIMIT, checked_reason, shortened
from streamops.dead_letters.letter import Choice, RecordPosition
from streamops.dead_letters.replay import (
    REPLAY_HEADER,
    Attempt,
    AttemptEnd,
    KnownTopic,
    PartitionEnd,
    Replay,
    ReplayDone,
    ReplayPlan,
    ReplayStore,
    grouped,
    holders,
    sent_letters,
)
from streamops.dead_letters.sending import (
    RawLetters,
    Worker,
    check_topics,
    chunks,
    is_of,
    ranges_since,
    send_chunk,
    sent_among,
    worker_of,
)
from streamops.errors import LaunchError, ReplayError, StreamOpsError
from streamops.kafka import BrokerFacts
from streamops.kafka.broker import Broker, Sender
from streamops.launch.processes import live_process, read_stat, this_host, why_hidden

SETTLING = timedelta(seconds=5)
"""How long a record of a process that is gone may take to its topic."""
_TROUBLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome:
    """What came of a process's work at a replay."""

    plan: ReplayPlan
    sent: int
    """Dead letters of the plan that are in their topics, by whomever they were sent."""
    sent_now: int
    """Of those, by this process."""
    is_done: bool
    trouble: str = ""
    """What kept it from sending the rest."""


class ReplayService:
    """The replays of one stream. Every method raises StorageError, and ReplayError for what is in the way."""

    def __init__(
        self,
        *,
        stream: str,
        shelf: ReplayStore,
        broker: Broker,
        sender: Callable[[], Sender],
        clock: Clock,
        author: Author,
    ) -> None:
        self._stream = stream
        self._shelf = shelf
        self._broker = broker
        self._sender = sender
        self._clock = clock
        self._author = author

    def begin(self, choice: Choice, *, table: str, reason: str) -> Replay:
        """Put on record what is going to be sent. ReplayError where a topic is gone, or another replay has begun.

        SettingsError for a reason that is none, or too long.
        """
        reason = checked_reason(reason)
        replays = self._shelf.replays()
        open_one = next((one for one in replays if one.is_open), None)
        if open_one or not choice.chosen:
            raise ReplayError(f"replay {open_one.plan.number} is open" if open_one else "there is nothing to send")
        if taken := holders(replays).keys() & frozenset(choice.chosen):
            raise ReplayError(f"another replay has sent {min(taken)} meanwhile: look again")
        facts = self.topics(choice.chosen)
        number = max((one.plan.number for one in replays), default=0) + 1
        plan = ReplayPlan(
            number=number,
            id=f"{self._stream}-{number}-{secrets.token_hex(6)}",
            stream=self._stream,
            by=self._author,
            at=self._clock.now(),
            reason=reason,
            table=table,
            letters=grouped(choice.chosen),
            ends=tuple(
                PartitionEnd(topic=topic.topic, partition=one.partition, offset=one.latest)
                for topic in facts.topics
                for one in topic.partitions
                if one.latest is not None
            ),
            topics=tuple(KnownTopic(topic=topic.topic, id=topic.topic_id) for topic in facts.topics),
        )
        self._shelf.begin(plan)
        return Replay(plan=plan)

    def topics(self, positions: Sequence[RecordPosition]) -> BrokerFacts:
        """The topics of these positions. ReplayError for one that is not there, or that the cluster tells nothing of."""
        facts = self._broker.scan({position.topic for position in positions})
        check_topics(facts.topics)
        return facts

    def carry_on(
        self,
        replay: Replay,
        table: RawLetters,
        *,
        takes_over: bool = False,
        tell: Callable[[int], None] = lambda _: None,
    ) -> ReplayOutcome:
        """Send what is missing; `tell` is given how many are in their topics.

        ReplayError while another process sends, or may send; `takes_over` is the word of a person that it does not.
        """
        attempt = self.take_up(replay, takes_over=takes_over)
        trouble = "it was interrupted"
        try:
            outcome = self._sent(replay, table, attempt, tell)
            trouble = outcome.trouble
            return outcome
        except StreamOpsError as error:
            trouble = str(error)
            raise
        finally:
            end = AttemptEnd(at=self._clock.now(), trouble=shortened(trouble, FAILURE_LIMIT))
            # Without this word the next process asks whether this one lives.
            with suppress(StreamOpsError):
                self._shelf.end_attempt(replay.plan.number, attempt, end)

    def give_up(self, replay: Replay, *, reason: str, takes_over: bool = False) -> ReplayDone:
        """End a replay before all is sent. What was sent stays sent; the rest is free where that can be told.

        SettingsError for a reason that is none, or too long.
        """
        reason = checked_reason(reason)
        self.take_up(replay, takes_over=takes_over)
        try:
            (_, sent), is_unknown = self._looked(replay, self._sender()), False
        except ReplayError:
            sent, is_unknown = {}, True
        done = ReplayDone(
            at=self._clock.now(),
            by=self._author,
            sent=sent_letters(sent),
            is_given_up=True,
            is_unknown=is_unknown,
            reason=reason,
        )
        self._shelf.finish(replay.plan.number, done)
        return done

    def take_up(self, replay: Replay, *, takes_over: bool) -> int:
        """Be the one that sends from now on; the number of this process's attempt.

        ReplayError while another process sends, or may send; `takes_over` is the word of a person that it does not.
        """
        here, last, number = this_host(), replay.attempt, replay.plan.number
        is_alive = _is_alive(last) if last and is_of(last, here) else False
        worker = worker_of(replay, here=here, is_alive=is_alive)
        if worker is not Worker.NOBODY and last:
            who = f"{last.by.actor}, process {last.by.pid} on {last.by.host}, since {last.at:%Y-%m-%d %H:%M:%S} UTC"
            if worker is Worker.ALIVE:
                raise ReplayError(f"replay {number} is under way: {who}")
            if not takes_over:
                raise ReplayError(
                    f"replay {number} was taken up by {who}, and from here nobody can tell whether that still sends: where you"
                    " know that it has ended, add --take-over"
                )
        own = read_stat(self._author.pid)
        attempt = Attempt(
            by=self._author,
            at=self._clock.now(),
            boot_id=here.boot_id,
            pid_namespace=here.pid_namespace,
            start_ticks=own.start_ticks if own else 0,
            uid=here.uid,
        )
        return self._shelf.take_up(replay, attempt)

    def _looked(self, replay: Replay, sender: Sender) -> tuple[BrokerFacts, dict[RecordPosition, RecordPosition]]:
        """The topics now, and what of the replay is in them. ReplayError where that can't be told."""
        if replay.attempts:
            self._clock.sleep(SETTLING)
        facts = self._broker.scan({topic.topic for topic in replay.plan.topics})
        ranges = ranges_since(replay.plan, facts)
        marked = sender.marked(ranges, name=REPLAY_HEADER, value=replay.plan.id.encode())
        if marked.trouble:
            raise ReplayError(f"what replay {replay.plan.number} has sent can't be read: {marked.trouble}")
        return facts, sent_among(replay.plan, marked.records)

    def _sent(self, replay: Replay, table: RawLetters, attempt: int, tell: Callable[[int], None]) -> ReplayOutcome:
        plan, sender = replay.plan, self._sender()
        facts, sent = self._looked(replay, sender)
        before, troubles = len(sent), list[str]()
        for chunk in chunks(plan, sent):
            if not self._shelf.is_newest(plan.number, attempt):
                raise ReplayError(f"another process has taken replay {plan.number} over")
            done = send_chunk(chunk, plan=plan, table=table, sender=sender, facts=facts)
            sent |= done.sent
            troubles += done.troubles
            tell(len(sent))
            if done.is_in_vain:
                break
        if len(sent) == len(plan.positions):
            done_now = ReplayDone(at=self._clock.now(), by=self._author, sent=sent_letters(sent))
            self._shelf.finish(plan.number, done_now)
        return ReplayOutcome(
            plan=plan,
            sent=len(sent),
            sent_now=len(sent) - before,
            is_done=len(sent) == len(plan.positions),
            trouble="; ".join(troubles[:_TROUBLES]),
        )


def _is_alive(attempt: Attempt) -> bool | None:
    """Whether the process of an attempt of this host lives; None where `/proc` may hide it."""
    try:
        if live_process(attempt.by.pid, start_ticks=attempt.start_ticks):
            return True
        return None if why_hidden(attempt.uid) else False
    except LaunchError:
        return None
