"""The job `orders_to_delta` without streamops' runner: what `spark-submit` alone makes of the same two queries.

Run by spark-submit with one argument, a JSON object; see `bench.catchup`. At its end it puts Spark's progress events down.
"""

import importlib.util
import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery


def main(given: str) -> None:
    """Both queries by availableNow, to their end."""
    asked = json.loads(given)
    spark = SparkSession.builder.getOrCreate()
    spec = importlib.util.spec_from_file_location("orders_to_delta", asked["job"])
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    records = spark.readStream.format("kafka").options(**asked["source"]).load()
    parsed = job.parse(records)
    queries = [
        start(job.orders(parsed), asked["table"], asked["checkpoint"]),
        start(job.dead_letters(parsed), asked["dead_letters"], asked["dead_checkpoint"]),
    ]
    for query in queries:
        query.awaitTermination()
    lines = [event.json for query in queries for event in query.recentProgress]
    Path(asked["progress"]).write_text("".join(f"{json.dumps(json.loads(line))}\n" for line in lines))
    spark.stop()


def start(rows: DataFrame, table: str, checkpoint: str) -> StreamingQuery:
    """One query, as the runner starts it."""
    writer = rows.writeStream.format("delta").outputMode("append").option("path", table)
    return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
