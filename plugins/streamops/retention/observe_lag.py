"""Looks at the lag of streams: what they need from the checkpoints, what is there from the brokers.

All from the checkpoint and the broker: Spark commits no consumer-group offsets, so nothing else knows where a dead query stands.
Reads only; earlier looks, where somebody keeps them, make the answers surer.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from streamops.clock import Clock
from streamops.control.drivers import driver_instances
from streamops.control.layout import PROGRESS, control_folder, driver_folder
from streamops.errors import StorageError, StreamOpsError
from streamops.kafka import BrokerFacts
from streamops.kafka.broker import Broker, KafkaAccess, RecordPlace, RecordTime
from streamops.progress import ProgressHistory, read_progress
from streamops.retention import SECOND_LOOK, Coverage, PartitionCoverage, PartitionState, cover
from streamops.retention.backlog import lag_without_topics
from streamops.retention.coverage_history import read_past
from streamops.retention.covered_plan import first_retry_trouble
from streamops.retention.forecast import Basis, Forecast, Waiting, forecast
from streamops.retention.growth import CatchUp, catch_up, offsets_per_second, throughput_of
from streamops.retention.lag import (
    MARGIN,
    PartitionLag,
    StreamLag,
    by_urgency,
    catch_up_share,
    judged,
    lag_of,
    needs_catching_up,
    partitions_of,
    unknown_lag,
)
from streamops.retention.needs import CheckpointNeeds
from streamops.retention.outage import RECENT, pace_of, shortfalls, with_pace
from streamops.retention.past import CoveragePast
from streamops.retention.source_coverage import read_needs
from streamops.spec import StreamSpec, TriggerKind
from streamops.storage import ReadableStorage, join
from streamops.verdict import Verdict

log = logging.getLogger(__name__)

LAST_LOOK = timedelta(hours=1)
"""An earlier look confirms nothing when it is older than that."""
MOST_PROBES = 500
"""Partitions whose first record is looked at for its time, those with the largest lag first."""

MOST_OFFSETS = "maxoffsetspertrigger"


@dataclass(frozen=True, slots=True, kw_only=True)
class LagPorts:
    """What a look works with."""

    storage_for: Callable[[str], ReadableStorage]
    access_for: Callable[[StreamSpec], KafkaAccess]
    """Raises SettingsError where the stream's credentials can't be had."""
    broker_for: Callable[[KafkaAccess], Broker]
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadStream:
    """What is known of one stream before a broker is asked."""

    spec: StreamSpec
    needs: tuple[CheckpointNeeds, ...]
    past: CoveragePast
    storage: ReadableStorage


def lags_of(specs: Sequence[StreamSpec], *, doors: LagPorts) -> tuple[StreamLag, ...]:
    """The lag of each stream, in order: one scan for all streams of a cluster. What can't be asked is an answer, too.

    An odd answer is asked for once more after `SECOND_LOOK`.
    """
    found: dict[str, StreamLag] = {}
    clusters: dict[KafkaAccess, list[ReadStream]] = {}
    for spec in specs:
        if not spec.reads_kafka:
            found[spec.name] = lag_without_topics(spec, doors.storage_for, doors.clock)
            continue
        try:
            stream = read_stream(spec, doors.storage_for(spec.checkpoint))
            clusters.setdefault(doors.access_for(spec), []).append(stream)
        except StreamOpsError as error:
            found[spec.name] = unknown_lag(spec.name, str(error), at=doors.clock.now())
    for access, streams in clusters.items():
        found |= lags_in(access, streams, doors=doors)
    return tuple(found[spec.name] for spec in specs)


def lags_in(
    access: KafkaAccess, streams: Sequence[ReadStream], *, doors: LagPorts, confirmed_after: timedelta | None = None
) -> dict[str, StreamLag]:
    """By name, for the streams of one cluster; see `lags_of`.

    `confirmed_after`: whoever looks again and again, and keeps the looks, does not ask twice: an odd answer counts when
    kept looks have had it for so long.
    """
    try:
        cluster = _Cluster(doors.broker_for(access), streams)
        return {lag.stream: lag for lag in cluster.lags(doors.clock, confirmed_after)}
    except StreamOpsError as error:
        return {one.spec.name: unknown_lag(one.spec.name, str(error), at=doors.clock.now()) for one in streams}


def read_stream(spec: StreamSpec, storage: ReadableStorage) -> ReadStream:
    """What is known of a stream before a broker is asked. Raises StorageError, CheckpointError."""
    needs = read_needs(storage, spec.checkpoint)
    past = read_past(storage, spec.checkpoint, query_id=needs[0].query_id)
    return ReadStream(spec=spec, needs=tuple(one for one in needs if one.sources), past=past, storage=storage)


Covered = Mapping[str, Coverage]
"""By address of the checkpoint."""


class _Cluster:
    """One look at the streams of one cluster."""

    def __init__(self, broker: Broker, streams: Sequence[ReadStream]) -> None:
        self._broker = broker
        self._streams = streams
        self._topics = {topic for stream in streams for topic in _topics(stream)}

    def lags(self, clock: Clock, confirmed_after: timedelta | None) -> Iterable[StreamLag]:
        facts = self._broker.scan(self._topics)
        covered = {
            one.spec.name: _covered(one, facts, _kept_looks(one, facts, confirmed_after or SECOND_LOOK))
            for one in self._streams
        }
        if confirmed_after is None and any(one.suspected for one in self._partitions(covered)):
            clock.sleep(SECOND_LOOK)
            facts = self._broker.scan(self._topics)
            covered = {one.spec.name: _covered(one, facts, covered[one.spec.name]) for one in self._streams}
        times = self._broker.record_times(_at_risk(facts, self._partitions(covered)))
        return [_lag_or_unknown(stream, covered[stream.spec.name], facts, times) for stream in self._streams]

    @staticmethod
    def _partitions(covered: Mapping[str, Covered]) -> list[PartitionCoverage]:
        return [one for checkpoints in covered.values() for one in partitions_of(list(checkpoints.values()))]


def _topics(stream: ReadStream) -> set[str]:
    read = {need.topic for checkpoint in stream.needs for source in checkpoint.sources for need in source.partitions}
    return read | set(stream.spec.kafka.topics)


def _kept_looks(stream: ReadStream, facts: BrokerFacts, confirmed_after: timedelta) -> Covered:
    since, until = facts.at - LAST_LOOK, facts.at - confirmed_after
    looks = {one.address: stream.past.before(one.address, since=since, until=until) for one in stream.needs}
    return {address: look for address, look in looks.items() if look}


def _covered(stream: ReadStream, facts: BrokerFacts, before: Covered) -> Covered:
    return {
        one.address: cover(
            one.sources,
            facts,
            subscribed=stream.spec.kafka.topics,
            remembered=stream.past.known_ids,
            before=before.get(one.address),
        )
        for one in stream.needs
    }


def _at_risk(facts: BrokerFacts, partitions: Iterable[PartitionCoverage]) -> set[RecordPlace]:
    """The first record that waits in each partition that time deletes from, the longest rows first."""
    waiting = {
        (one.topic, one.partition, one.start): one.lag or 0
        for one in partitions
        if one.standing is PartitionState.COVERED and one.start is not None and one.lag
    }
    timed = {
        topic.topic
        for topic in facts.topics
        if topic.retention and topic.retention.is_deleting and topic.retention.time is not None
    }
    rows = sorted((place for place in waiting if place[0] in timed), key=lambda place: -waiting[place])
    return {RecordPlace(topic=topic, partition=number, offset=start) for topic, number, start in rows[:MOST_PROBES]}


def _lag_or_unknown(
    stream: ReadStream, covered: Covered, facts: BrokerFacts, times: Mapping[RecordPlace, RecordTime]
) -> StreamLag:
    """Whatever is wrong with one stream's figures, the others of its cluster are judged."""
    try:
        return _lag(stream, covered, facts, times)
    except Exception as error:
        log.warning("stream=%s can't be judged", stream.spec.name, exc_info=True)
        return unknown_lag(stream.spec.name, f"{type(error).__name__}: {error!s:.200}", at=facts.at)


def _lag(
    stream: ReadStream, covered: Covered, facts: BrokerFacts, times: Mapping[RecordPlace, RecordTime]
) -> StreamLag:
    ids = {topic.topic: topic.topic_id for topic in facts.topics}
    past = stream.past.with_look(covered, ids, at=facts.at)
    rows = [
        _partition(address, one, facts, times, past)
        for address, coverage in covered.items()
        for one in coverage.partitions
    ]
    caught = _catch_up(stream, past, rows) if any(needs_catching_up(row.forecast) for row in rows) else None
    partitions = by_urgency([_with_catch_up(row, caught, facts) for row in rows])
    short = tuple(_shortfalls(stream.spec, facts, past))
    verdict, rule, reason = judged(partitions, short, now=facts.at)
    if not covered and verdict is Verdict.OK:
        reason = "no batch was planned yet: it begins where `startingOffsets` says"
    if verdict is Verdict.OK and (trouble := first_retry_trouble(stream.needs, covered, stream.spec.trigger)):
        verdict, rule, reason = Verdict.WARNING, "changed-partitions", trouble
    return StreamLag(
        stream=stream.spec.name,
        at=facts.at,
        verdict=verdict,
        reason=reason,
        rule=rule,
        partitions=partitions,
        catch_up=caught,
        shortfalls=short,
        past=past if covered else None,
    )


def _shortfalls(spec: StreamSpec, facts: BrokerFacts, past: CoveragePast) -> Iterable[str]:
    source = spec.kafka
    if not source.tolerated_outage:
        return ()
    topics = map(facts.topic, source.topics)
    return shortfalls(topics, ends=past.ends, tolerated=source.tolerated_outage, restart=MARGIN)


def _partition(
    checkpoint: str,
    one: PartitionCoverage,
    facts: BrokerFacts,
    times: Mapping[RecordPlace, RecordTime],
    past: CoveragePast,
) -> PartitionLag:
    if one.standing is not PartitionState.COVERED or one.start is None or one.earliest is None or one.latest is None:
        return PartitionLag(
            checkpoint=checkpoint, coverage=one, forecast=Forecast(basis=Basis.UNKNOWN, reason=one.reason)
        )
    told = times.get(RecordPlace(topic=one.topic, partition=one.partition, offset=one.start))
    waiting = Waiting(
        start=one.start,
        earliest=one.earliest,
        latest=one.latest,
        record_time=told.at if told else None,
        retention=facts.topic(one.topic).retention,
        samples=past.ends(one.topic, one.partition),
    )
    foretold = forecast(waiting, now=facts.at)
    if pace := pace_of(past.starts(checkpoint, one.topic, one.partition), waiting.samples):
        foretold = with_pace(foretold, waiting, pace, now=facts.at, margin=MARGIN)
    return PartitionLag(checkpoint=checkpoint, coverage=one, forecast=foretold, record_time=waiting.record_time)


def _with_catch_up(one: PartitionLag, caught: CatchUp | None, facts: BrokerFacts) -> PartitionLag:
    if caught is None or not needs_catching_up(one.forecast):
        return one
    retention = facts.topic(one.coverage.topic).retention
    return replace(one, catch_up=catch_up_share(caught, retention.time if retention else None))


def _catch_up(stream: ReadStream, past: CoveragePast, rows: Sequence[PartitionLag]) -> CatchUp:
    places = {(row.coverage.topic, row.coverage.partition) for row in rows}
    growth = sum(
        offsets_per_second(past.ends(topic, number), lambda sample: sample.latest, within=RECENT)
        for topic, number in places
    )
    trigger, options = stream.spec.trigger, {name.lower(): value for name, value in stream.spec.kafka.options}
    most = options.get(MOST_OFFSETS, "")
    throughput = throughput_of(
        _progress(stream),
        most=int(most) if most.isascii() and most.isdecimal() and len(most) < 19 else None,
        interval=trigger.interval if trigger.kind is TriggerKind.PROCESSING_TIME else timedelta(0),
    )
    return catch_up(lag_of([row.coverage for row in rows]) or 0, throughput, growth=growth)


def _progress(stream: ReadStream) -> ProgressHistory:
    """Of the newest driver. What can't be read is not known."""
    control = control_folder(stream.spec.checkpoint)
    try:
        drivers = driver_instances(stream.storage, control)
        if not drivers:
            return ProgressHistory()
        return read_progress(stream.storage, join(driver_folder(control, *drivers[-1]), PROGRESS))
    except StorageError as error:
        log.warning("stream=%s its progress can't be read: %s", stream.spec.name, error)
        return ProgressHistory()
