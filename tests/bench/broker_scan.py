"""A scan of ten thousand partitions of a real broker, and the naive way beside it: one question a partition."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.figure import Figure, timed
from streamops.clock import SystemClock
from streamops.kafka.broker import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from support.provoke.broker import Broker

TOPICS, PARTITIONS = 100, 100
TOPICS_AT_ONCE = 20
"""A controller refuses larger batches."""
READY_LIMIT = 300.0
RUNS = 10
ASKED_ONE_BY_ONE = 500
"""Partitions; the rest is taken to cost the same."""


def measure(root: Path, *, topics: int = TOPICS, partitions: int = PARTITIONS) -> Iterator[Figure]:
    """Time and requests of a scan with a client that is connected."""
    broker = Broker(root / "broker")
    try:
        bootstrap = broker.bootstrap()
        names = [f"topic-{number:03d}" for number in range(topics)]
        _create(bootstrap, names, partitions)
        statistics: list[str] = []
        asked = ConfluentBroker(KafkaAccess(bootstrap=bootstrap), SystemClock(), on_statistics=statistics.append)
        until = time.monotonic() + READY_LIMIT
        while not _is_whole(asked, names, partitions):
            assert time.monotonic() < until, "the broker did not become leader of all partitions"
            time.sleep(1)
        before = _requests(asked, statistics)
        asked.scan(names)
        requests = _requests(asked, statistics) - before
        scanned = timed(lambda: asked.scan(names), runs=RUNS)
        one_by_one = _one_by_one(bootstrap, names, partitions)
    finally:
        broker.stop()
    yield Figure(
        name="broker scan: time",
        value=median(scanned.wall),
        unit="ms",
        baseline=one_by_one,
        against=f"one question a partition ({ASKED_ONE_BY_ONE} asked, the rest taken to cost the same)",
        goal=2000,
        note=f"{topics * partitions} partitions of {topics} topics; {scanned.note}",
    )
    yield Figure(
        name="broker scan: requests",
        value=requests.total(),
        unit="requests",
        baseline=topics * partitions,
        against="one question a partition",
        goal=4,
        note=", ".join(f"{count} × {kind}" for kind, count in sorted(requests.items())),
    )


def _create(bootstrap: str, names: list[str], partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for first in range(0, len(names), TOPICS_AT_ONCE):
        new = [
            NewTopic(name, num_partitions=partitions, replication_factor=1)
            for name in names[first : first + TOPICS_AT_ONCE]
        ]
        for created in admin.create_topics(new).values():
            created.result(timeout=120)


def _is_whole(broker: ConfluentBroker, names: list[str], partitions: int) -> bool:
    facts = broker.scan(names)
    ends = [one for topic in facts.topics for one in topic.partitions]
    return len(ends) == len(names) * partitions and not any(one.trouble for one in ends)


def _requests(broker: ConfluentBroker, statistics: list[str]) -> Counter[str]:
    """Of all brokers so far, by kind, as librdkafka counts them."""
    seen = len(statistics)
    while len(statistics) < seen + 2:
        broker.poll(0.2)
    told = json.loads(statistics[-1])["brokers"].values()
    return Counter({kind: count for one in told for kind, count in one["req"].items() if count})


def _one_by_one(bootstrap: str, names: list[str], partitions: int) -> float:
    """Milliseconds for all partitions, both ends of each."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench", "log_level": 0})
    try:
        places = [TopicPartition(name, number) for name in names for number in range(partitions)]
        asked = places[:: max(1, len(places) // ASKED_ONE_BY_ONE)]
        started = perf_counter()
        for place in asked:
            consumer.get_watermark_offsets(place, timeout=10)
        return (perf_counter() - started) * 1000 * len(places) / len(asked)
    finally:
        consumer.close()
