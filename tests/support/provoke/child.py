"""A driver to be killed: run by spark-submit with the name of what shall happen to it. Not imported by anything.

It logs like the real driver, runs a stream of one row a second, and ends as a job without the runner would.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("streamops.spark.runner")
LIMIT_SECONDS = 60


def main(happening: str, checkpoint: str) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    if happening.startswith("broker-gone"):
        _read_from_nowhere(spark, checkpoint + "-kafka")
        time.sleep(6)
    rows = spark.readStream.format("rate").load()
    acts: dict[str, Callable[[DataFrame, int], object]] = {
        "heap": lambda frame, batch: _fill_heap(spark),
        "divide": lambda frame, batch: frame.selectExpr("value div (value - value)").collect(),
        "shuffle": lambda frame, batch: _shuffle(spark),
    }
    write = acts.get(happening.rpartition(":")[2], lambda frame, batch: frame.count())
    query = rows.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint).start()
    log.info("stream=orders started, query_id=%s", query.id)
    _signal_later(happening, jvm)
    if happening.startswith("polls:"):
        while query.isActive:
            time.sleep(0.2)
        log.info("the query is no longer active")
        return 0
    try:
        query.awaitTermination(LIMIT_SECONDS)
    except Exception:
        log.exception("stream=orders failed")
        return 1
    return 0


def _signal_later(happening: str, jvm: int) -> None:
    """`signal:<name>:<python|jvm>`: that signal to that process, after some batches."""
    parts = happening.removeprefix("broker-gone:").split(":")
    if parts[0] == "signal":
        victim = os.getpid() if parts[2] == "python" else jvm
        threading.Timer(5, os.kill, (victim, signal.Signals[parts[1]])).start()


def _fill_heap(spark: SparkSession) -> None:
    spark.sql("select size(collect_list(repeat(cast(id as string), 20))) from range(40000000)").collect()


def _shuffle(spark: SparkSession) -> None:
    spark.sql("select count(*) from (select distinct uuid() from range(3000000))").collect()


def _read_from_nowhere(spark: SparkSession, checkpoint: str) -> None:
    rows = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:9").option("subscribe", "orders")
    )
    rows.load().writeStream.format("noop").option("checkpointLocation", checkpoint).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
