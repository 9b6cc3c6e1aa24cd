"""What the pinned Spark refuses under the triggers of low latency and with asynchronous progress: why the settings do too.

Each row is a refusal of `streamops.settings.resolve`. Where Spark gets to take one back, its row fails, and the rule can go.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streamops.control.drivers import QueryBeat, QueryStep
from streamops.spark.query_watch import QueryWatch
from streamops.spark.report import DriverReport
from support.cluster import Cluster, a_cluster
from support.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NOBODY = "127.0.0.1:1"
"""Where no broker listens: these are refused before one is asked."""
ASYNC = {"asyncProgressTrackingEnabled": "true"}


def records(spark: Any, bootstrap: str = NOBODY, **options: str) -> Any:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "in")
    return reader.option("startingOffsets", "earliest").options(**options).load()


def to_kafka(rows: Any, mode: str, bootstrap: str = NOBODY, **options: str) -> Any:
    writer = rows.select("key", "value").writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return writer.option("topic", "out").outputMode(mode).options(**options)


def to_delta(rows: Any, folder: Path, mode: str) -> Any:
    return rows.select("value").writeStream.format("delta").outputMode(mode).option("path", str(folder / "table"))


REFUSED: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "real time in append mode": (
        lambda rows, _: to_kafka(rows, "append").trigger(realTime="5 seconds"),
        "OUTPUT_MODE_NOT_SUPPORTED",
    ),
    "real time with batches of less than five seconds": (
        lambda rows, _: to_kafka(rows, "update").trigger(realTime="4999 milliseconds"),
        "INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL",
    ),
    "real time into Delta, in its mode": (
        lambda rows, folder: to_delta(rows, folder, "update").trigger(realTime="5 seconds"),
        "DELTA_UNSUPPORTED_OUTPUT_MODE",
    ),
    "real time through foreachBatch": (
        lambda rows, _: (
            rows.writeStream.foreachBatch(lambda *_: None).outputMode("update").trigger(realTime="5 seconds")
        ),
        "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
    ),
    "real time with asynchronous progress": (
        lambda rows, _: to_kafka(rows, "update", **ASYNC).trigger(realTime="5 seconds"),
        "ASYNC_PROGRESS_TRACKING_NOT_SUPPORTED",
    ),
    "asynchronous progress with availableNow": (
        lambda rows, _: to_kafka(rows, "append", **ASYNC).trigger(availableNow=True),
        "cannot be used with AvailableNow trigger",
    ),
    "asynchronous progress with once": (
        lambda rows, _: to_kafka(rows, "append", **ASYNC).trigger(once=True),
        "cannot be used with Once trigger",
    ),
    "continuous into Delta": (
        lambda rows, folder: to_delta(rows, folder, "append").trigger(continuous="1 second"),
        "Unknown type of trigger: ContinuousTrigger",
    ),
}


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in REFUSED.items()])
def test_spark_refuses(row: tuple[Callable[[Any, Path], Any], str], spark: Any, tmp_path: Path) -> None:
    writer, words = row

    assert words in failure_of(writer(records(spark), tmp_path), tmp_path / "checkpoint")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with a_cluster(tmp_path_factory.mktemp("low-latency")) as cluster:
        for topic in ("in", "out"):
            cluster.create(topic)
        cluster.produce("in", 3)
        yield cluster


@pytest.mark.kafka
def test_real_time_takes_no_limit_on_its_rate(spark: Any, cluster: Cluster, tmp_path: Path) -> None:
    rows = records(spark, cluster.bootstrap, maxOffsetsPerTrigger="2")

    writer = to_kafka(rows, "update", cluster.bootstrap).trigger(realTime="5 seconds")

    assert "maxOffsetsPerTrigger is not compatible with real time mode" in failure_of(writer, tmp_path / "checkpoint")


@pytest.mark.kafka
def test_a_query_by_batches_can_not_go_on_from_a_continuous_one(spark: Any, cluster: Cluster, tmp_path: Path) -> None:
    """And the continuous one can: nothing is wrong with the checkpoint."""
    checkpoint = tmp_path / "checkpoint"

    def writer() -> Any:
        return to_kafka(records(spark, cluster.bootstrap), "append", cluster.bootstrap)

    def run_epochs(number: int) -> None:
        query = writer().option("checkpointLocation", str(checkpoint)).trigger(continuous="1 second").start()
        try:
            assert eventually(lambda: len(list((checkpoint / "commits").glob("[0-9]*"))) >= number, within=120)
            assert query.lastProgress is None
        finally:
            query.stop()

    run_epochs(3)
    assert "WatermarkTracker.currentWatermark()" in failure_of(writer().trigger(availableNow=True), checkpoint)
    run_epochs(6)


@pytest.mark.kafka
def test_a_continuous_query_is_at_work_and_its_epochs_count_with_data_or_without(
    spark: Any, cluster: Cluster, tmp_path: Path
) -> None:
    writer = to_kafka(records(spark, cluster.bootstrap), "append", cluster.bootstrap)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(continuous="1 second").start()
    report, watch = DriverReport(), QueryWatch(query)

    def seen() -> QueryBeat:
        report.saw([watch.look()])
        return report.state().queries[0]

    try:
        assert eventually(lambda: seen().batches >= 3, within=120), query.status
        assert seen().step is QueryStep.BATCH
        batch = seen().batch
        assert batch in [int(entry.name) for entry in (tmp_path / "checkpoint" / "commits").glob("[0-9]*")]
    finally:
        query.stop()


@pytest.mark.kafka
def test_a_run_with_available_now_goes_on_from_real_time_and_real_time_from_it(
    spark: Any, cluster: Cluster, tmp_path: Path
) -> None:
    """So `streamops catchup` works there, in the mode append too."""
    checkpoint = tmp_path / "checkpoint"

    def run(mode: str, **trigger: Any) -> Any:
        writer = to_kafka(records(spark, cluster.bootstrap), mode, cluster.bootstrap)
        return writer.option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()

    def batch_of_real_time() -> int:
        query = run("update", realTime="5 seconds")
        try:
            assert eventually(lambda: query.lastProgress is not None, within=120)
            return int(query.lastProgress.batchId)
        finally:
            query.stop()

    assert batch_of_real_time() == 0
    cluster.produce("in", 3)
    bounded = run("append", availableNow=True)
    assert bounded.awaitTermination(120)
    assert (bounded.lastProgress.batchId, bounded.lastProgress.numInputRows) == (1, 3)
    assert batch_of_real_time() == 2


def failure_of(writer: Any, checkpoint: Path) -> str:
    """What Spark says, at the start or soon after."""
    try:
        query = writer.option("checkpointLocation", str(checkpoint)).start()
    except Exception as error:
        return str(error)
    try:
        deadline = time.monotonic() + 60
        while query.isActive and time.monotonic() < deadline:
            time.sleep(0.1)
        return str(query.exception())
    finally:
        query.stop()
