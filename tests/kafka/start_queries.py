"""Starts Kafka queries one after the other in a Spark of its own and writes down what became of each. Run by a test.

Arguments: a file with `{"confs": {…}, "queries": [{"topic", "bootstrap", "checkpoint", "output", "options"}]}`, and where the
answers go. A query may have a "trigger" of its own, and one that "breaks" fails within its first batch.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

LIMIT_SECONDS = 120
AVAILABLE_NOW = {"availableNow": True}
IMPATIENT = {"fetchOffset.retryIntervalMs": "50", "kafkaConsumer.pollTimeoutMs": "15000"}


def main(plan: str, answers: str) -> None:
    todo = json.loads(Path(plan).read_text())
    builder = SparkSession.builder
    for name, value in todo["confs"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    told = [run(spark, query) for query in todo["queries"]]
    Path(answers).write_text(json.dumps(told))


def run(spark: SparkSession, query: dict) -> dict:
    """Everything that is there now, by `availableNow` or its own trigger: an error's text, and what the sink has got so far."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", query["bootstrap"])
    options = {"subscribe": query["topic"], "startingOffsets": "earliest", **IMPATIENT, **query["options"]}
    value = "cast(raise_error('broken') as string) value" if query.get("breaks") else "cast(value as string) value"
    rows = reader.options(**options).load().selectExpr(value, "partition", "offset")
    writer = rows.writeStream.format("json").option("path", query["output"])
    error = ""
    try:
        trigger = query.get("trigger", AVAILABLE_NOW)
        running = writer.option("checkpointLocation", query["checkpoint"]).trigger(**trigger).start()
        if not running.awaitTermination(LIMIT_SECONDS):
            running.stop()
            error = f"it still ran after {LIMIT_SECONDS} s"
    except Exception as failure:
        error = str(failure)
    schema = "value string, partition int, offset long"
    got = spark.read.schema(schema).json(query["output"]).collect()
    return {"error": error, "read": sorted([row.partition, row.offset] for row in got)}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
