"""The queries that are recorded, in words that Spark 3.5 knows as well as 4.2.

Plain PySpark: it runs in the environments of old versions, where streamops is not installed. Each source gives the
columns n, k and t; each shape ends with a column that rests, so that a batch lasts as long as the recording wants it to.
"""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, session_window, window, window_time
from pyspark.sql.streaming import DataStreamWriter

Task = dict[str, Any]

SCHEMA = "n long, k string, t timestamp"
DELAY = "10 seconds"
UPDATING = frozenset({"counts", "total", "remembered"})
"""Shapes that need output mode `update`; the others append."""


def query(spark: SparkSession, task: Task, *, folder: Path) -> DataStreamWriter:
    """The query of a task, ready to be given a checkpoint and a trigger."""
    shape = SHAPES[task["shape"]]
    # The plan needs a use of the result, or the column that rests is never computed.
    rows = shape(spark, task, folder).withColumn("rested", expr(_rest(task)))
    writer = rows.writeStream.outputMode("update" if task["shape"] in UPDATING else "append")
    if task["sink"] == "json":
        return writer.format("json").option("path", str(folder / "out"))
    return writer.format("noop").options(**task["sink_options"])


def _rest(task: Task) -> str:
    """Java's own sleep: a batch that holds the key `slow` stands still in the middle of its task."""
    pause = f"CASE WHEN k = 'slow' THEN {task['pause_ms']}L ELSE {task['rest_ms']}L END"
    return f"java_method('java.lang.Thread', 'sleep', {pause})"


def read(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    """The stream of a task's source."""
    return SOURCES[task["source"]](spark, task, folder)


def _files(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))


def _rate(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 2).load()
    return rows.selectExpr("value AS n", "concat('k', value % 3) AS k", "timestamp AS t")


def _rate_micro_batch(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).option("startTimestamp", 1772366400000)
    return rows.load().selectExpr("value AS n", "concat('k', value % 3) AS k", "timestamp AS t")


def _kafka(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": task["bootstrap"],
        "subscribe": task["name"],
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "3",
    }
    rows = spark.readStream.format("kafka").options(**options).load()
    return rows.selectExpr(f"from_json(CAST(value AS STRING), '{SCHEMA}') AS row").select("row.*")


def _delta(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    return spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(str(folder / "in"))


def _files_and_rate(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    return _files(spark, task, folder).union(_rate(spark, task, folder))


SOURCES = {
    "file": _files,
    "rate": _rate,
    "rate-micro-batch": _rate_micro_batch,
    "kafka": _kafka,
    "delta": _delta,
    "file-and-rate": _files_and_rate,
}


def _counts(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    rows = read(spark, task, folder).withWatermark("t", DELAY)
    return rows.groupBy(window("t", "10 seconds"), "k").count()


def _total(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    """Without keys: its state has one partition only."""
    return read(spark, task, folder).groupBy().agg(expr("count(*) AS n"), expr("max(k) AS k"))


def _joined(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    right = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in-right"))
    right = right.selectExpr("n AS n2", "k AS k2", "t AS t2").withWatermark("t2", DELAY)
    return (
        read(spark, task, folder)
        .withWatermark("t", DELAY)
        .join(right, expr("k = k2 AND t2 BETWEEN t AND t + INTERVAL 20 SECONDS"))
    )


def _deduplicated(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    return read(spark, task, folder).withWatermark("t", DELAY).dropDuplicates(["n", "t"])


def _sessions(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    rows = read(spark, task, folder).withWatermark("t", DELAY)
    return rows.groupBy(session_window("t", "5 seconds"), "k").count()


def _chained(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    """Two aggregations, one behind the other: two operators."""
    small = _counts(spark, task, folder).withColumn("t", window_time("window"))
    return small.groupBy(window("t", "20 seconds"), "k").agg(expr("sum(count) AS n"))


def _remembered(spark: SparkSession, task: Task, folder: Path) -> DataFrame:
    # Needs pandas, which the environments of 4.0 and later have.
    from remembering import remembered

    return remembered(read(spark, task, folder))


SHAPES = {
    "plain": read,
    "counts": _counts,
    "total": _total,
    "joined": _joined,
    "deduplicated": _deduplicated,
    "sessions": _sessions,
    "chained": _chained,
    "remembered": _remembered,
}
