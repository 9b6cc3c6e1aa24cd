"""One of two drivers that meet on a checkpoint. A process of plain PySpark, of any version, that is told what to do line by line.

Not imported by anything. It reads commands from its standard input, one of JSON a line, and answers each on its standard
output: `start` a query, `look` at it, `stop` it. While the file `hold` of its query is there, a batch of it waits in the middle.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from streamops.control.texts import FAILURE_LIMIT, shortened
from streamops.spark.driver_process import go_round_faults
from streamops.spark.failure import error_classes, failure_text

SCHEMA = "n long, k string"
ANSWER = "@answer "
HELD_SECONDS = 90
Query = dict[str, Any]


def main(session: str) -> int:
    builder = SparkSession.builder.master("local[2]").appName("writer")
    for name, value in json.loads(session).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    driver = Driver(spark)
    print(ANSWER + json.dumps({"version": spark.version}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        answer = getattr(driver, asked["do"])(**asked.get("with", {}))
        print(ANSWER + json.dumps(answer), flush=True)
    return 0


class Driver:
    """One query at a time."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._query: StreamingQuery | None = None
        self._failure: dict[str, Any] | None = None

    def start(self, query: Query) -> dict[str, Any]:
        self._failure = None
        session = self._spark.newSession()
        go_round_faults(session)
        session.conf.set("spark.sql.session.timeZone", "UTC")
        for name, value in query["confs"].items():
            session.conf.set(name, value)
        try:
            self._query = _writer(session, query).start()
        except Exception as error:
            self._query, self._failure = None, _told(error, has_progressed=False)
        return self.look()

    def look(self) -> dict[str, Any]:
        """Where the query stands: its last batch with progress, and what it failed with."""
        last = self._query.lastProgress if self._query else None
        batch = int(last["batchId"]) if last and last["numInputRows"] else -1
        if self._query and not self._query.isActive and not self._failure:
            try:
                self._query.awaitTermination()
            except Exception as error:
                self._failure = _told(error, has_progressed=batch >= 0)
        return {
            "is_active": bool(self._query and self._query.isActive),
            "batch": batch,
            "message": str(self._query.status["message"]) if self._query else "",
            "failure": self._failure,
        }

    def stop(self) -> dict[str, Any]:
        seen = self.look()
        if self._query:
            self._query.stop()
        self._query = None
        return seen


def _told(error: Exception, *, has_progressed: bool) -> dict[str, Any]:
    """What the runner of a driver would leave behind."""
    text = failure_text(error)
    return {"text": shortened(text, FAILURE_LIMIT), "classes": error_classes(text), "has_progressed": has_progressed}


def _writer(spark: SparkSession, query: Query) -> DataStreamWriter:
    folder, hold = Path(query["folder"]), Path(query["hold"])
    rows = SOURCES[query["source"]](spark, query)
    if query["source"] not in UNTOUCHED and query["sink"] not in FUNCTIONS:
        rows = rows.withColumn("n", udf(_waiting(hold), "long")("n"))
    if query["shape"] == "counts":
        rows = rows.groupBy("k").count()
    writer = rows.writeStream.outputMode("update" if query["shape"] == "counts" else "append")
    if query["sink"] in FUNCTIONS:
        writer = writer.foreachBatch(FUNCTIONS[query["sink"]](hold, folder / "out"))
    else:
        writer = writer.format(query["sink"])
        if query["sink"] != "noop":
            writer = writer.option("path", str(folder / "out"))
    writer = writer.options(**query["options"]).option("checkpointLocation", str(folder / "checkpoint"))
    return writer.trigger(**query["trigger"])


def _waiting(hold: Path) -> Callable[[int], int]:
    text = str(hold)

    def wait(number: int) -> int:
        end = time.monotonic() + HELD_SECONDS
        while Path(text).exists() and time.monotonic() < end:
            time.sleep(0.05)
        return number

    return wait


def _files(spark: SparkSession, query: Query) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(query["folder"] + "/in")


def _rate(spark: SparkSession, query: Query) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", 5).load().selectExpr("value AS n", "'k' AS k")


def _rate_micro_batch(spark: SparkSession, query: Query) -> DataFrame:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load()
    return rows.selectExpr("value AS n", "'k' AS k")


def _delta(spark: SparkSession, query: Query) -> DataFrame:
    return spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(query["folder"] + "/table")


def _kafka(spark: SparkSession, query: Query) -> DataFrame:
    options = {"kafka.bootstrap.servers": query["bootstrap"], "subscribe": query["topic"]}
    options |= {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "2"}
    rows = spark.readStream.format("kafka").options(**options).load()
    return rows.selectExpr("offset AS n", "CAST(value AS STRING) AS k")


SOURCES = {
    "files": _files,
    "rate": _rate,
    "rate-micro-batch": _rate_micro_batch,
    "rate-continuous": _rate,
    "delta": _delta,
    "kafka": _kafka,
}
UNTOUCHED = frozenset({"rate-continuous"})
"""Held by nothing: its tasks never end."""


def _append_parquet(hold: Path, out: Path) -> Callable[[DataFrame, int], None]:
    wait = _waiting(hold)

    def write(rows: DataFrame, batch: int) -> None:
        rows.withColumn("n", udf(wait, "long")("n")).write.mode("append").parquet(str(out))

    return write


def _append_delta(hold: Path, out: Path) -> Callable[[DataFrame, int], None]:
    wait = _waiting(hold)

    def write(rows: DataFrame, batch: int) -> None:
        writer = rows.withColumn("n", udf(wait, "long")("n")).write.format("delta").mode("append")
        writer.option("txnAppId", "orders").option("txnVersion", batch).save(str(out))

    return write


def _sleep(hold: Path, out: Path) -> Callable[[DataFrame, int], None]:
    wait = _waiting(hold)

    def write(rows: DataFrame, batch: int) -> None:
        wait(0)
        rows.collect()

    return write


FUNCTIONS = {"function-parquet": _append_parquet, "function-delta": _append_delta, "function-idle": _sleep}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
