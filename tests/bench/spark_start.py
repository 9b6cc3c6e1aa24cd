"""What a start of the pinned Spark takes to find out about the same checkpoint."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from bench.synthetic import ADVANCE_MS, ROWS, Size

PATIENCE_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a start went."""

    milliseconds: float
    """From `start()` to the first progress, or to the error. The session was there before."""
    error: str
    """Empty where the first batch came through."""


@contextmanager
def session() -> Iterator[SparkSession]:
    """A Spark on two cores."""
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("streamops-bench")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def start(spark: SparkSession, checkpoint: Path, size: Size) -> Start:
    """Start the query of `bench.synthetic` on its checkpoint. The checkpoint is not the same afterwards."""
    spark.conf.set("spark.sql.shuffle.partitions", str(size.partitions))
    # Deletes nothing: a clean-up of tens of thousands of files is no part of finding out.
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", str(2 * size.batches))
    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS)
        .option("startTimestamp", 0)
        .option("advanceMillisPerBatch", ADVANCE_MS)
        .load()
    )
    writer = (
        rows.groupBy("value")
        .count()
        .writeStream.outputMode("update")
        .format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(processingTime="1 hour")
    )
    started = time.perf_counter()
    query = writer.start()
    error = ""
    try:
        while query.lastProgress is None and time.perf_counter() - started < PATIENCE_SECONDS:
            if query.awaitTermination(0.05):
                break
    except StreamingQueryException as exception:
        error = str(exception)
    taken = (time.perf_counter() - started) * 1000
    query.stop()
    return Start(milliseconds=taken, error=error)
