"""Retention moves into the range of a backfill while it is under way: `streamops backfill` itself, real broker, real Spark.

What is proven:

1. Its driver is killed in the middle, records that are still to come are deleted: the command ends with 1 and names exactly
   what is missing of each partition; what was read before is in the table, once each, and nothing else.
2. `--resume` says the same again, and writes nothing.
3. A new backfill of the same range is refused with the same gap; with `--accept-expired` it reads what is left, exactly.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from streamops.launch.local import LocalLauncher
from support.backfill_drivers import CONF, PATIENCE, ROOT
from support.cluster import Cluster
from support.processes import processes_of
from support.provoke.broker import Broker
from support.settings import a_declared_stream, a_project
from support.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

JOB = """
import time

from pyspark.sql import functions as f

def define(spark, stream):
    slowly = f.udf(lambda value: (time.sleep(0.05), value)[1])
    rows = stream.from_kafka(spark).select(f.col("value").cast("string").alias("value"), "partition", "offset")
    return stream.to_delta(rows.select(slowly("value").alias("value"), "partition", "offset"))
"""

FROM = '{"orders":{"0":10,"1":20}}'
TO = '{"orders":{"0":130,"1":80}}'
STEP = 45
"""Records: four steps of 30 and 15, so that [100, 130) and [65, 80) are the last one."""
IMPATIENT = {"fetchOffset.retryIntervalMs": "50", "kafkaConsumer.pollTimeoutMs": "15000"}
"""So that Spark gives up on records that are gone sooner than after two minutes."""


class Shop:
    """A project with one stream, whose topic is on a real broker, and its command line."""

    def __init__(self, root: Path, cluster: Cluster, spark_submit: str) -> None:
        self.root = root
        self.cluster = cluster
        self.project = a_project(root)
        (root / "jobs" / "orders.py").write_text(JOB)
        options = {"startingOffsets": "earliest", **IMPATIENT}
        launch = {
            "spark_submit": spark_submit,
            "master": "local[2]",
            "jars": [str(ROOT / ".jars" / "spark" / "*.jar")],
            "conf": dict(CONF),
        }
        restart = {"initial_delay": "1s", "max_delay": "1s", "jitter": 0}
        timings = {"beat": "1s", "halt": "60s", "takeover": "120s"}
        source = {"kafka": {"bootstrap_servers": cluster.bootstrap, "topics": ["orders"], "options": options}}
        stream = a_declared_stream("orders", source=source, launch=launch, restart=restart, timings=timings)
        self.project.load(streams={"orders": stream})

    def backfill(self, *arguments: str) -> subprocess.Popen[str]:
        """`streamops backfill orders`, begun."""
        command = [sys.executable, "-m", "streamops.cli.main", "--config", str(self.project.file), "backfill", "orders"]
        return subprocess.Popen(
            [*command, *arguments, "--json"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "plugins")},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def new(self, table: str, *arguments: str) -> subprocess.Popen[str]:
        """A backfill of the range into a table."""
        asked = ("--from", FROM, "--to", TO, "--table", str(self.root / table), "--reason", "a wrong rate", "--yes")
        return self.backfill(*asked, "--chunk", str(STEP), *arguments)

    @property
    def name(self) -> str:
        """Of the first backfill."""
        return sorted(folder.name for folder in self._backfills.iterdir())[0]

    @property
    def steps_done(self) -> int:
        """Committed steps of the first backfill."""
        if not self._backfills.exists():
            return 0
        return sum(1 for file in self._backfills.glob("*/checkpoint/commits/*") if file.name.isdecimal())

    def kill_driver(self) -> None:
        """SIGKILL to every process of the only driver, as by the kernel when memory is short."""
        (driver,) = (one for one in LocalLauncher().living() if str(self.root) in one.control)
        os.killpg(int(driver.handle.process.partition(":")[0]), signal.SIGKILL)

    def rows(self, table: str) -> Counter[tuple[int, int]]:
        """Partition and offset of each row, with how often it is there."""
        found = DeltaTable(str(self.root / table)).to_pyarrow_table(columns=["partition", "offset"])
        return Counter(zip(found["partition"].to_pylist(), found["offset"].to_pylist(), strict=True))

    @property
    def _backfills(self) -> Path:
        return self.root / "data" / "checkpoints" / "orders.backfills"


@pytest.fixture
def shop(tmp_path, spark_submit):
    broker = Broker(tmp_path / "kafka" / "broker")
    try:
        cluster = Cluster(broker.bootstrap(), broker)
        cluster.create("orders", partitions=2, retention_ms="-1")
        cluster.produce("orders", 150, partition=0)
        cluster.produce("orders", 90, partition=1)
        yield Shop(tmp_path / "shop", cluster, spark_submit)
    finally:
        for pid in processes_of(tmp_path / "shop"):
            os.kill(pid, signal.SIGKILL)
        broker.stop()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, answer and talk of a command."""
    out, err = process.communicate(timeout=2 * PATIENCE)
    return process.returncode, out, err


def places(partition: int, first: int, end: int) -> Counter[tuple[int, int]]:
    return Counter({(partition, offset): 1 for offset in range(first, end)})


@pytest.mark.timeout(1200)
def test_what_retention_takes_of_a_backfill_is_named_and_nothing_is_skipped(shop):
    begun = shop.new("again")
    assert eventually(lambda: shop.steps_done >= 1 or begun.poll() is not None, within=PATIENCE)
    shop.kill_driver()
    done = shop.steps_done
    assert done in (1, 2), "the driver was too quick to be killed before the last step"
    # Into the last step of partition 0, and of partition 1 to its very end.
    shop.cluster.delete_records("orders", before=115, partition=0)
    shop.cluster.delete_records("orders", before=80, partition=1)

    code, out, err = ended(begun)

    missing = [
        f"orders-0 [{10 + 30 * done}, 115): {115 - 10 - 30 * done}",
        f"orders-1 [{20 + 15 * done}, 80): {60 - 15 * done}",
    ]
    read = places(0, 10, 10 + 30 * done) + places(1, 20, 20 + 15 * done)
    answer = json.loads(out)
    assert (code, answer["missing"]) == (1, missing), err
    assert answer["progress"]["steps_done"] == done
    assert answer["trouble"] != ""
    assert shop.rows("again") == read

    # Asked again, it says the same.
    code, out, err = ended(shop.backfill("--resume", shop.name))

    assert (code, json.loads(out)["missing"]) == (1, missing), err
    assert shop.rows("again") == read

    # A new one is refused, unless somebody accepts what is lost.
    code, out, err = ended(shop.new("accepted"))

    assert (code, out) == (1, "")
    lost = ["  MISSING  orders-0 [10, 115): 105", "  MISSING  orders-1 [20, 80): 60"]
    assert [line for line in err.splitlines() if "MISSING" in line] == lost
    code, out, err = ended(shop.new("accepted", "--accept-expired"))
    assert code == 0, err
    assert json.loads(out)["missing"] == ["orders-0 [10, 115): 105", "orders-1 [20, 80): 60"]
    assert shop.rows("accepted") == places(0, 115, 130)
