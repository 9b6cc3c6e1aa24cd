"""A job on trial: its declared stream under a real `streamops supervise`, on a real broker, struck in the middle of a batch.

The input comes in waves. A wave is sent only when the one before is settled: every query of the driver has committed all
that was sent, and no batch is due that would move a watermark. So what comes out does not depend on where batches end.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from streamops.checkpoint import CheckpointFacts, read_checkpoint
from streamops.checkpoint.layout import COMMITS, OFFSETS, batch_id
from streamops.checkpoint.source_offsets import KafkaOffset
from streamops.clock import SystemClock
from streamops.control.layout import companion_checkpoint
from streamops.errors import StorageError
from streamops.sandbox.drivers import LiveDriver, kill_drivers_below, live_drivers
from streamops.sandbox.inputs import InputRecord, waves
from streamops.sandbox.inputs.sending import send
from streamops.sandbox.sandbox import QUICK_START
from streamops.sandbox.timeline import Timeline
from streamops.settings import load_settings
from streamops.spec import StreamSpec
from streamops.storage.local import LocalStorage
from streamops.supervisor.requests import Requests, this_author
from support.cluster import Cluster
from support.job_account import Account, Difference, Row, table_rows
from support.topics import ends, exists
from support.waiting import eventually

PROJECT = Path(__file__).parents[2]
CATALOGUE = PROJECT / "config" / "catalogue.yaml"
LIMIT_SECONDS = 240.0
PARTITIONS = 2
PROMPT = "200ms"
"""Time between two looks of the supervisor, and between two batches: a trial need not wait for either."""


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

    def begin(self, *topics: str) -> None:
        """Empty topics, those of the source and further ones, and a supervisor; it starts the stream by itself."""
        for topic in (*self._sources, *topics):
            if exists(self.cluster.bootstrap, topic):
                self.cluster.delete(topic)
            self.cluster.create(topic, partitions=PARTITIONS)
        command = [sys.executable, "-m", "streamops.cli.main", "supervise", self.spec.name, "--interval", PROMPT]
        with self._log.open("ab") as log:
            self._supervisor = subprocess.Popen(
                command, cwd=PROJECT, env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def play(
        self,
        records: Collection[InputRecord],
        *,
        kill_in: Collection[int],
        written: Callable[[], int] | None = None,
    ) -> None:
        """Send wave after wave, strike the driver in a batch of those named, and settle after each.

        With `written`, which counts what the sink has got, a blow falls once it has got something of the batch.
        """
        for number, wave in enumerate(waves(records)):
            before, count = self._timeline.committed(), written() if written else 0
            self.send(wave)
            if number in kill_in:
                self.kill_in_batch(after=before, once=_is_more(written, than=count))
            self.settle()

    def send(self, records: Iterable[InputRecord]) -> None:
        """Put these into their topics."""
        self._records += send(records, bootstrap=self.cluster.bootstrap)

    def settle(self) -> None:
        """Return when all that was sent is committed and nothing is due; AssertionError past the limit."""
        sent = ends(self.cluster.bootstrap, *self._sources)
        self._wait(lambda: self._is_settled(sent), f"the stream to settle at {sent}")

    def kill_in_batch(self, *, after: int | None = None, once: Callable[[], bool] = lambda: True) -> int:
        """SIGKILL for the driver's processes while a batch is planned, not committed, and `once` holds; the batch.

        `after` is the batch that was the newest committed one before the records were sent, else the one that is it now.
        Returns when the supervisor has submitted the next driver.
        """
        committed = self._timeline.committed() if after is None else after
        driver = self._strike(
            lambda: self._is_in_batch(committed) and once(), f"a batch after {committed} to strike in"
        )
        batch = self._newest(OFFSETS)
        assert batch > self._newest(COMMITS), f"batch {batch} was committed before the blow fell"
        self._await_restart(driver)
        return batch

    def kill(self, *, once: Callable[[], bool]) -> None:
        """SIGKILL for the driver's processes as soon as `once` holds: of a query whose batches show in no log while they run.

        Returns when the supervisor has submitted the next driver.
        """
        self._await_restart(self._strike(once, "the moment to strike"))

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when it holds; AssertionError past the limit."""
        self._wait(condition, what)

    def committed(self) -> int:
        """The newest committed batch; -1 before the first."""
        return self._timeline.committed()

    def _strike(self, once: Callable[[], bool], what: str) -> LiveDriver:
        self._wait(lambda: bool(live_drivers(self._timeline.control)), "a driver to strike")
        (driver,) = live_drivers(self._timeline.control)
        self._wait(once, what)
        os.killpg(driver.leader, signal.SIGKILL)
        return driver

    def _await_restart(self, driver: LiveDriver) -> None:
        self._wait(lambda: self._timeline.newest_submitted() > driver.epoch, "the supervisor's restart")
        self._kills += 1

    @property
    def _sources(self) -> tuple[str, ...]:
        return self.spec.kafka.topics if self.spec.reads_kafka else ()

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What `streamops` answers in the trial's environment."""
        command = [sys.executable, "-m", "streamops.cli.main", *arguments]
        return subprocess.run(
            command, cwd=PROJECT, env=self._environment, capture_output=True, text=True, timeout=LIMIT_SECONDS
        )

    def stop(self) -> None:
        """Stop the stream as a person does, then the supervision.

        Before, `streamops check`, `lag` and `plan` must find nothing: all is read, and a start would be safe.
        """
        for question in ("check", "lag", "plan"):
            answer = self.ask(question, self.spec.name)
            assert answer.returncode == 0, f"{question}: {answer.stdout}{answer.stderr}"
        Requests(self.spec, storage=self._storage, clock=SystemClock(), author=this_author("test:job-trial")).stop(
            "the trial is over"
        )
        self._wait(lambda: not live_drivers(self._timeline.control), "the stream's stop")
        self._end_supervision()

    def account(
        self,
        *,
        found: Iterable[Row],
        expected: Iterable[Row],
        dead_letters: Collection[InputRecord] = (),
        repeated: int = 0,
    ) -> Account:
        """Compare what came out with what had to, row by row, dead letters too; `repeated` are those found twice otherwise.

        Also written to the file that STREAMOPS_TRIALS names.
        """
        wanted = [*expected, *((record.topic, record.key, record.value) for record in dead_letters)]
        difference = Difference.between(found=[*found, *self.dead_letters()], expected=wanted)
        difference.tell()
        account = Account(
            job=self.spec.name,
            guarantee=self.spec.sink.guarantee.value,
            records=self._records,
            kills=self._kills,
            lost=difference.lost.total(),
            duplicated=difference.surplus.total() + repeated,
            seconds=round(time.monotonic() - self._began, 1),
        )
        account.keep()
        self._tell("figure", account.line)
        return account

    def rows(self, *columns: str) -> list[tuple[object, ...]]:
        """The rows of the stream's table, read by another library than the one that wrote them."""
        return table_rows(self.spec.sink.table, *columns)

    def dead_letters(self) -> list[tuple[object, ...]]:
        """Topic, key and value of each dead letter."""
        table = self.spec.sink.dead_letters
        return table_rows(table, "topic", "key", "value") if table else []

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


def _is_more(written: Callable[[], int] | None, *, than: int) -> Callable[[], bool]:
    return lambda: written is None or written() > than


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
    has_moved = facts.commit.next_watermark_ms != facts.newest.header.watermark_ms
    # Continuous mode leaves the header blank and has no watermark.
    return read == dict(sent) and (facts.newest.header.is_empty or not has_moved)
