"""Whether what a start would read is still in Kafka, asked right before it. Reads only.

A cluster that does not answer keeps nobody from starting: then the query waits for it, which is its own business. Lost records
do: Spark would fail on them each time, or pass over them in silence.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.clock import Clock
from streamops.coverage import Coverage, SourceNeeds, cover, needs_of
from streamops.errors import SettingsError, StreamOpsError
from streamops.kafka.access import KafkaAccess, access_of
from streamops.kafka.broker import Broker
from streamops.kafka.confluent import ConfluentBroker
from streamops.spec import StreamSpec
from streamops.storage import ReadableStorage
from streamops.supervisor.lags.coverage_history import read_past

log = logging.getLogger(__name__)

BrokerFor = Callable[[StreamSpec], Broker]
"""Raises SettingsError where the cluster can't be asked at all."""


def declared_access(spec: StreamSpec) -> KafkaAccess:
    """What a stream's source names, with the credentials of this place. SettingsError where they can't be used."""
    return access_of(spec.source.bootstrap_servers, spec.source.options)


def cluster_of(clock: Clock, access_for: Callable[[StreamSpec], KafkaAccess] = declared_access) -> BrokerFor:
    """Asks the cluster that a stream's source names."""
    return lambda spec: ConfluentBroker(access_for(spec), clock)


class SourceCoverage:
    """One stream's, with a memory for what counts only when it is said twice."""

    def __init__(self, spec: StreamSpec, broker_for: BrokerFor | None, *, storage: ReadableStorage) -> None:
        """Without `broker_for` nobody is asked, and nothing is known to be lost. `storage`: of the checkpoint."""
        self._spec = spec
        self._storage = storage
        self._broker_for = broker_for
        self._before: dict[str, Coverage] = {}

    def of(self, checkpoints: Sequence[CheckpointSnapshot]) -> tuple[Coverage, ...]:
        """The coverage of each checkpoint, in order; none at all where there is nobody to ask, or nothing to ask for."""
        needs = [_needs(snapshot) for snapshot in checkpoints]
        topics = {need.topic for sources in needs for source in sources for need in source.partitions}
        broker = self._asked() if topics else None
        if broker is None:
            return ()
        facts = broker.scan(topics | set(self._spec.source.topics))
        addresses = [snapshot.facts.address for snapshot in checkpoints]
        ids = self._topic_ids(checkpoints[0].facts.query_id or "")
        subscribed = self._spec.source.topics
        found = tuple(
            cover(sources, facts, subscribed=subscribed, remembered=ids, before=self._before.get(address))
            for address, sources in zip(addresses, needs, strict=True)
        )
        self._before = dict(zip(addresses, found, strict=True))
        return found

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


def _needs(snapshot: CheckpointSnapshot) -> tuple[SourceNeeds, ...]:
    initial = {
        source.folder: source.initial_offsets
        for source in snapshot.sources.sources
        if source.initial_offsets is not None
    }
    return needs_of(snapshot.facts, initial=initial)
