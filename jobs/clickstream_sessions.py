"""J9: sessions of users, from their clicks in Kafka, appended to a Delta table.

A session is the clicks of one user of which each is half an hour or less after another. It comes out once, when the watermark
has passed its last click by that half hour: until then another click may prolong it, or join it with the one before.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.json_records import dead_letters, good, is_ahead, with_json

WATERMARK = "10 minutes"
GAP = "30 minutes"
CLICK = StructType(
    [
        StructField("click_id", StringType()),
        StructField("user", StringType()),
        StructField("page", StringType()),
        StructField("event_time", TimestampType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka clicks, parsed, as sessions; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return stream.to_delta(sessions(good(parsed)))


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their click, and with the reason where there is none."""
    return with_json(records, CLICK, checks=lambda click: [is_ahead(click["event_time"])])


def sessions(clicks: DataFrame) -> DataFrame:
    """One row a session: clicks, first and last page, and the time from the first click to the last."""
    # Two clicks of one moment: the id decides, so that a batch that runs again finds the same pages.
    order = f.struct("event_time", "click_id")
    return (
        clicks.withWatermark("event_time", WATERMARK)
        .groupBy(f.session_window("event_time", GAP).alias("session"), "user")
        .agg(
            f.count("*").alias("pages"),
            f.min_by("page", order).alias("entry_page"),
            f.max_by("page", order).alias("exit_page"),
        )
        .withColumn("first_click", f.col("session.start"))
        .withColumn("last_click", f.col("session.end") - f.expr(f"INTERVAL {GAP}"))
        .withColumn("duration", f.unix_millis("last_click") - f.unix_millis("first_click"))
        .select(
            "user",
            "first_click",
            "last_click",
            (f.col("duration") / 1000).alias("duration_seconds"),
            "pages",
            "entry_page",
            "exit_page",
        )
    )
