"""J12: which impressions of ads were clicked, and what they cost, appended to a Delta table.

An inner join of two streams. The bound in time lets the state forget: an impression waits ten minutes for its click and no
longer, and a click that comes before its impression waits as long as the watermark allows.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, is_ahead, with_json

WATERMARK = "10 minutes"
IMPRESSION = StructType(
    [
        StructField("impression_id", StringType()),
        StructField("ad_id", StringType()),
        StructField("cost", DecimalType(38, 18)),
        StructField("event_time", TimestampType()),
    ]
)
CLICK = StructType(
    [
        StructField("ad_click_id", StringType()),
        StructField("ad_id", StringType()),
        StructField("event_time", TimestampType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka impressions and clicks, joined by ad and time; what can't be parsed of either goes to the dead letters."""
    impressions = parse_impressions(stream.from_kafka(spark, "impressions"))
    clicks = parse_clicks(stream.from_kafka(spark, "ad_clicks"))
    stream.dead_letters_to_delta(dead_letters(impressions).unionByName(dead_letters(clicks)))
    return stream.to_delta(clicked(good(impressions), good(clicks)))


def parse_impressions(records: DataFrame) -> DataFrame:
    """Kafka records with their impression, and with the reason where there is none."""
    return with_json(
        records, IMPRESSION, checks=lambda shown: [is_no_cents(shown["cost"]), is_ahead(shown["event_time"])]
    )


def parse_clicks(records: DataFrame) -> DataFrame:
    """Kafka records with their click, and with the reason where there is none."""
    return with_json(records, CLICK, checks=lambda click: [is_ahead(click["event_time"])])


def clicked(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """One row for each impression and click on its ad within ten minutes."""
    shown = impressions.withWatermark("event_time", WATERMARK).alias("shown")
    click = clicks.withWatermark("event_time", WATERMARK).alias("click")
    is_of_impression = f.expr(
        "shown.ad_id = click.ad_id AND click.event_time BETWEEN shown.event_time AND shown.event_time + INTERVAL 10 MINUTES"
    )
    return shown.join(click, is_of_impression).select(
        "shown.impression_id",
        "shown.ad_id",
        in_cents(f.col("shown.cost")).alias("cost"),
        f.col("shown.event_time").alias("shown_at"),
        "click.ad_click_id",
        f.col("click.event_time").alias("clicked_at"),
    )
