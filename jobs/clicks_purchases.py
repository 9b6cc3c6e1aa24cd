"""J11: each click with the purchase that came of it, or without one, appended to a Delta table.

A left outer join of two streams. Both sides need a watermark and the join a bound in time, or the state could never forget
a click. A pair comes out at once; a click without a purchase when the watermark has passed the half hour in which one could
come. The watermark is that of the side that is further behind: where purchases stand still, clicks wait.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, is_ahead, with_json

WATERMARK = "10 minutes"
CLICK = StructType(
    [
        StructField("click_id", StringType()),
        StructField("user", StringType()),
        StructField("page", StringType()),
        StructField("event_time", TimestampType()),
    ]
)
PURCHASE = StructType(
    [
        StructField("purchase_id", StringType()),
        StructField("user", StringType()),
        StructField("amount", DecimalType(38, 18)),
        StructField("event_time", TimestampType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka clicks and purchases, joined by user and time; what can't be parsed of either goes to the dead letters."""
    clicks = parse_clicks(stream.from_kafka(spark, "clicks"))
    purchases = parse_purchases(stream.from_kafka(spark, "purchases"))
    stream.dead_letters_to_delta(dead_letters(clicks).unionByName(dead_letters(purchases)))
    return stream.to_delta(with_purchases(good(clicks), good(purchases)))


def parse_clicks(records: DataFrame) -> DataFrame:
    """Kafka records with their click, and with the reason where there is none."""
    return with_json(records, CLICK, checks=lambda click: [is_ahead(click["event_time"])])


def parse_purchases(records: DataFrame) -> DataFrame:
    """Kafka records with their purchase, and with the reason where there is none."""
    return with_json(
        records,
        PURCHASE,
        checks=lambda purchase: [is_no_cents(purchase["amount"]), is_ahead(purchase["event_time"])],
    )


def with_purchases(clicks: DataFrame, purchases: DataFrame) -> DataFrame:
    """One row for each click and purchase of its user within half an hour; one for a click that has none."""
    clicked = clicks.withWatermark("event_time", WATERMARK).alias("click")
    bought = purchases.withWatermark("event_time", WATERMARK).alias("purchase")
    is_of_click = f.expr(
        "click.user = purchase.user"
        " AND purchase.event_time BETWEEN click.event_time AND click.event_time + INTERVAL 30 MINUTES"
    )
    return clicked.join(bought, is_of_click, "leftOuter").select(
        "click.click_id",
        "click.user",
        "click.page",
        f.col("click.event_time").alias("clicked_at"),
        "purchase.purchase_id",
        in_cents(f.col("purchase.amount")).alias("amount"),
        f.col("purchase.event_time").alias("purchased_at"),
    )
