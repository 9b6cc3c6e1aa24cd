"""Sends dead letters to their topic again, some at a time."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamops.dead_letters.letter import RecordPosition
from streamops.dead_letters.reading import RawRecord
from streamops.dead_letters.replay import POSITION_HEADER, REPLAY_HEADER, ReplayPlan, grouped
from streamops.kafka import BrokerFacts
from streamops.kafka.sending import OutgoingRecord, Sender

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
