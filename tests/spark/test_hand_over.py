"""An old script with batches of many seconds and a driver of ours on one checkpoint: real Spark on both sides.

The script has the address of its checkpoint from its environment and from an interactive reader's point of view is
invisible, so that only the checkpoint itself tells of it. What is proven, in one life of a stream:

1. While the script is in a batch, `adopt` waits for longer than its slowest batch, sees it committed, and refuses.
2. After it was killed in a batch, `adopt` watches as long, goes ahead, and our driver runs that batch again.
3. When its unit starts the script again beside our driver, one of the two loses the next batch. If it is ours, the stream
   is parked at once; if it is the script, its unit starts it again.
4. No row is written twice by anybody, but for those of the batch that was cut off.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from streamops.clock import SystemClock
from streamops.control.log import LogReader
from streamops.control.records import Adopted, Claimed, DriverEnded
from streamops.control.snapshot import load_state
from streamops.errors import ControlLogError
from streamops.failures.failure_class import FailureClass
from streamops.launch.local import LocalLauncher
from streamops.operations.requests import Requests
from streamops.spec import FileFormat, FilesSource, LaunchSpec, Timings, Trigger, TriggerKind
from streamops.storage.local import LocalStorage
from streamops.supervision.decision import Action
from streamops.supervision.supervisor import Supervisor
from support.specs import PERSON, SUPERVISOR, a_stream, seconds
from support.state_root import init
from support.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.thorough, pytest.mark.timeout(900)]

SLOW = 15
"""Seconds of a batch of the script."""
PATIENCE = 180

QUERY = """
import json, os, time, uuid

def work(rows, batch):
    found = [row.id for row in rows.collect()]
    time.sleep({sleep})
    name = f"{{batch:04d}}-{who}-{{uuid.uuid4().hex}}.json"
    open(os.path.join({out!r}, name), "w").write(json.dumps(found))

def reader(spark):
    return spark.readStream.schema("id BIGINT").option("maxFilesPerTrigger", 1).json({inbox!r})
"""

SCRIPT = """
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.memory", "512m").getOrCreate()
query = reader(spark).writeStream.foreachBatch(work).option("checkpointLocation", os.environ["WHERE"])
query = query.trigger(processingTime="200 milliseconds").start()
while query.isActive and not query.status["message"].startswith("Waiting"):
    time.sleep(0.1)
print("idle", flush=True)
query.awaitTermination()
"""

JOB = """
def define(spark, stream):
    return reader(spark).writeStream.foreachBatch(work)
"""

LIGHT = (("spark.driver.memory", "512m"), ("spark.ui.enabled", "false"), ("spark.sql.shuffle.partitions", "1"))


class Scene:
    """The checkpoint, its input and its output, the old script, and a supervisor of ours."""

    def __init__(self, root: Path, spark_submit: str) -> None:
        self.root, self.files = root, 0
        for folder in ("in", "out", "checkpoints"):
            (root / folder).mkdir()
        self.checkpoint = root / "checkpoints" / "orders"
        for name, tail, sleep in (("legacy", SCRIPT, SLOW), ("job", JOB, 0)):
            query = QUERY.format(sleep=sleep, who=name, out=str(root / "out"), inbox=str(root / "in"))
            (root / f"{name}.py").write_text(query + tail)
        self.spec = a_stream(
            checkpoint=f"file://{self.checkpoint}",
            job=str(root / "job.py"),
            source=FilesSource(path=f"file://{root}/in", format=FileFormat.JSON, schema="id BIGINT"),
            trigger=Trigger(kind=TriggerKind.PROCESSING_TIME, interval=seconds(5)),
            timings=Timings(beat=seconds(1), halt=seconds(20), takeover=seconds(40)),
            launch=LaunchSpec(spark_submit=spark_submit, master="local[1]", conf=LIGHT, folder=str(root)),
        )
        self.storage, self.clock, self.script = LocalStorage(), SystemClock(), None
        init(self.storage, f"file://{root}/state")
        self.supervisor = Supervisor(
            self.spec,
            storage=self.storage,
            launcher=LocalLauncher(),
            clock=self.clock,
            state_root=f"file://{root}/state",
            author=SUPERVISOR,
        )
        self.person = Requests(self.spec, storage=self.storage, clock=self.clock, author=PERSON)

    def feed(self) -> None:
        (self.root / "in" / f".{self.files}").write_text(json.dumps({"id": self.files}))
        (self.root / "in" / f".{self.files}").rename(self.root / "in" / f"{self.files:04d}.json")
        self.files += 1

    def start_script(self) -> None:
        log_file = self.root / "legacy.log"
        self._log_begun = log_file.stat().st_size if log_file.exists() else 0
        environment = {**os.environ, "WHERE": str(self.checkpoint), "PYSPARK_PYTHON": sys.executable}
        with open(log_file, "ab") as log:
            self.script = subprocess.Popen(
                [sys.executable, str(self.root / "legacy.py")],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.root,
            )

    def kill_script(self) -> None:
        if self.script:
            os.killpg(self.script.pid, signal.SIGKILL)
            self.script.wait()
            self.script = None

    def newest(self, log: str) -> int:
        return max((int(file.name) for file in (self.checkpoint / log).glob("[0-9]*")), default=-1)

    def expect(self, condition, what: str) -> None:
        if not eventually(condition, within=PATIENCE):
            pytest.fail(f"not seen: {what}\n{(self.root / 'legacy.log').read_text(errors='replace')[-3000:]}")

    @property
    def is_parked(self) -> bool:
        return load_state(self.storage, f"{self.spec.checkpoint}.streamops").parked is not None

    def is_script_up(self) -> bool:
        """Its query waits for input: it has seen that no batch is in flight, and will not run one of ours again."""
        is_there = self.script is not None and self.script.poll() is None
        return is_there and b"idle\n" in (self.root / "legacy.log").read_bytes()[self._log_begun :]

    def settle(self):
        decision = self.supervisor.settle()
        time.sleep(0.5)
        return decision

    def records(self, kind):
        log = LogReader.of_checkpoint(self.storage, self.spec.checkpoint).read()
        return [record.body for record in log if isinstance(record.body, kind)]

    def rows(self) -> Counter:
        written = (json.loads(file.read_text()) for file in (self.root / "out").glob("*.json"))
        return Counter(row for batch in written for row in batch)

    def end(self) -> None:
        self.kill_script()
        state = load_state(self.storage, f"{self.spec.checkpoint}.streamops")
        if state.newest and state.newest.submission:
            LocalLauncher().kill(state.newest.submission.handle)


@pytest.fixture
def scene(tmp_path, spark_submit):
    scene = Scene(tmp_path, spark_submit)
    yield scene
    scene.end()


def test_a_slow_script_is_never_joined_and_parks_the_stream_when_it_comes_back(scene, record_property):
    scene.start_script()
    scene.feed()
    scene.expect(lambda: scene.newest("commits") == 0, "the first batch of the script")
    scene.feed()
    scene.expect(lambda: scene.newest("offsets") == 1, "a batch in flight")
    assert scene.supervisor.settle().action is Action.PARKED

    begun = time.monotonic()
    with pytest.raises(ControlLogError, match="somebody runs it"):
        scene.person.adopt("moving in", watch=seconds(2))
    assert scene.newest("commits") == 1
    assert scene.records(Adopted) == []
    record_property("figure", f"adopt beside a batch of {SLOW} s refused after {time.monotonic() - begun:.0f} s")

    scene.feed()
    scene.expect(lambda: scene.newest("offsets") == 2, "another batch in flight")
    scene.kill_script()
    watched = time.monotonic()
    scene.person.adopt("the script is stopped", watch=seconds(2))
    assert time.monotonic() - watched >= SLOW
    scene.expect(
        lambda: (scene.settle(), scene.newest("commits") == 2)[1], "our driver runs the batch that was cut off"
    )

    rounds = 0
    while not scene.is_parked and rounds < 5:
        rounds += 1
        come_back(scene)

    assert scene.settle().action is Action.PARKED
    (end,) = scene.records(DriverEnded)
    assert end.failure_class in (FailureClass.CONCURRENT_WRITER, FailureClass.KILLED)
    assert len(scene.records(Claimed)) == 1
    time.sleep(SLOW + 2)  # What the script has in hand is written as well.
    assert {row: count for row, count in scene.rows().items() if count > 1} == {}
    assert set(scene.rows()) == set(range(scene.files))
    record_property("figure", f"parked as {end.failure_class} after {rounds} restarts of the script: 0 rows doubled")


def come_back(scene: Scene) -> None:
    """The unit of the script starts it beside our driver, and there is one more batch: whose it is, Spark's log decides."""
    scene.start_script()
    scene.expect(scene.is_script_up, "the script is up again")
    before = scene.newest("commits")
    scene.feed()
    scene.expect(lambda: (scene.settle(), scene.newest("commits") > before)[1], "somebody runs the next batch")
    eventually(lambda: scene.settle().action is Action.PARKED or not scene.is_script_up(), within=60)
    if not scene.is_parked:
        scene.kill_script()
