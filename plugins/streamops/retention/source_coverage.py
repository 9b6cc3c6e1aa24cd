"""Whether what a start would read is still in Kafka, asked right before it. Reads only.

A cluster that does not answer keeps nobody from starting: then the query waits for it, which is its own business. Lost records
do: Spark would fail on them each time, or pass over them in silence.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.clock import Clock
from streamops.control.topics import Topics
from streamops.errors import SettingsError, StreamOpsError
from streamops.kafka.access import KafkaAccess, access_of
from streamops.kafka.broker import Broker
from streamops.kafka.confluent import ConfluentBroker
from streamops.retention import Coverage, SourceNeeds, cover
from streamops.retention.confirm import look_twice
from streamops.retention.coverage_history import read_past
from streamops.retention.kafka_needs import needs_of_snapshot
from streamops.spec import StreamSpec
from streamops.storage import ReadableStorage

log = logging.getLogger(__name__)

BrokerFor = Callable[[StreamSpec], Broker]
"""Raises SettingsError where the cluster can't be asked at all."""


def declared_access(spec: StreamSpec) -> KafkaAccess:
    """What a stream's source names, with the credentials of this place. SettingsError where they can't be used."""
    return access_of(spec.kafka.bootstrap_servers, spec.kafka.options)


def cluster_of(clock: Clock, access_for: Callable[[StreamSpec], KafkaAccess] = declared_access) -> BrokerFor:
    """Asks the cluster that a stream's source names."""
    return lambda spec: ConfluentBroker(access_for(spec), clock)


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

    def of(self, checkpoints: Sequence[CheckpointSnapshot], *, on_record: Topics) -> tuple[Coverage, ...]:
        """The coverage of each checkpoint, in order; none at all where there is nobody to ask, or nothing to ask for.

        `on_record`: the topics as earlier starts found them. What counts only when it is said twice is asked twice, with a
        pause: a new leader may not have caught up yet.
        """
        needs = [needs_of_snapshot(snapshot) for snapshot in checkpoints]
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
