"""How an open replay stands: who works at it, and where its records are to be looked for. Pure."""

from collections.abc import Iterable
from enum import StrEnum

from streamops.dead_letters.letter import RecordPosition
from streamops.dead_letters.replay import POSITION_HEADER, Attempt, Replay, ReplayPlan
from streamops.errors import ReplayError
from streamops.kafka import BrokerFacts, TopicFacts
from streamops.kafka.sending import MarkedRecord, Ranges
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
