"""Runs queries and writes down what Spark itself tells of them.

    python record_queries.py PLAN.json REPORT.jsonl

Plain PySpark: it runs in the environments of old versions, where streamops is not installed. A plan holds `session`, the
settings of the session, `tasks`, and `at_once`, how many of them run side by side. Each line of the report belongs to
one task: the query's id, each batch that ended, and the end. A query that is to be killed gets no end.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from inputs import add_portions
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from queries import query

Task = dict[str, Any]

LIMIT_SECONDS = 600
LOOK_SECONDS = 0.1


class Report:
    """Lines of JSON, each there as soon as it is known: a kill must not take what came before."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = Lock()

    def add(self, task: Task, **told: Any) -> None:
        with self._lock, self._file.open("a") as file:
            file.write(json.dumps({"task": task["name"], **told}) + "\n")


def main(plan_file: str, report_file: str) -> None:
    """Run all tasks of a plan."""
    plan = json.loads(Path(plan_file).read_text())
    report = Report(Path(report_file))
    builder = SparkSession.builder
    for key, value in plan["session"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with ThreadPoolExecutor(plan["at_once"]) as pool:
        list(pool.map(lambda task: _run(spark.newSession(), task, report), plan["tasks"]))
    spark.stop()


def _run(spark: SparkSession, task: Task, report: Report) -> None:
    folder, error = Path(task["folder"]), ""
    for key, value in task["confs"].items():
        spark.conf.set(key, value)
    try:
        first = task["first_portion"]
        for count in task["rounds"]:
            add_portions(spark, task, folder=folder, portions=range(first, first + count))
            first += count
            _run_once(spark, task, folder, report)
    except Exception as failure:
        error = str(failure)[:3000]
    report.add(task, end=True, error=error, state=[] if error else _state(spark, task))


def _run_once(spark: SparkSession, task: Task, folder: Path, report: Report) -> None:
    """One start of the query, until its input is read or it has run as many batches as it should."""
    trigger: dict[str, Any] = (
        {"availableNow": True} if task["ends_by_itself"] else {"processingTime": "500 milliseconds"}
    )
    writer = query(spark, task, folder=folder).trigger(**trigger)
    running = writer.option("checkpointLocation", task["checkpoint"]).start()
    report.add(task, id=str(running.id))
    told = 0
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        is_active = running.isActive
        events = _batches(running)
        for event in events[told:]:
            report.add(task, batch=event)
        told = len(events)
        has_enough = not task["ends_by_itself"] and told >= task["batches"]
        if not is_active or has_enough or time.monotonic() > deadline:
            break
        time.sleep(LOOK_SECONDS)
    running.stop()
    if running.exception() is not None:
        raise RuntimeError(str(running.exception()))


def _batches(running: StreamingQuery) -> list[dict[str, Any]]:
    """The batches that ended; an idle query sends events as well, and they have no `addBatch`."""
    # Not `recentProgress`: its Python form differs between versions, the JSON behind it does not.
    events = [json.loads(event.json()) for event in running._jsq.recentProgress()]
    return [event for event in events if "addBatch" in event.get("durationMs", {})]


def _state(spark: SparkSession, task: Task) -> list[dict[str, Any]]:
    """The operators and stores as Spark's own reader of state sees them (4.0 on); empty where there is none."""
    if spark.version.startswith("3.") or not (Path(task["checkpoint"]) / "state").exists():
        return []
    columns = ["operatorId", "operatorName", "stateStoreName", "numPartitions"]
    rows = spark.read.format("state-metadata").load(task["checkpoint"]).select(*columns).collect()
    return [row.asDict() for row in rows]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
