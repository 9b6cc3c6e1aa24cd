"""How far streams are behind their topics, and until when that can be made good: for living and for dead queries alike.

All from the checkpoint and the broker: Spark commits no consumer-group offsets, so nothing else knows where a dead query stands.
Reads only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.clock import Clock
from streamops.coverage import Coverage, PartitionCoverage, Standing, cover
from streamops.coverage.forecast import Basis, Forecast, Waiting, forecast
from streamops.errors import StreamOpsError
from streamops.health.verdict import Verdict
from streamops.kafka import BrokerFacts
from streamops.kafka.access import KafkaAccess
from streamops.kafka.broker import Broker, Place, RecordTime
from streamops.spec import StreamSpec
from streamops.storage import ReadableStorage
from streamops.supervisor.kafka_needs import CheckpointNeeds, read_needs

SECOND_LOOK = timedelta(seconds=3)
"""Between the two looks that an odd answer of a broker needs before it counts."""
MARGIN = timedelta(minutes=30)
"""What a person needs to see the alarm and to restart a query: a deadline nearer than that is critical."""
NOTICE = timedelta(hours=12)
"""A deadline nearer than that is a warning: nobody is to lose data over a night."""
MOST_PROBES = 500
"""Partitions whose first record is looked at for its time, those with the largest lag first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """One partition of one checkpoint."""

    checkpoint: str
    """Address; a driver's further queries have checkpoints of their own."""
    coverage: PartitionCoverage
    forecast: Forecast
    record_time: datetime | None = None
    """Of the first record that waits."""

    @property
    def act_by(self) -> datetime | None:
        """When somebody must have begun to act, so that nothing is lost; None where nothing is known to be lost."""
        return self.forecast.not_before - MARGIN if self.forecast.not_before else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLag:
    """One stream."""

    stream: str
    at: datetime
    verdict: Verdict
    reason: str
    partitions: tuple[PartitionLag, ...] = ()
    """The nearest deadline first, lost ones before all."""

    @property
    def lag(self) -> int | None:
        """Offsets of all partitions that are not read yet; None where one is not known."""
        lags = [one.coverage.lag for one in self.partitions if one.coverage.standing is not Standing.NEW]
        known = [lag for lag in lags if lag is not None]
        return sum(known) if known and len(known) == len(lags) else None

    @property
    def behind(self) -> timedelta | None:
        """How old the oldest record is that waits; None where none waits or no time is known."""
        times = [one.record_time for one in self.partitions if one.record_time]
        return max(timedelta(0), self.at - min(times)) if times else None

    @property
    def act_by(self) -> datetime | None:
        """The nearest of all partitions."""
        return min((one.act_by for one in self.partitions if one.act_by), default=None)

    @property
    def deadline(self) -> datetime | None:
        """The moment before which nothing more is deleted that is needed."""
        return min((one.forecast.not_before for one in self.partitions if one.forecast.not_before), default=None)


def lags_of(
    specs: Sequence[StreamSpec],
    *,
    storage_for: Callable[[str], ReadableStorage],
    access_for: Callable[[StreamSpec], KafkaAccess],
    broker_for: Callable[[KafkaAccess], Broker],
    clock: Clock,
) -> tuple[StreamLag, ...]:
    """The lag of each stream, in order: one scan for all streams of a cluster. What can't be asked is an answer, too."""
    found: dict[str, StreamLag] = {}
    clusters: dict[KafkaAccess, list[tuple[StreamSpec, Sequence[CheckpointNeeds]]]] = {}
    for spec in specs:
        try:
            needs = read_needs(storage_for(spec.checkpoint), spec.checkpoint)
            clusters.setdefault(access_for(spec), []).append((spec, [one for one in needs if one.sources]))
        except StreamOpsError as error:
            found[spec.name] = _unknown(spec, error, clock)
    for access, streams in clusters.items():
        try:
            broker = broker_for(access)
        except StreamOpsError as error:
            found |= {spec.name: _unknown(spec, error, clock) for spec, _ in streams}
        else:
            found |= {lag.stream: lag for lag in _cluster(broker, streams, clock)}
    return tuple(found[spec.name] for spec in specs)


def _unknown(spec: StreamSpec, error: StreamOpsError, clock: Clock) -> StreamLag:
    return StreamLag(stream=spec.name, at=clock.now(), verdict=Verdict.UNKNOWN, reason=str(error))


Streams = Sequence[tuple[StreamSpec, Sequence[CheckpointNeeds]]]


def _cluster(broker: Broker, streams: Streams, clock: Clock) -> Iterable[StreamLag]:
    topics = {topic for spec, needs in streams for topic in _topics(spec, needs)}
    facts = broker.scan(topics)
    covered = {spec.name: _covered(spec, needs, facts, {}) for spec, needs in streams}
    if any(one.suspected for coverage in _all(covered) for one in coverage.partitions):
        clock.sleep(SECOND_LOOK)
        facts = broker.scan(topics)
        covered = {spec.name: _covered(spec, needs, facts, covered[spec.name]) for spec, needs in streams}
    times = broker.record_times(_at_risk(facts, _all(covered)))
    for spec, _ in streams:
        yield _stream(spec, covered[spec.name], facts, times)


def _all(covered: Mapping[str, Mapping[str, Coverage]]) -> list[Coverage]:
    return [coverage for checkpoints in covered.values() for coverage in checkpoints.values()]


def _topics(spec: StreamSpec, needs: Iterable[CheckpointNeeds]) -> set[str]:
    read = {need.topic for checkpoint in needs for source in checkpoint.sources for need in source.partitions}
    return read | set(spec.source.topics)


def _covered(
    spec: StreamSpec, needs: Iterable[CheckpointNeeds], facts: BrokerFacts, before: Mapping[str, Coverage]
) -> dict[str, Coverage]:
    """By address of the checkpoint."""
    topics = spec.source.topics
    return {one.address: cover(one.sources, facts, subscribed=topics, before=before.get(one.address)) for one in needs}


def _at_risk(facts: BrokerFacts, coverages: Iterable[Coverage]) -> set[Place]:
    """The first record that waits in each partition that time deletes from, the longest rows first."""
    waiting = {
        (one.topic, one.partition, one.start): one.lag or 0
        for coverage in coverages
        for one in coverage.partitions
        if one.standing is Standing.COVERED and one.start is not None and one.lag
    }
    timed = {
        topic.topic
        for topic in facts.topics
        if topic.retention and topic.retention.is_deleting and topic.retention.time is not None
    }
    rows = sorted((place for place in waiting if place[0] in timed), key=lambda place: -waiting[place])
    return {Place(topic=topic, partition=number, offset=start) for topic, number, start in rows[:MOST_PROBES]}


def _stream(
    spec: StreamSpec, covered: Mapping[str, Coverage], facts: BrokerFacts, times: Mapping[Place, RecordTime]
) -> StreamLag:
    if not covered:
        reason = "no batch was planned yet: it begins where `startingOffsets` says"
        return StreamLag(stream=spec.name, at=facts.at, verdict=Verdict.OK, reason=reason)
    partitions = [
        _partition(address, one, facts, times) for address, coverage in covered.items() for one in coverage.partitions
    ]
    partitions.sort(key=_urgency)
    verdict, reason = _judged(partitions, facts.at)
    return StreamLag(stream=spec.name, at=facts.at, verdict=verdict, reason=reason, partitions=tuple(partitions))


def _partition(
    checkpoint: str, one: PartitionCoverage, facts: BrokerFacts, times: Mapping[Place, RecordTime]
) -> PartitionLag:
    if one.standing is not Standing.COVERED or one.start is None or one.earliest is None or one.latest is None:
        return PartitionLag(
            checkpoint=checkpoint, coverage=one, forecast=Forecast(basis=Basis.UNKNOWN, reason=one.reason)
        )
    told = times.get(Place(topic=one.topic, partition=one.partition, offset=one.start))
    topic = facts.topic(one.topic)
    waiting = Waiting(
        start=one.start,
        earliest=one.earliest,
        latest=one.latest,
        record_time=told.at if told else None,
        retention=topic.retention,
    )
    foretold = forecast(waiting, now=facts.at)
    return PartitionLag(checkpoint=checkpoint, coverage=one, forecast=foretold, record_time=waiting.record_time)


def _urgency(one: PartitionLag) -> tuple[bool, bool, float, int]:
    standing = one.coverage.standing
    left = one.forecast.not_before.timestamp() if one.forecast.not_before else float("inf")
    return (not standing.is_lossy, standing is not Standing.UNKNOWN, left, -(one.coverage.lag or 0))


def _judged(partitions: Sequence[PartitionLag], now: datetime) -> tuple[Verdict, str]:
    """The worst partition decides; they are sorted by urgency."""
    lossy = [one for one in partitions if one.coverage.standing.is_lossy]
    if lossy:
        return Verdict.CRITICAL, _place(lossy[0]) + lossy[0].coverage.reason
    unknown = [one for one in partitions if one.coverage.standing is Standing.UNKNOWN]
    dated = [one for one in partitions if one.act_by]
    nearest = min(dated, key=lambda one: one.act_by or now, default=None)
    if nearest and nearest.act_by and nearest.act_by <= now:
        return Verdict.CRITICAL, _place(nearest) + nearest.forecast.reason
    if unknown:
        return Verdict.UNKNOWN, _place(unknown[0]) + unknown[0].coverage.reason
    if nearest and nearest.act_by and nearest.act_by - now <= NOTICE:
        return Verdict.WARNING, _place(nearest) + nearest.forecast.reason
    return Verdict.OK, "everything that it needs is there"


def _place(one: PartitionLag) -> str:
    return f"{one.coverage.topic}-{one.coverage.partition}: "
