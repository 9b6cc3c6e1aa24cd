"""J8: figures of sensor readings by device, in windows of five minutes and in sliding ones of ten, appended to a Delta table.

Append mode can do windows: a window comes out once, when the watermark has passed its end. Both kinds are one query, so that
one commit of the table holds what one batch has closed; Spark keeps a state for each of them (several stateful operators in
append mode since Spark 3.5). The price: each kind reads the topic for itself, and progress counts every record twice.
Different users can't be counted exactly on a stream: `approx_count_distinct` errs by 5 %.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DoubleType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.json_records import dead_letters, good, is_ahead, with_json

WATERMARK = "10 minutes"
READING = StructType(
    [
        StructField("device", StringType()),
        StructField("value", DoubleType()),
        StructField("user", StringType()),
        StructField("event_time", TimestampType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka readings, parsed, as figures of their windows; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return stream.to_delta(figures(good(parsed)))


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their reading, and with the reason where there is none."""
    return with_json(records, READING, checks=lambda reading: [is_ahead(reading["event_time"])])


def figures(readings: DataFrame) -> DataFrame:
    """One row for each device, window and kind of window."""
    timely = readings.withWatermark("event_time", WATERMARK)
    tumbling = of_windows(timely, "tumbling", f.window("event_time", "5 minutes"))
    sliding = of_windows(timely, "sliding", f.window("event_time", "10 minutes", "5 minutes"))
    return tumbling.unionByName(sliding)


def of_windows(readings: DataFrame, kind: str, window: Column) -> DataFrame:
    """One row for each device and window of one kind."""
    return (
        readings.groupBy(window.alias("window"), "device")
        .agg(
            f.count("*").alias("readings"),
            f.sum("value").alias("sum"),
            f.avg("value").alias("avg"),
            f.min("value").alias("min"),
            f.max("value").alias("max"),
            f.approx_count_distinct("user").alias("users"),
        )
        .select(f.lit(kind).alias("kind"), "window.start", "window.end", f.col("*"))
        .drop("window")
    )
