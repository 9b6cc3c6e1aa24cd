"""J14: orders and revenue of each category and day so far, kept up to date in a Delta table.

Update mode gives the totals that a batch has changed, and a MERGE puts them in place of the ones before. They are totals, not
increments: a batch that runs again writes the same rows. The day is part of the key so that the state ends: once the
watermark has passed midnight, the totals of the day before leave it. Without a time in the key no watermark ever frees any.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, is_ahead, with_json
from streamops.spark.sinks.postgres import merge_by_key

WATERMARK = "10 minutes"
ORDER = StructType(
    [
        StructField("order_id", StringType()),
        StructField("category", StringType()),
        StructField("amount", DecimalType(38, 18)),
        StructField("event_time", TimestampType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka orders, parsed, as totals that are merged by day and category; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    table = stream.table

    def put(changed: DataFrame, batch: int) -> None:
        merge_by_key(changed, table, keys=["day", "category"])

    return totals(good(parsed)).writeStream.outputMode("update").foreachBatch(put)


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their order, and with the reason where there is none."""
    return with_json(records, ORDER, checks=lambda order: [is_no_cents(order["amount"]), is_ahead(order["event_time"])])


def totals(orders: DataFrame) -> DataFrame:
    """One row a day, in UTC, and category."""
    return (
        orders.withColumn("amount", in_cents(f.col("amount")))
        .withWatermark("event_time", WATERMARK)
        .groupBy(f.window("event_time", "1 day").alias("window"), "category")
        .agg(f.count("*").alias("orders"), f.sum("amount").alias("revenue"))
        .select(f.to_date("window.start").alias("day"), "category", "orders", "revenue")
    )
