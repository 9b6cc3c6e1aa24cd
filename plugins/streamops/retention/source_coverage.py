"""What the queries of a stream need of Kafka, beside what Kafka has; a doubt is looked at once more.

A cluster that does not answer keeps nobody from starting: then the query waits for it, which is its own business. Lost records
do: Spark would fail on them each time, or pass over them in silence.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import quoted
from streamops.checkpoint.offsets import offset_pairs
from streamops.checkpoint.source_log import SourceLogs, read_source_logs
from streamops.checkpoint.source_offsets import KafkaOffset, OffsetForm
from streamops.clock import Clock
from streamops.control.kafka_offsets import Topics
from streamops.diagnosis.companions import read_checkpoints
from streamops.errors import CheckpointError, SettingsError, StreamOpsError
from streamops.kafka.broker import Broker, KafkaAccess, access_of
from streamops.kafka.confluent import ConfluentBroker
from streamops.places.sink import Sink, drops_batch_in_flight
from streamops.retention import SECOND_LOOK, Coverage, SourceNeeds, cover, needs_of
from streamops.retention.coverage_history import read_past
from streamops.retention.needs import CheckpointNeeds
from streamops.spec import StreamSpec
from streamops.storage import ReadableStorage

Look = Callable[[Sequence[Coverage | None]], Sequence[Coverage]]
"""Asks the broker; given what the look before found of the same checkpoints, in the same order."""


def look_twice(look: Look, *, checkpoints: int, clock: Clock) -> tuple[Coverage, ...]:
    """What was found, by a second look after a pause where the first one found something that has to be confirmed."""
    found = look([None] * checkpoints)
    if any(one.suspected for coverage in found for one in coverage.partitions):
        clock.sleep(SECOND_LOOK)
        found = look(found)
    return tuple(found)


def read_needs(storage: ReadableStorage, checkpoint: str) -> tuple[CheckpointNeeds, ...]:
    """The needs of the checkpoint's query and of its companions.

    Raises StorageError where they can't be asked, CheckpointError where the newest entry of one can't be read, or is none
    of Kafka.
    """
    own, companions = read_checkpoints(storage, checkpoint)
    if own.newest and own.newest.is_foreign_to(OffsetForm.KAFKA):
        raise CheckpointError(
            f"{own.address}: offsets/{own.last_offset} holds {quoted(next(filter(None, own.newest.sources), ''))}, which is no"
            " offset of Kafka: another source wrote it, or somebody edited it"
        )
    return tuple(_needs(storage, facts) for facts in (own, *companions))


def _needs(storage: ReadableStorage, facts: CheckpointFacts) -> CheckpointNeeds:
    if facts.newest is None and facts.last_offset >= 0:
        broken = next(
            (one.reason for one in facts.broken if one.file == f"offsets/{facts.last_offset}"), "it is not there"
        )
        raise CheckpointError(
            f"{facts.address}: where the query goes on is not known: offsets/{facts.last_offset}: {broken}"
        )
    if _names_no_topic_any_more(facts):
        raise CheckpointError(
            f"{facts.address}: where the query goes on is not known: offsets/{facts.last_offset} names no topic, though the entry"
            " below it does; `streamops check` tells what comes of it"
        )
    # Only a batch in flight that is the first of a source begins with the source's own file.
    begins = facts.has_pending_batch and (facts.previous is None or None in facts.previous.sources)
    return CheckpointNeeds(
        address=facts.address,
        sources=needs_of(facts, initial=_initial(read_source_logs(storage, facts.address)) if begins else {}),
        query_id=facts.query_id or "",
        written_by=facts.spark_fingerprint,
    )


def _names_no_topic_any_more(facts: CheckpointFacts) -> bool:
    pairs = list(offset_pairs(facts.previous, facts.newest))
    had = any(isinstance(before, KafkaOffset) and before.positions for _, before, _ in pairs)
    return had and not any(isinstance(now, KafkaOffset) and now.positions for _, _, now in pairs)


def needs_of_snapshot(snapshot: CheckpointSnapshot, sink: Sink | None = None) -> tuple[SourceNeeds, ...]:
    """The Kafka sources of a query of which everything was read already, its sink included."""
    is_dropped = drops_batch_in_flight(sink, snapshot.facts)
    return needs_of(snapshot.facts, initial=_initial(snapshot.sources), is_dropped=is_dropped)


def _initial(logs: SourceLogs) -> dict[str, str]:
    return {source.folder: source.initial_offsets for source in logs.sources if source.initial_offsets is not None}


log = logging.getLogger(__name__)

BrokerFor = Callable[[StreamSpec], Broker]
"""Raises SettingsError where the cluster can't be asked at all."""


def declared_access(spec: StreamSpec) -> KafkaAccess:
    """What a stream's source names, with the credentials of this place. SettingsError where they can't be used."""
    return access_of(spec.kafka.bootstrap_servers, spec.kafka.options)


def cluster_of(clock: Clock, access_for: Callable[[StreamSpec], KafkaAccess] = declared_access) -> BrokerFor:
    """Asks the cluster that a stream's source names."""
    return lambda spec: ConfluentBroker(access_for(spec), clock)


ASK_INTERVAL = timedelta(seconds=10)
"""Between two questions for topics that are not there yet."""


class SourceCoverage:
    """One stream's. Keeps no memory: each process judges a start by itself, and must come to the same."""

    def __init__(
        self, spec: StreamSpec, broker_for: BrokerFor | None, *, storage: ReadableStorage, clock: Clock
    ) -> None:
        """Without `broker_for` nobody is asked, and nothing is known to be lost. `storage`: of the checkpoint."""
        self._spec = spec
        self._storage = storage
        self._clock = clock
        self._broker_for = broker_for
        self._absent: tuple[timedelta, tuple[str, ...]] | None = None

    def absent_topics(self) -> tuple[str, ...]:
        """Declared topics of which the cluster says that they are not there; asked every ASK_INTERVAL at most.

        A first driver fails on one that is missing (KafkaOffsetReaderAdmin, 4.2.0), and a topic may be made any moment.
        """
        now = self._clock.monotonic()
        if self._absent and now - self._absent[0] < ASK_INTERVAL:
            return self._absent[1]
        found: tuple[str, ...] = ()
        broker = self._asked() if self._spec.reads_kafka else None
        try:
            answers = broker.scan(self._spec.kafka.topics).topics if broker else ()
            found = tuple(topic.topic for topic in answers if topic.exists is False)
        except Exception:
            log.exception("stream=%s is started without a look at its topics", self._spec.name)
        self._absent = (now, found)
        return found

    def of(
        self, checkpoints: Sequence[CheckpointSnapshot], *, on_record: Topics, sink: Sink | None = None
    ) -> tuple[Coverage, ...]:
        """The coverage of each checkpoint, in order; none at all where there is nobody to ask, or nothing to ask for.

        `sink`: of the stream's own query, where it was read. `on_record`: the topics as earlier starts found them. What counts
        only when it is said twice is asked twice, with a pause: a new leader may not have caught up yet.
        """
        own, *companions = checkpoints
        needs = [needs_of_snapshot(own, sink), *(needs_of_snapshot(snapshot) for snapshot in companions)]
        topics = {need.topic for sources in needs for source in sources for need in source.partitions}
        broker = self._asked() if topics and self._spec.reads_kafka else None
        if broker is None:
            return ()
        seen = self._topic_ids(checkpoints[0].facts.query_id or "")
        ids = {**seen, **{one.topic: one.id for one in on_record}}
        try:
            return look_twice(
                lambda before: self._look(broker, needs, topics, ids, before=before),
                checkpoints=len(needs),
                clock=self._clock,
            )
        except Exception:
            # Whatever is wrong with the client, it must keep nobody from starting.
            log.exception("stream=%s is started without a look at its topics", self._spec.name)
            return ()

    def _look(
        self,
        broker: Broker,
        needs: Sequence[tuple[SourceNeeds, ...]],
        topics: set[str],
        ids: Mapping[str, str],
        *,
        before: Sequence[Coverage | None],
    ) -> list[Coverage]:
        subscribed = self._spec.kafka.topics
        facts = broker.scan(topics | set(subscribed))
        nothing = Coverage(at=facts.at, partitions=())
        return [
            # A query without Kafka, or without a batch so far, needs nothing: no partition is new to it.
            cover(sources, facts, subscribed=subscribed, remembered=ids, before=earlier) if sources else nothing
            for sources, earlier in zip(needs, before, strict=True)
        ]

    def _topic_ids(self, query_id: str) -> Mapping[str, str]:
        """Ids of the topics that the query was seen to read, where rounds of retention coverage have kept them."""
        try:
            return read_past(self._storage, self._spec.checkpoint, query_id=query_id).topic_ids
        except StreamOpsError as error:
            log.warning("stream=%s: ids of its topics are not known: %s", self._spec.name, error)
            return {}

    def _asked(self) -> Broker | None:
        """A client for this one look: starts are rare, and thousands of streams must not keep a connection each."""
        try:
            return self._broker_for(self._spec) if self._broker_for else None
        except SettingsError as error:
            log.warning("stream=%s is started without a look at its topics: %s", self._spec.name, error)
            return None
