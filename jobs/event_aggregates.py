"""J10: events and their amounts by type in windows of five minutes, published to a topic whenever they change.

Update mode publishes a window again with each batch that changes it. Spark's Kafka sink is at least once: after a crash some
updates are published a second time. Both do no harm to who keeps the last record of each key, as a compacted topic does.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, is_ahead, with_json

WATERMARK = "10 minutes"
MOMENT = "yyyy-MM-dd'T'HH:mm:ss'Z'"
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
    """Kafka events, parsed, as figures of their windows; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return stream.to_kafka(messages(figures(good(parsed))), output_mode="update")


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their event, and with the reason where there is none."""
    return with_json(records, EVENT, checks=lambda event: [is_no_cents(event["amount"]), is_ahead(event["event_time"])])


def figures(events: DataFrame) -> DataFrame:
    """One row for each type and window."""
    return (
        events.withColumn("amount", in_cents(f.col("amount")))
        .withWatermark("event_time", WATERMARK)
        .groupBy(f.window("event_time", "5 minutes").alias("window"), "type")
        .agg(f.count("*").alias("events"), f.sum("amount").alias("amount"))
    )


def messages(rows: DataFrame) -> DataFrame:
    """One record a row: the window and the type are its key, so that the next update of both lands behind it."""
    start, end = (f.date_format(f.col(f"window.{side}"), MOMENT) for side in ("start", "end"))
    key = f.concat_ws(" ", start, f.col("type"))
    value = f.to_json(
        f.struct(
            start.alias("start"), end.alias("end"), "type", "events", f.col("amount").cast("string").alias("amount")
        )
    )
    return rows.select(key.alias("key"), value.alias("value"))
