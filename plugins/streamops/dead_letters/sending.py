"""How an open replay stands, and how its records are sent to their topic, some at a time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from streamops.dead_letters.letter import RecordPosition
from streamops.dead_letters.reading import RawRecord
from streamops.dead_letters.replay import POSITION_HEADER, REPLAY_HEADER, Attempt, Replay, ReplayPlan, grouped
from streamops.errors import ReplayError
from streamops.kafka import BrokerFacts, TopicFacts
from streamops.kafka.broker import MarkedRecord, OutgoingRecord, Ranges, Sender
from streamops.launch.processes import HostIdentity


class Worker(StrEnum):
    """Whether somebody may still send for a replay."""

    NOBODY = "nobody"
    ALIVE = "alive"
    UNKNOWN = "unknown"
    """Its last process was of another host or container, or is hidden from this user, and left no word of its end."""


def worker_of(replay: Replay, *, here: HostIdentity, is_alive: bool | None) -> Worker:
    """Who sends; `is_alive` tells whether this host has the process of the last attempt, and means nothing for another.

    None where that process may be hidden.
    """
    attempt = replay.attempt
    if attempt is None or replay.end or replay.done:
        return Worker.NOBODY
    if is_alive is None or not is_of(attempt, here):
        return Worker.UNKNOWN
    return Worker.ALIVE if is_alive else Worker.NOBODY


def is_of(attempt: Attempt, here: HostIdentity) -> bool:
    """Whether its pid means a process of this very place."""
    return (attempt.by.host, attempt.boot_id, attempt.pid_namespace) == (here.host, here.boot_id, here.pid_namespace)


def check_topics(topics: Iterable[TopicFacts]) -> None:
    """ReplayError for a topic that is not there, or of which the cluster says too little to begin."""
    for topic in topics:
        if topic.exists is False:
            raise ReplayError(f"topic {topic.topic} is gone: make it again, or replay dead letters of other topics")
        if topic.exists is None:
            raise ReplayError(f"topic {topic.topic}: the cluster does not answer: {topic.trouble}")
        for partition in topic.partitions:
            if partition.earliest is None or partition.latest is None:
                raise ReplayError(
                    f"topic {topic.topic}, partition {partition.partition}: the cluster does not tell its end:"
                    f" {partition.trouble}"
                )


def ranges_since(plan: ReplayPlan, facts: BrokerFacts) -> Ranges:
    """What has come to the topics since the plan. ReplayError where records of that time can't be read any more."""
    ends = {(end.topic, end.partition): end.offset for end in plan.ends}
    ranges = {}
    for known in plan.topics:
        topic = facts.topic(known.topic)
        check_topics([topic])
        if known.id and topic.topic_id and known.id != topic.topic_id:
            raise ReplayError(f"topic {known.topic} was made anew since replay {plan.number} began: {_GIVE_UP}")
        for partition in topic.partitions:
            first = ends.get((known.topic, partition.partition), 0)
            earliest, latest = partition.earliest or 0, partition.latest or 0
            if first < earliest:
                raise ReplayError(
                    f"topic {known.topic}, partition {partition.partition}: records {first} to {earliest - 1} are deleted,"
                    f" and with them what replay {plan.number} may have sent: {_GIVE_UP}"
                )
            ranges[known.topic, partition.partition] = (first, latest)
    return ranges


def sent_among(plan: ReplayPlan, records: Iterable[MarkedRecord]) -> dict[RecordPosition, RecordPosition]:
    """By position where each dead letter of the plan lies now; of one that is there twice the first."""
    planned, found = frozenset(plan.positions), dict[RecordPosition, RecordPosition]()
    for record in records:
        text = dict(record.headers).get(POSITION_HEADER, b"").decode(errors="replace")
        old = RecordPosition.of_header(text)
        if old in planned and old is not None:
            new = RecordPosition(topic=record.topic, partition=record.partition, offset=record.offset)
            found[old] = min(new, found.get(old, new))
    return found


_GIVE_UP = "what was sent can't be told any more; --give-up ends the replay, and none of its dead letters is sent again"


CHUNK = 1_000
"""Records that are sent before the next look at who sends, and that are held in memory."""


class RawLetters(Protocol):
    """What is sent: `reading.LetterTable`, or what stands for it."""

    @property
    def address(self) -> str:
        """Where it lies."""
        ...

    def records(self, topic: str, partition: int, offsets: Sequence[int]) -> Mapping[int, RawRecord]:
        """The raw records of some offsets of a partition; one that is not there is left out. Raises DeltaLogError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SentChunk:
    """What became of some dead letters."""

    sent: Mapping[RecordPosition, RecordPosition]
    """By old position the new one, of those that are known to be there."""
    troubles: tuple[str, ...] = ()
    is_in_vain: bool = False
    """Whether the next ones would fare no better: something else than the record itself was in the way."""


def chunks(plan: ReplayPlan, sent: Collection[RecordPosition]) -> Iterator[tuple[RecordPosition, ...]]:
    """What is missing, in the order of the offsets; each chunk is of one partition."""
    done = frozenset(sent)
    for part in grouped(position for position in plan.positions if position not in done):
        for start in range(0, len(part.offsets), CHUNK):
            yield tuple(
                RecordPosition(topic=part.topic, partition=part.partition, offset=offset)
                for offset in part.offsets[start : start + CHUNK]
            )


def send_chunk(
    chunk: Sequence[RecordPosition], *, plan: ReplayPlan, table: RawLetters, sender: Sender, facts: BrokerFacts
) -> SentChunk:
    """Send the raw records of these dead letters, all of one partition. DeltaLogError where they can't be read."""
    records = table.records(chunk[0].topic, chunk[0].partition, [one.offset for one in chunk])
    there = [one for one in chunk if one.offset in records]
    gone = [one for one in chunk if one.offset not in records]
    answers = sender.send([_outgoing(plan, records[one.offset], facts) for one in there])
    both = list(zip(there, answers, strict=True))
    failed = [(old, answer) for old, answer in both if answer.trouble]
    troubles = [f"{len(gone)} dead letters are no longer in {table.address}, {gone[0]} is one"] if gone else []
    troubles += [f"{old}{_and_more(len(failed))}: {answer.trouble}" for old, answer in failed[:1]]
    return SentChunk(
        sent={
            old: RecordPosition(topic=old.topic, partition=answer.partition, offset=answer.offset)
            for old, answer in both
            if not answer.trouble
        },
        troubles=tuple(troubles),
        is_in_vain=any(not answer.is_unfit for _, answer in failed),
    )


def _and_more(failed: int) -> str:
    return f" and {failed - 1} more" if failed > 1 else ""


def _outgoing(plan: ReplayPlan, record: RawRecord, facts: BrokerFacts) -> OutgoingRecord:
    """Back to its partition where that exists, else wherever its key belongs."""
    old = record.position
    return OutgoingRecord(
        topic=old.topic,
        partition=old.partition if facts.topic(old.topic).partition(old.partition) else None,
        key=record.key,
        value=record.value,
        headers=((REPLAY_HEADER, plan.id.encode()), (POSITION_HEADER, old.header.encode())),
    )
