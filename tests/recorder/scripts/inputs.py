"""Input for the recorded queries: each portion makes one batch. The same rows at each recording. Plain PySpark."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

Task = dict[str, Any]

BEGIN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STEP = timedelta(seconds=6)
ROWS = 3
PARTITIONS = 2


def add_portions(spark: SparkSession, task: Task, *, folder: Path, portions: range) -> None:
    """Input for as many batches as there are portions; sources that make their own rows need none."""
    for portion in portions:
        rows = _rows(portion, is_slow=portion == task["slow_portion"])
        if task["source"] in ("file", "file-and-rate"):
            _write_file(folder / "in", portion, rows)
        if task["shape"] == "joined":
            _write_file(folder / "in-right", portion, rows)
        if task["source"] == "kafka":
            _send(spark, task, rows)
        if task["source"] == "delta":
            frame = spark.createDataFrame(
                [(row["n"], row["k"], row["t"]) for row in rows], "n long, k string, t string"
            )
            frame = frame.withColumn("t", frame["t"].cast("timestamp")).coalesce(1)
            frame.write.format("delta").mode("append").save(str(folder / "in"))


def _rows(portion: int, *, is_slow: bool) -> list[dict[str, Any]]:
    rows = [
        {"n": number, "k": f"k{number % 4}", "t": (BEGIN + portion * STEP).isoformat()}
        for number in range(portion * ROWS, (portion + 1) * ROWS)
    ]
    if is_slow:
        rows[-1]["k"] = "slow"
    return rows


def _write_file(folder: Path, portion: int, rows: list[dict[str, Any]]) -> None:
    """The file source takes the oldest file first: the portion decides how old it is."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{portion:03}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    moment = (BEGIN + portion * STEP).timestamp()
    os.utime(file, (moment, moment))


def _send(spark: SparkSession, task: Task, rows: list[dict[str, Any]]) -> None:
    records = [(row["k"], json.dumps(row), row["n"] % PARTITIONS) for row in rows]
    frame = spark.createDataFrame(records, "key string, value string, partition int")
    frame.write.format("kafka").option("kafka.bootstrap.servers", task["bootstrap"]).option(
        "topic", task["name"]
    ).save()
