"""A real broker, and what is done to it by a client that is independent of what is tested."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from support.provoke.broker import Broker

LIMIT_SECONDS = 60


class Cluster:
    """The broker with a client of its own, independent of what is tested."""

    def __init__(self, bootstrap: str, broker: Broker | None = None) -> None:
        self.bootstrap = bootstrap
        self._broker = broker
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    @classmethod
    def at(cls, bootstrap: str) -> "Cluster":
        """One that is not to be paused."""
        return cls(bootstrap)

    def create(self, topic: str, *, partitions: int = 1, **config: str) -> None:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)
        self.eventually(lambda: self._admin.create_topics([new])[topic].result(timeout=30))
        for number in range(partitions):
            self.eventually(lambda number=number: self.produce(topic, 0, partition=number))

    def delete(self, topic: str) -> None:
        """Gone when this returns: a busy broker takes records for a topic for a while after the controller has deleted it."""
        self._admin.delete_topics([topic])[topic].result(timeout=30)
        # A client of its own: what one has listed it believes for minutes, and partitions that come later have no leader for it.
        onlooker = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        until = time.monotonic() + LIMIT_SECONDS
        while topic in onlooker.list_topics(timeout=5).topics:
            assert time.monotonic() < until, f"{topic} is still there"
            time.sleep(0.1)

    def topics(self) -> frozenset[str]:
        """Those that the cluster has now."""
        onlooker = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return frozenset(onlooker.list_topics(timeout=5).topics)

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, total)])[topic].result(timeout=30)

    def delete_records(self, topic: str, *, before: int, partition: int = 0) -> None:
        places = [TopicPartition(topic, partition, before)]
        self.eventually(lambda: [answer.result(timeout=30) for answer in self._admin.delete_records(places).values()])

    def produce(self, topic: str, count: int, *, partition: int = 0, at_ms: int = 0) -> None:
        """Records, all with one stamp where one is given."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0, "linger.ms": 0})
        failures: list[object] = []
        for number in range(count):
            producer.produce(
                topic,
                str(number).encode(),
                key=str(number).encode(),
                partition=partition,
                timestamp=at_ms,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        if count == 0:
            producer.list_topics(topic, timeout=5)
        assert producer.flush(30) == 0
        assert failures == []

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The broker's process stands still, as in a long collection of garbage."""
        assert self._broker is not None
        os.kill(self._broker.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._broker.pid, signal.SIGCONT)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """The broker is gone at once, as by a crash; afterwards it starts again with the same data."""
        assert self._broker is not None
        self._broker.kill()
        try:
            yield
        finally:
            self._broker.start_again()

    @staticmethod
    def eventually(act: Callable[[], object]) -> None:
        """A new topic has its leaders a moment later."""
        until = time.monotonic() + LIMIT_SECONDS
        while True:
            try:
                act()
                return
            except KafkaException:
                if time.monotonic() > until:
                    raise
                time.sleep(0.3)


@contextmanager
def a_cluster(folder: Path, *, settings: str = "") -> Iterator[Cluster]:
    """A broker of its own in a folder below this one, stopped afterwards; `settings` are further lines of its properties."""
    broker = Broker(folder / "broker", settings=settings)
    try:
        yield Cluster(broker.bootstrap(), broker)
    finally:
        broker.stop()
