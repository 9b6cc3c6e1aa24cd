"""Advice that is often given and wrong, each against the pinned Spark: what the jobs do instead rests on these."""

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkValueError
from pyspark.sql import functions as f

pytestmark = pytest.mark.spark


@pytest.fixture
def readings(spark, tmp_path: Path):
    """A stream of two readings of one device, by two users."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "0.json").write_text(
        '{"device": "a", "user": "u", "at": "2026-03-01T12:02:00Z"}\n'
        '{"device": "a", "user": "v", "at": "2026-03-01T12:40:00Z"}\n'
    )
    return spark.readStream.schema("device STRING, user STRING, at TIMESTAMP").json(str(folder))


@pytest.fixture
def ran(tmp_path: Path):
    """Runs a frame's query until its input is read; its rows, and the query."""

    def run(frame, *, mode: str, checkpoint: str = "checkpoint"):
        rows: list = []
        writer = frame.writeStream.outputMode(mode).foreachBatch(lambda batch, _: rows.extend(batch.collect()))
        query = writer.option("checkpointLocation", str(tmp_path / checkpoint)).start()
        try:
            query.processAllAvailable()
            return rows, query.recentProgress
        finally:
            query.stop()

    return run


def by_ten_minutes(readings):
    return readings.groupBy(f.window("at", "10 minutes"), "device")


def test_append_mode_can_do_windows_where_there_is_a_watermark(readings, ran):
    """“Append mode cannot do windows or aggregations.”"""
    counts = by_ten_minutes(readings.withWatermark("at", "10 minutes")).count()

    rows, _ = ran(counts, mode="append")

    assert [(row.window.start.minute, row["count"]) for row in rows] == [(0, 1)]


def test_append_mode_refuses_windows_without_a_watermark(readings, ran):
    with pytest.raises(AnalysisException, match="watermark"):
        ran(by_ten_minutes(readings).count(), mode="append")


def test_different_values_can_be_counted_approximately_only(readings, ran):
    """“`countDistinct` in a streaming aggregation.”"""
    per_device = readings.groupBy("device")

    with pytest.raises(AnalysisException, match="approx_count_distinct"):
        ran(per_device.agg(f.count_distinct("user")), mode="complete", checkpoint="exact")
    rows, _ = ran(per_device.agg(f.approx_count_distinct("user").alias("users")), mode="complete")
    assert [tuple(row) for row in rows] == [("a", 2)]


def test_the_json_reader_takes_no_streaming_frame(spark, readings):
    """“Parse JSON in a stream with `spark.read.json(df.rdd…)`.” The jobs call `from_json` with a schema."""
    with pytest.raises(AnalysisException, match="writeStream"):
        spark.read.json(readings.select("device").rdd.map(lambda row: row.device))


def test_the_continuous_trigger_takes_an_interval(readings):
    """“`trigger(continuous=True)`.”"""
    with pytest.raises(PySparkValueError):
        readings.writeStream.trigger(continuous=True)


def test_the_state_store_is_kept_in_memory_unless_another_is_set(spark, readings, ran):
    """“RocksDB is the default state store.”"""
    assert spark.conf.get("spark.sql.streaming.stateStore.providerClass").endswith("HDFSBackedStateStoreProvider")

    _, progress = ran(readings.groupBy("device").count(), mode="complete")

    metrics = progress[0]["stateOperators"][0]["customMetrics"]
    assert "loadedMapCacheHitCount" in metrics
    assert not [name for name in metrics if name.startswith("rocksdb")]


def test_every_batch_is_planned_anew(readings, ran):
    """“The plan is compiled once and reused for every batch.”"""
    _, progress = ran(by_ten_minutes(readings.withWatermark("at", "10 minutes")).count(), mode="append")

    # The second has no input: it closes the window that the watermark has passed.
    assert [batch["numInputRows"] for batch in progress[:2]] == [2, 0]
    assert all(batch["durationMs"]["queryPlanning"] >= 0 for batch in progress[:2])


def test_the_first_start_pins_the_partitions_of_the_state(spark, readings, ran, tmp_path):
    """“200 shuffle partitions are fine, they can be changed later.”"""
    counts = readings.groupBy("device").count()
    ran(counts, mode="complete")
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        more = '{"device": "b", "user": "u", "at": "2026-03-01T12:41:00Z"}\n'
        (tmp_path / "in" / "1.json").write_text(more)
        _, progress = ran(counts, mode="complete")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)

    assert progress[0]["stateOperators"][0]["numShufflePartitions"] == int(before)


def test_a_second_query_on_a_checkpoint_takes_the_place_of_the_first_without_a_word(readings, tmp_path):
    """“One checkpoint shared by two queries.” In one session the first ends; of one elsewhere Spark knows nothing."""
    writer = readings.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "shared"))
    first = writer.start()
    second = writer.start()
    try:
        assert (first.isActive, second.isActive) == (False, True)
        assert first.exception() is None
    finally:
        first.stop()
        second.stop()
