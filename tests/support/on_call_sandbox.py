"""An installation for whoever is on call: a broker, an Airflow, and two streams that run, one of them with state."""

import copy
import json
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamops.clock import SystemClock
from streamops.kafka.broker import KafkaAccess, PartitionFacts
from streamops.kafka.confluent import ConfluentBroker
from streamops.launch.processes import PROC
from streamops_sandbox import kafka
from streamops_sandbox.airflow import Component
from streamops_sandbox.chaos.leftovers import end_leftovers
from streamops_sandbox.drivers import parent_of
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.fleet_settings import fleet_settings
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.orders import OrdersState
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.sandboxed_stream import STREAM, SandboxedStream
from streamops_sandbox.waiting import SilentNarrator

ORDERS = STREAM
WORDS = "word_count"
WORDS_TOPIC = "words"
WORDS_PARTITIONS = 2
ORDERS_A_SECOND = 50.0
LINES_A_SECOND = 5.0
LINE = "alpha beta gamma"
DRAIN_SECONDS = 300.0
DRIVER_MEMORY = "640m"
"""Two drivers beside a broker, an Airflow and a browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What both streams have made of all that was ever sent."""

    lost: int
    """Beyond what was deleted on purpose."""
    doubled: int


class WordFeed:
    """The same line again and again, so that each of its words is counted as often as lines were sent."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import Producer

        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "log_level": 0}
        )
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._sent = 0

    def start(self) -> None:
        """Send until `pause`; nothing where it sends already."""
        if self._thread:
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="word-feed", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Stop sending, and wait until all lines have arrived; SandboxError where one does not."""
        self._stop.set()
        if self._thread:
            self._thread.join()
            self._thread = None
        if left := self._producer.flush(120):
            raise SandboxError(f"{left} lines have not arrived")

    def _run(self) -> None:
        while not self._stop.wait(1 / LINES_A_SECOND):
            self._producer.produce(WORDS_TOPIC, value=LINE, partition=self._sent % WORDS_PARTITIONS)
            self._sent += 1
            self._producer.poll(0)


class OnCallSandbox:
    """The installation, with its streams by name."""

    def __init__(self, project: Path, root: Path) -> None:
        self._project = project
        layout = SandboxLayout(project=project, root=root, own_dags=True)
        inherited = {**os.environ, "STREAMOPS_CONFIG": str(layout.settings)}
        self.sandbox = Sandbox(layout, narrator=SilentNarrator(), inherited=inherited)
        self.streams: dict[str, SandboxedStream] = {}
        self.feed: WordFeed | None = None
        self.deleted = 0
        """Records that were deleted before the stream of orders could read them."""

    def up(self) -> None:
        """Start all of it, and return when Airflow answers."""
        layout = self.sandbox.layout
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(self._project / "dags", layout.dags, ignore=ignored, dirs_exist_ok=True)
        self.sandbox.up(with_airflow=False)
        self.sandbox.broker.ensure_topic(WORDS_TOPIC, partitions=WORDS_PARTITIONS)
        self._declare()
        self.attach()
        self.begin_feeding()
        self.sandbox.up()

    def attach(self) -> None:
        """To what runs already."""
        self.streams = {
            name: SandboxedStream(self.sandbox, narrator=SilentNarrator(), actor="on-call", name=name)
            for name in (ORDERS, WORDS)
        }
        self.feed = WordFeed(self.sandbox.broker.bootstrap)

    def down(self) -> None:
        """End all of it, whatever state it is in."""
        if self.feed:
            with suppress(SandboxError):
                self.feed.pause()
        end_leftovers(self.sandbox)

    def begin_feeding(self) -> None:
        """Let records come in."""
        assert self.feed is not None
        self.feed.start()
        self.sandbox.start_orders(kafka.ORDERS_TOPIC, rate=ORDERS_A_SECOND)

    def environment(self) -> dict[str, str]:
        """Of a command that a person runs beside it."""
        return {**os.environ, **self.sandbox.environment()}

    def account(self) -> Account:
        """Stop what comes in, wait until it is all in the tables or nothing more comes, and compare."""
        assert self.feed is not None
        self.feed.pause()
        state = self.streams[ORDERS].stop_orders()
        deadline = time.monotonic() + DRAIN_SECONDS
        while (lacking := self._lacking(state)) > 0 and time.monotonic() < deadline:
            time.sleep(2)
        counts = self._counts()
        lines = self._end_of(WORDS_TOPIC)
        ledger = self.streams[ORDERS].ledger(state)
        self.begin_feeding()
        return Account(
            lost=max(lacking, 0), doubled=ledger.duplicated + sum(max(counts[word] - lines, 0) for word in LINE.split())
        )

    def delete_what_waits(self, *, leaving: int = 20) -> int:
        """Delete records that the stopped stream of orders has not read, all but the last few; how many it will miss.

        Counted by its own query: that of its dead letters may have read a little further, so a malformed record more may arrive.
        """
        broker = self.broker_facts()
        read = self._read_to()
        begins = {partition: end - leaving for partition, (_, end) in broker.items()}
        self._delete_records(begins)
        missed = sum(max(begin - read[partition], 0) for partition, begin in begins.items())
        self.deleted += missed
        return missed

    def broker_facts(self) -> dict[int, tuple[int, int]]:
        """First and next offset of each partition of the orders."""
        topic = self._scan(kafka.ORDERS_TOPIC)
        return {one.partition: (one.earliest or 0, one.latest or 0) for one in topic}

    def pids_of(self, *components: Component) -> tuple[int, ...]:
        """Their processes with all that they have started, the parents first."""
        records = [self.sandbox.daemons.running(component.daemon) for component in components]
        found = [record.pid for record in records if record]
        parents = {int(entry.name): parent_of(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit()}
        for pid in found:  # It grows meanwhile: children of children come, too.
            found += [child for child, parent in parents.items() if parent == pid]
        return tuple(found)

    def checkpoint(self, stream: str) -> Path:
        """Its folder."""
        return Path(self.streams[stream].spec.checkpoint.removeprefix("file://"))

    def _lacking(self, state: OrdersState) -> int:
        """Records that were sent and are in no table, those deleted on purpose left out."""
        orders = state.sent + state.malformed - self.deleted - self.streams[ORDERS].rows()
        counts, lines = self._counts(), self._end_of(WORDS_TOPIC)
        return orders + max(lines - counts[word] for word in LINE.split())

    def _counts(self) -> Counter[str]:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:
            table = DeltaTable(self.streams[WORDS].spec.sink.table.removeprefix("file://")).to_pyarrow_table()
        except TableNotFoundError:
            return Counter()
        return Counter(dict(zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True)))

    def _end_of(self, topic: str) -> int:
        return sum(one.latest or 0 for one in self._scan(topic))

    def _scan(self, topic: str) -> tuple[PartitionFacts, ...]:
        broker = ConfluentBroker(KafkaAccess(bootstrap=self.sandbox.broker.bootstrap), SystemClock())
        return broker.scan([topic]).topic(topic).partitions

    def _read_to(self) -> dict[int, int]:
        """The next offset of each partition that the stream of orders reads, by its newest commit."""
        commits = self.checkpoint(ORDERS) / "commits"
        newest = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
        text = (self.checkpoint(ORDERS) / "offsets" / str(newest)).read_text().splitlines()[-1]
        return {int(partition): offset for partition, offset in json.loads(text)[kafka.ORDERS_TOPIC].items()}

    def _delete_records(self, begins: Mapping[int, int]) -> None:
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.sandbox.broker.bootstrap, "log_level": 0})
        wanted = [TopicPartition(kafka.ORDERS_TOPIC, partition, begin) for partition, begin in begins.items()]
        for answer in admin.delete_records(wanted).values():
            answer.result(timeout=30)

    def _declare(self) -> None:
        layout = self.sandbox.layout
        text = layout.stream_config.read_text(encoding="utf-8")
        derived = fleet_settings(text, self.environment(), project=self._project, stream=ORDERS, size=1)
        settings = json.loads(derived)
        orders = settings["streams"][ORDERS]
        orders["launch"]["conf"]["spark.driver.memory"] = DRIVER_MEMORY
        settings["streams"][WORDS] = self._counting(orders)
        layout.settings.parent.mkdir(parents=True, exist_ok=True)
        layout.settings.write_text(json.dumps(settings, indent=2), encoding="utf-8")

    def _counting(self, orders: Mapping[str, Any]) -> dict[str, Any]:
        """The stream with state: the same in all but its job and its places."""
        words = copy.deepcopy(dict(orders))
        data = self.sandbox.layout.data
        words["job"] = str(self._project / "jobs" / "word_count.py")
        words["description"] = "Running count of the words in Kafka lines, in a Delta table"
        words["source"]["kafka"]["topics"] = [WORDS_TOPIC]
        words["sink"]["delta"]["table"] = str(data / "tables" / WORDS)
        words["sink"]["dead_letters"] = str(data / "tables" / f"{WORDS}_dead_letters")
        words["checkpoint"] = str(data / "checkpoints" / WORDS)
        return words
