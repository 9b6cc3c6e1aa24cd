"""The Spark under test: a process that starts queries on demand, one command a line on its standard input, JSON each.

Not imported by anything, and kept apart, so that one that hangs or dies is replaced and the run goes on.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import expr, session_window, window
from pyspark.sql.streaming import StreamingQuery

from damage.spark import ANSWER

SCHEMA = "n long, k string, t long"
DELAY = "10 seconds"
LONG_DELAY = "10 minutes"
PACE = "800 milliseconds"
"""Of a query that takes no availableNow."""
TEXT_LIMIT = 30_000
Task = dict[str, Any]


def main(settings: str) -> int:
    """Answers until its input ends."""
    builder = SparkSession.builder.master("local[2]").appName("damage")
    for name, value in json.loads(settings).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    _answer({"version": spark.version, "jvm": spark._jvm.java.lang.ProcessHandle.current().pid()})
    for line in sys.stdin:
        asked = json.loads(line)
        _answer({"run": run, "read": read}[asked["do"]](spark, asked["task"]))
    return 0


def _answer(answer: dict[str, Any]) -> None:
    sys.stdout.write(ANSWER + json.dumps(answer) + "\n")
    sys.stdout.flush()


def run(spark: SparkSession, task: Task) -> dict[str, Any]:
    """One start with all that there is to read; what ran, and what it failed with."""
    session = _session(spark, task)
    delivered: list[int] = []
    query = None
    started = time.monotonic()
    try:
        writer = _writer(session, task, delivered)
        writer = writer.option("checkpointLocation", f"{task['folder']}/checkpoint").options(**task["options"])
        trigger = {"processingTime": PACE} if task["options"] else {"availableNow": True}
        query = writer.trigger(**trigger).start()
        if not (_processed if task["options"] else StreamingQuery.awaitTermination)(query, task["limit"]):
            query.stop()
            return {"ran": delivered, "ranges": {}, "hung": True, "error": "", "seconds": time.monotonic() - started}
        error = ""
    except Exception as failure:
        error = str(failure)
    # As JSON of the JVM: PySpark's own objects differ from version to version.
    progress = [json.loads(one.json()) for one in query._jsq.recentProgress()] if query is not None else []
    delivering = [one for one in progress if "addBatch" in one["durationMs"]]
    return {
        "ran": delivered if task["sink"] == "ledger" else [int(one["batchId"]) for one in delivering],
        "ranges": {one["batchId"]: [_range(source) for source in one["sources"]] for one in delivering},
        "hung": False,
        "error": error[:TEXT_LIMIT],
        "seconds": time.monotonic() - started,
    }


def _processed(query: StreamingQuery, limit: float) -> bool:
    """Whether all that there is was processed in time; the query is stopped then, as availableNow does by itself."""
    failures: list[Exception] = []

    def wait() -> None:
        try:
            query.processAllAvailable()
        except Exception as failure:
            failures.append(failure)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(limit)
    if waiting.is_alive():
        return False
    query.stop()
    if failures:
        raise failures[0]
    return True


def _range(source: dict[str, Any]) -> dict[str, Any]:
    return {"start": source["startOffset"], "end": source["endOffset"]}


def read(spark: SparkSession, task: Task) -> dict[str, Any]:
    """All rows of a sink, read as its readers read it."""
    session = _session(spark, task)
    path = f"{task['folder']}/out"
    if not os.path.isdir(path):
        return {"rows": [], "error": ""}
    try:
        found = session.read.format(task["sink"]).load(path).collect()
        return {"rows": [[_plain(value) for value in row] for row in found], "error": ""}
    except Exception as failure:
        return {"rows": [], "error": str(failure)[:TEXT_LIMIT]}


def _session(spark: SparkSession, task: Task) -> SparkSession:
    if spark.conf.get("spark.jars", ""):
        # Delta remembers the tables that it has seen by their path.
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    session = spark.newSession()
    for name, value in task["confs"].items():
        session.conf.set(name, value)
    return session


def _writer(session: SparkSession, task: Task, delivered: list[int]) -> Any:
    rows = SHAPES[task["shape"]](session, task)
    writer = rows.writeStream.outputMode("update" if task["shape"] in ("counts", "total") else "append")
    if task["sink"] == "ledger":
        return writer.foreachBatch(_ledger(Path(task["folder"]) / "ledger.jsonl", delivered))
    return writer.format(task["sink"]).option("path", f"{task['folder']}/out")


def _ledger(file: Path, delivered: list[int]) -> Callable[[DataFrame, int], None]:
    """A sink that only appends: it doesn't know which batches it has had."""

    def take(frame: DataFrame, batch: int) -> None:
        rows = [[_plain(value) for value in row] for row in frame.collect()]
        with file.open("a") as ledger:
            ledger.write(json.dumps({"batch": batch, "rows": rows}) + "\n")
        delivered.append(batch)

    return take


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | str) else str(value)


def _read(session: SparkSession, task: Task, folder: str = "in") -> DataFrame:
    return SOURCES[task["source"]](session, task, folder).withColumn("t", expr("timestamp_seconds(t)"))


def _files(session: SparkSession, task: Task, folder: str) -> DataFrame:
    return session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(f"{task['folder']}/{folder}")


def _delta(session: SparkSession, task: Task, folder: str) -> DataFrame:
    return session.readStream.format("delta").option("maxFilesPerTrigger", 1).load(f"{task['folder']}/{folder}")


def _kafka(session: SparkSession, task: Task, folder: str) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": task["bootstrap"],
        "subscribe": Path(task["folder"]).name,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "2",
        "kafkaConsumer.pollTimeoutMs": "15000",
        "fetchOffset.numRetries": "1",
        "kafka.default.api.timeout.ms": "5000",
        "kafka.request.timeout.ms": "4000",
    }
    rows = session.readStream.format("kafka").options(**options).load()
    return rows.selectExpr(f"from_json(CAST(value AS STRING), '{SCHEMA}') AS row").select("row.*")


def _rate(session: SparkSession, task: Task, folder: str) -> DataFrame:
    rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).option("startTimestamp", 0)
    return rows.load().selectExpr("value AS n", "'a' AS k", "1772366400L + value AS t")


SOURCES = {"files": _files, "delta": _delta, "kafka": _kafka, "rate": _rate}


def _plainly(session: SparkSession, task: Task) -> DataFrame:
    return _read(session, task).select("n", "k")


def _union(session: SparkSession, task: Task) -> DataFrame:
    return _read(session, task).union(_read(session, task, "in2")).select("n", "k")


def _counts(session: SparkSession, task: Task) -> DataFrame:
    return _read(session, task).groupBy("k").agg(*_bits())


def _total(session: SparkSession, task: Task) -> DataFrame:
    return _read(session, task).groupBy().agg(*_bits()).selectExpr("'all' AS k", "bits", "count")


def _deduplicated(session: SparkSession, task: Task) -> DataFrame:
    return _read(session, task).withWatermark("t", LONG_DELAY).dropDuplicates(["n", "t"]).select("n", "k")


def _joined(session: SparkSession, task: Task) -> DataFrame:
    left = _read(session, task).withWatermark("t", LONG_DELAY)
    right = _read(session, task, "in2").selectExpr("n AS n2", "t AS t2").withWatermark("t2", LONG_DELAY)
    return left.join(right, expr("n = n2 AND t2 BETWEEN t - INTERVAL 1 HOUR AND t + INTERVAL 1 HOUR")).select("n", "k")


def _sessions(session: SparkSession, task: Task) -> DataFrame:
    rows = _read(session, task).withWatermark("t", DELAY).groupBy(session_window("t", "5 seconds").alias("w"), "k")
    return rows.agg(*_bits()).selectExpr("unix_timestamp(w.start) AS n", "k", "bits", "count")


def _windows(session: SparkSession, task: Task) -> DataFrame:
    rows = _read(session, task).withWatermark("t", DELAY).groupBy(window("t", "20 seconds").alias("w"), "k")
    return rows.agg(*_bits()).selectExpr("unix_timestamp(w.start) AS n", "k", "bits", "count")


def _bits() -> list[Column]:
    """Which rows a group has had, each as a bit, and how many."""
    return [expr("sum(shiftleft(1L, CAST(n AS int))) AS bits"), expr("count(*) AS count")]


SHAPES: dict[str, Callable[[SparkSession, Task], DataFrame]] = {
    "plain": _plainly,
    "union": _union,
    "counts": _counts,
    "total": _total,
    "deduplicated": _deduplicated,
    "joined": _joined,
    "sessions": _sessions,
    "windows": _windows,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
