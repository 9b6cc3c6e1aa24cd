"""A job on trial: its declared stream under a real `streamops supervise`, on a real broker, struck in the middle of a batch.

The input comes in waves. A wave is sent only when the one before is settled: every query of the driver has committed all
that was sent, and no batch is due that would move a watermark. So what comes out does not depend on where batches end.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from streamops.checkpoint import CheckpointFacts, read_checkpoint
from streamops.checkpoint.layout import COMMITS, OFFSETS, batch_id
from streamops.checkpoint.source_offsets import KafkaOffset
from streamops.clock import SystemClock
from streamops.control.layout import companion_checkpoint
from streamops.errors import StorageError
from streamops.sandbox.drivers import kill_drivers_below, live_drivers
from streamops.sandbox.inputs import InputRecord, waves
from streamops.sandbox.inputs.sending import send
from streamops.sandbox.sandbox import QUICK_START
from streamops.sandbox.timeline import Timeline
from streamops.settings import load_settings
from streamops.spec import StreamSpec
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage
from streamops.supervisor.requests import Requests, this_author
from support.cluster import Cluster
from support.topics import ends, exists
from support.waiting import eventually

PROJECT = Path(__file__).parents[2]
CATALOGUE = PROJECT / "config" / "catalogue.yaml"
TARGET = os.environ.get("STREAMOPS_TRIALS", "")
"""A file that gets a line of JSON for each account; empty for none."""
LIMIT_SECONDS = 120.0
PARTITIONS = 2
PROMPT = "200ms"
"""Time between two looks of the supervisor, and between two batches: a trial need not wait for either."""

Row = Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a trial has found: rows that came out against rows that had to."""

    job: str
    guarantee: str
    records: int
    kills: int
    lost: int
    """Rows that had to come out and did not, or not with these values."""
    duplicated: int
    """Rows that came out and had not to: once more than wanted, or with other values."""
    seconds: float


class JobTrial:
    """One stream of the catalogue, from its first start to its stop."""

    def __init__(
        self,
        stream: str,
        *,
        root: Path,
        cluster: Cluster,
        tell: Callable[[str, object], None],
        environment: Mapping[str, str],
    ) -> None:
        self._tell = tell
        self._environment = {
            **os.environ,
            "KAFKA_BOOTSTRAP": cluster.bootstrap,
            "STREAMOPS_CONFIG": str(CATALOGUE),
            "STREAMOPS_DATA": str(root / "data"),
            "STREAMOPS_TRIGGER": PROMPT,
            "STREAMOPS_JAVA_OPTIONS": QUICK_START,
            "SPARK_LOCAL_IP": "127.0.0.1",
            **environment,
        }
        self.spec: StreamSpec = load_settings(CATALOGUE, self._environment).stream(stream)
        self.cluster = cluster
        self._log = root / "supervise.log"
        self._storage = LocalStorage()
        self._timeline = Timeline(self.spec.checkpoint, self.spec.restart)
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._began = time.monotonic()
        self._records = 0
        self._kills = 0
        self.guarantee: str = self.spec.sink.guarantee.value

    def begin(self, *topics: str) -> None:
        """Empty topics, those of the source and further ones, and a supervisor; it starts the stream by itself."""
        for topic in (*self.spec.kafka.topics, *topics):
            if exists(self.cluster.bootstrap, topic):
                self.cluster.delete(topic)
            self.cluster.create(topic, partitions=PARTITIONS)
        command = [sys.executable, "-m", "streamops.cli.main", "supervise", self.spec.name, "--interval", PROMPT]
        with self._log.open("ab") as log:
            self._supervisor = subprocess.Popen(
                command, cwd=PROJECT, env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def play(self, records: Collection[InputRecord], *, kill_in: Collection[int]) -> None:
        """Send wave after wave, strike the driver in a batch of those named, and settle after each."""
        for number, wave in enumerate(waves(records)):
            before = self._timeline.committed()
            self.send(wave)
            if number in kill_in:
                self.kill_in_batch(after=before)
            self.settle()

    def send(self, records: Iterable[InputRecord]) -> None:
        """Put these into their topics."""
        self._records += send(records, bootstrap=self.cluster.bootstrap)

    def settle(self) -> None:
        """Return when all that was sent is committed and nothing is due; AssertionError past the limit."""
        sent = ends(self.cluster.bootstrap, *self.spec.kafka.topics)
        self._wait(lambda: self._is_settled(sent), f"the stream to settle at {sent}")

    def kill_in_batch(self, *, after: int | None = None, once: Callable[[], bool] = lambda: True) -> int:
        """SIGKILL for the driver's processes while a batch is planned, not committed, and `once` holds; the batch.

        `after` is the batch that was the newest committed one before the records were sent, else the one that is it now.
        Returns when the supervisor has submitted the next driver.
        """
        committed = self._timeline.committed() if after is None else after
        self._wait(lambda: bool(live_drivers(self._timeline.control)), "a driver to strike")
        (driver,) = live_drivers(self._timeline.control)
        self._wait(lambda: self._is_in_batch(committed) and once(), f"a batch after {committed} to strike in")
        os.killpg(driver.leader, signal.SIGKILL)
        batch = self._newest(OFFSETS)
        assert batch > self._newest(COMMITS), f"batch {batch} was committed before the blow fell"
        self._wait(lambda: self._timeline.newest_submitted() > driver.epoch, "the supervisor's restart")
        self._kills += 1
        return batch

    def stop(self) -> None:
        """Stop the stream as a person does, then the supervision."""
        Requests(self.spec, storage=self._storage, clock=SystemClock(), author=this_author("test:job-trial")).stop(
            "the trial is over"
        )
        self._wait(lambda: not live_drivers(self._timeline.control), "the stream's stop")
        self._end_supervision()

    def account(
        self, *, found: Iterable[Row], expected: Iterable[Row], dead_letters: Collection[InputRecord] = ()
    ) -> Account:
        """Compare what came out with what had to, row by row, dead letters too.

        Also written to the file that STREAMOPS_TRIALS names.
        """
        came, wanted = Counter(found), Counter(expected)
        assert wanted, "a trial that expects nothing proves nothing"
        if self.spec.sink.dead_letters:
            came.update(self.dead_letters())
        wanted.update((record.topic, record.key, record.value) for record in dead_letters)
        account = Account(
            job=self.spec.name,
            guarantee=self.guarantee,
            records=self._records,
            kills=self._kills,
            lost=(wanted - came).total(),
            duplicated=(came - wanted).total(),
            seconds=round(time.monotonic() - self._began, 1),
        )
        line = json.dumps(asdict(account))
        self._tell("figure", line)
        if TARGET:
            with Path(TARGET).open("a") as file:
                file.write(line + "\n")
        return account

    def rows(self, *columns: str) -> list[tuple[object, ...]]:
        """The rows of the stream's table, read by another library than the one that wrote them."""
        return table_rows(self.spec.sink.table, *columns)

    def dead_letters(self) -> list[tuple[object, ...]]:
        """Topic, key and value of each dead letter."""
        return table_rows(self.spec.sink.dead_letters, "topic", "key", "value")

    def clear(self) -> None:
        """Leave no process behind, whatever has happened."""
        self._end_supervision()
        kill_drivers_below(self._timeline.control.rpartition("/")[0])

    def _end_supervision(self) -> None:
        if self._supervisor and self._supervisor.poll() is None:
            self._supervisor.terminate()
            self._supervisor.wait(30)

    def _is_in_batch(self, committed: int) -> bool:
        planned = self._newest(OFFSETS)
        return planned > committed and planned > self._newest(COMMITS)

    def _newest(self, log: str) -> int:
        names = self._storage.list(f"{self.spec.checkpoint}/{log}")
        return max((batch for name in names if (batch := batch_id(name)) is not None), default=-1)

    def _is_settled(self, sent: Mapping[tuple[str, int], int]) -> bool:
        return all(_is_settled(self._look(address), sent) for address in self._checkpoints())

    def _checkpoints(self) -> Iterator[str]:
        yield self.spec.checkpoint
        if self.spec.sink.dead_letters:
            yield companion_checkpoint(self.spec.checkpoint, 0)

    def _look(self, address: str) -> CheckpointFacts | None:
        try:
            return read_checkpoint(self._storage, address)
        except StorageError:
            return None  # it moved during the look

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        if not eventually(condition, within=LIMIT_SECONDS):
            raise AssertionError(f"{self.spec.name}: waited {LIMIT_SECONDS:.0f} s for {what}\n{self._told()}")

    def _told(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]


@contextmanager
def on_trial(
    stream: str,
    *topics: str,
    root: Path,
    cluster: Cluster,
    tell: Callable[[str, object], None],
    environment: Mapping[str, str],
) -> Iterator[JobTrial]:
    """A trial that has begun; `topics` are those that the stream writes to. Nothing of it runs afterwards.

    `tell` gets the account under the name of `figure`, as pytest's `record_property` takes it.
    """
    trial = JobTrial(stream, root=root, cluster=cluster, tell=tell, environment=environment)
    try:
        trial.begin(*topics)
        yield trial
    finally:
        trial.clear()


def table_rows(table: str, *columns: str) -> list[tuple[object, ...]]:
    """These columns of all rows of a Delta table; none where it was never written."""
    try:
        found = DeltaTable(local_path(table)).to_pyarrow_table(columns=list(columns))
    except TableNotFoundError:
        return []
    return list(zip(*(found[column].to_pylist() for column in columns), strict=True))


def _is_settled(facts: CheckpointFacts | None, sent: Mapping[tuple[str, int], int]) -> bool:
    """All input is committed, and the watermark of the next batch is that of the last: none is due without input.

    Spark runs a batch without input when the watermark has moved (MicroBatchExecution, 3.5 to 4.3).
    """
    if facts is None or facts.has_pending_batch or facts.newest is None or facts.commit is None:
        return False
    read = {
        (position.topic, position.partition): position.next_offset
        for offset in facts.newest.offsets
        if isinstance(offset, KafkaOffset)
        for position in offset.positions
    }
    return read == dict(sent) and facts.commit.next_watermark_ms == facts.newest.header.watermark_ms
