"""J19: events from Kafka, written row by row by a class of our own: for places that Spark has no sink for.

Each row once: what one partition of one batch writes is one file, put under its name at the end, and a batch that runs again
puts its files in place of those that are there. It must not skip a partition whose file is there: when the driver dies, PySpark
ends the rows of a worker as if they were complete (4.2.0, `FramedSerializer.load_stream`), so that a file may lack rows.
That needs partitions which hold the same rows each time, as a partition of Kafka's source does: nothing here shuffles, and
neither the clock nor chance decides what a row says. With `minPartitions`, or after partitions were added to the topic, only a
batch that was already planned splits as before.

The folder must be one that all executors share, and where a rename is atomic: a file system, not an object store.
"""

import json
import os
import uuid
from typing import IO

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, with_json

EVENT = StructType(
    [
        StructField("event_id", StringType()),
        StructField("type", StringType()),
        StructField("user", StringType()),
        StructField("amount", DecimalType(38, 18)),
        StructField("event_time", TimestampType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka events, parsed, as lines of JSON in files; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return lines(good(parsed)).writeStream.foreach(FileOfLines(stream.files.path))


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their event, and with the reason where there is none."""
    return with_json(records, EVENT, checks=lambda event: [is_no_cents(event["amount"])])


def lines(events: DataFrame) -> DataFrame:
    """What is written of an event: all as text, with the position of its record, by which it is told from its repeats."""
    position = f.concat_ws("-", "topic", "partition", "offset").alias("position")
    return events.select(position, "event_id", "type", "user", in_cents(f.col("amount")).cast("string").alias("amount"))


class FileOfLines:
    """Spark's calls for each partition of each batch: open, then process for each row, then close.

    It travels to the Python workers, so that it holds nothing but texts before `open`.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder.removeprefix("file://")
        self._file: IO[str] | None = None
        self._name = ""

    def open(self, partition: int, epoch: int) -> bool:
        """True: each partition is written, also one whose file is there."""
        self._name = os.path.join(self._folder, f"epoch-{epoch}-partition-{partition}.jsonl")
        os.makedirs(self._folder, exist_ok=True)
        # A name of its own: a second attempt at the same task may run beside the first.
        self._file = open(f"{self._name}.{uuid.uuid4().hex}.part", "x", encoding="utf-8")  # noqa: SIM115  # `close` closes it
        return True

    def process(self, row: Row) -> None:
        """One line for each row."""
        assert self._file is not None
        json.dump(row.asDict(), self._file)
        self._file.write("\n")

    def close(self, error: Exception | None) -> None:
        """The file gets its name when all of it is on the disk; what failed is thrown away, and its batch runs again."""
        if self._file is None:
            return
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())
        if error is None:
            os.replace(file.name, self._name)
        else:
            os.remove(file.name)
