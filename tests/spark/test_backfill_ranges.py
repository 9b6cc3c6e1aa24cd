"""Backfills of random ranges over a topic of a million records, planned by what the broker says: exactly the range, each time.

BACKFILLS (default 2) says how many, SEED where chance begins; by turns they are asked for in offsets and in times. In each of
them KILLS (default 1) drivers are killed at moments of chance before one is left alone.
"""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from streamops.backfill import OffsetBound, RangeFound, RequestedRange, TimeBound, chunks_of, find_range
from streamops.clock import SystemClock
from streamops.control.kafka_offsets import Offsets
from streamops.control.records import DriverHandle, Outcome
from streamops.kafka.broker import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from support.backfill_drivers import BackfillBench, pid_of
from support.cluster import Cluster, a_cluster
from support.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.thorough]

COUNT = int(os.environ.get("BACKFILLS", "1"))
KILLS = int(os.environ.get("KILLS", "1"))
SEED = int(os.environ.get("SEED", "20260301"))
TOPIC = "million"
SIZES = (420_000, 310_000, 269_999, 1)
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
LATENESS = timedelta(minutes=2)
"""How far a stamp may lie behind the newest one before it."""

JOB = """
def define(spark, stream):
    return stream.to_delta(stream.from_kafka(spark).select("partition", "offset"))
"""


@dataclass(frozen=True)
class Stock:
    """The topic: the stamps of each partition in milliseconds, as an independent consumer found them."""

    cluster: Cluster
    stamps: tuple[list[int], ...]


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    with a_cluster(tmp_path_factory.mktemp("kafka")) as cluster:
        cluster.create(TOPIC, partitions=len(SIZES), retention_ms="-1")
        fill(cluster, random.Random(SEED))
        yield Stock(cluster, tuple(read_stamps(cluster, number) for number in range(len(SIZES))))


def fill(cluster: Cluster, chance: random.Random) -> None:
    """A day in each partition, its stamps out of order by up to the lateness."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, "linger.ms": 50})
    late = LATENESS // timedelta(milliseconds=1)
    for partition, size in enumerate(SIZES):
        for number in range(size):
            at = int(BEGIN.timestamp() * 1000) + 86_400_000 * number // size - chance.randrange(late)
            while True:
                try:
                    producer.produce(TOPIC, b"x", partition=partition, timestamp=at)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0


def read_stamps(cluster: Cluster, partition: int) -> list[int]:
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "independent", "enable.auto.commit": False}
    consumer = Consumer({**settings, "log_level": 0})
    consumer.assign([TopicPartition(TOPIC, partition, 0)])
    stamps: list[int] = []
    while len(stamps) < SIZES[partition]:
        for message in consumer.consume(10_000, timeout=20):
            assert message.error() is None
            assert message.offset() == len(stamps)
            stamps.append(message.timestamp()[1])
    consumer.close()
    return stamps


def asked_in_offsets(chance: random.Random) -> RequestedRange:
    ends = [sorted(chance.randint(0, size) for _ in "ab") for size in SIZES]
    first, last = ({(TOPIC, n): end[which] for n, end in enumerate(ends)} for which in (0, 1))
    return RequestedRange(begin=OffsetBound(offsets=Offsets.of(first)), end=OffsetBound(offsets=Offsets.of(last)))


def asked_in_times(chance: random.Random) -> RequestedRange:
    first, last = sorted(chance.sample(range(86_400_000), 2))
    return RequestedRange(
        begin=TimeBound(at=BEGIN + timedelta(milliseconds=first)),
        end=TimeBound(at=BEGIN + timedelta(milliseconds=last)),
        slack=LATENESS,
    )


def wanted(stock: Stock, asked: RequestedRange) -> set[tuple[int, int]]:
    """Partition and offset of what belongs to a range, from the question and the records alone."""
    if isinstance(asked.begin, OffsetBound) and isinstance(asked.end, OffsetBound):
        firsts, lasts = asked.begin.offsets.by_partition(), asked.end.offsets.by_partition()
        return {(n, offset) for (topic, n), first in firsts.items() for offset in range(first, lasts[topic, n])}
    assert isinstance(asked.begin, TimeBound)
    assert isinstance(asked.end, TimeBound)
    first, last = (int(bound.at.timestamp() * 1000) for bound in (asked.begin, asked.end))
    return {
        (number, offset)
        for number, stamps in enumerate(stock.stamps)
        for offset, stamp in enumerate(stamps)
        if first <= stamp < last
    }


def found(stock: Stock, asked: RequestedRange) -> RangeFound:
    broker = ConfluentBroker(KafkaAccess(bootstrap=stock.cluster.bootstrap), SystemClock(), limit=timedelta(seconds=20))
    facts = broker.scan([TOPIC])
    places = [(TOPIC, number) for number in range(len(SIZES))]
    begins, ends = (broker.offsets_at(places, at) if at else None for at in (asked.begin_lookup, asked.end_lookup))
    answer = find_range(asked, facts, begins=begins, ends=ends)
    assert isinstance(answer, RangeFound), answer
    return answer


def kill(driver: DriverHandle, one: BackfillBench, epoch: int, *, after: float) -> None:
    """SIGKILL to JVM and Python so many seconds after it has shown life, if it has not ended by then."""
    one.expect(lambda: bool(one.steps(epoch)) or one.has_ended(driver))
    eventually(lambda: one.has_ended(driver), within=after)
    with suppress(ProcessLookupError):
        os.killpg(pid_of(driver), signal.SIGKILL)
    one.expect(lambda: one.has_ended(driver))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", range(COUNT))
def test_a_backfill_is_exactly_the_range_that_was_asked_for(stock, tmp_path, spark_submit, number):
    chance = random.Random(SEED + number)
    asked = asked_in_times(chance) if number % 2 else asked_in_offsets(chance)
    range_found = found(stock, asked)
    bootstrap = stock.cluster.bootstrap
    one = BackfillBench(tmp_path / "bench", spark_submit, bootstrap=bootstrap, topic=TOPIC, job=JOB)
    plan = one.plan(
        range_found.start,
        *chunks_of(range_found.start, range_found.end, records=chance.randint(20_000, 200_000)),
        asked=str(asked),
        not_before=range_found.not_before,
        before=range_found.before,
    )

    try:
        for epoch in range(1, KILLS + 1):
            kill(one.start(epoch), one, epoch, after=chance.uniform(0, 40))
        trace = one.run(KILLS + 1)
    finally:
        one.end()

    assert trace.exit.outcome is Outcome.FINISHED, one.driver_log[-4000:]
    rows = one.rows(plan.table)
    assert rows.total() == len(rows)
    assert rows.keys() == wanted(stock, asked)
