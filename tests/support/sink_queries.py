"""Runs streaming queries from a file source to a sink, one after another, in a Spark of its own with Delta's jars.

`python sink_queries.py '[{"format": "delta", "input": …, "checkpoint": …, "sink": …, "application": ""}]'` prints one line of
JSON: for each query its error, empty where there is none, and the rows that the sink then has. With an application the sink
is written by a foreachBatch under that `txnAppId`.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

JARS = ",".join(str(jar) for jar in sorted((Path(__file__).parents[2] / ".jars" / "spark").glob("*.jar")))
CONFS = {
    "spark.jars": JARS,
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def run(spark, query):
    """One query over all its input; the error's text."""
    rows = spark.readStream.schema("n long").option("maxFilesPerTrigger", 1).json(query["input"])
    if query["application"]:
        writer = rows.writeStream.foreachBatch(_idempotent(query))
    else:
        writer = rows.writeStream.format(query["format"]).option("path", query["sink"])
    try:
        started = writer.option("checkpointLocation", query["checkpoint"]).trigger(availableNow=True).start()
        started.awaitTermination()
    except Exception as error:
        return str(error)
    return ""


def _idempotent(query):
    def take(frame, batch):
        options = {"txnAppId": query["application"], "txnVersion": str(batch)}
        frame.write.format("delta").mode("append").options(**options).save(query["sink"])

    return take


def main():
    """All queries of the command line."""
    builder = SparkSession.builder.master("local[2]").appName("sink-queries")
    for key, value in CONFS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    answers = []
    for query in json.loads(sys.argv[1]):
        error = run(spark, query)
        rows = sorted(row.n for row in spark.read.format(query["format"]).load(query["sink"]).collect())
        answers.append({"error": error, "rows": rows})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
