"""What `config/setup.sh` runs under spark-submit: the classes that this loads become the archive `.jars/spark.jsa`.

A driver that maps the archive starts in half the time (JEP 350). The queries read files and a rate, keep state in
both stores, and write in a batch function, one of them after a Python function.
"""

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

PROVIDERS = ("HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider")


def main() -> None:
    """Run one batch of each query."""
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "in").mkdir()
        (root / "in" / "1.json").write_text('{"n": 1, "k": "a"}\n')
        for number, provider in enumerate(PROVIDERS):
            package = "org.apache.spark.sql.execution.streaming.state"
            spark.conf.set("spark.sql.streaming.stateStore.providerClass", f"{package}.{provider}")
            rows = spark.readStream.schema("n long, k string").json(str(root / "in"))
            _run(rows.groupBy("k").count(), root / f"counts-{number}", mode="update")
        numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
        doubled = numbers.withColumn("double", udf(lambda value: value * 2, "long")("value"))
        _run(doubled, root / "doubled", mode="append")
    spark.stop()


def _run(rows: DataFrame, checkpoint: Path, *, mode: str) -> None:
    def take(frame: DataFrame, batch: int) -> None:
        frame.persist()
        frame.write.mode("append").parquet(str(checkpoint.with_suffix(".out")))
        frame.collect()

    writer = rows.writeStream.outputMode(mode).foreachBatch(take).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
