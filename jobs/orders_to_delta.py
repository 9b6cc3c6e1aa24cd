"""J1: orders from Kafka, parsed and appended to a Delta table, each exactly once.

Records that can't be parsed stop nothing and are never dropped in silence: they go to the dead-letter table with their
position, their text and the reason.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext

ORDER = StructType(
    [
        StructField("order_id", LongType()),
        StructField("customer", StringType()),
        StructField("amount", DecimalType(12, 2)),
        StructField("status", StringType()),
        StructField("event_time", TimestampType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka orders, parsed, appended to a Delta table; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return stream.to_delta(orders(parsed))


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their order, and with the reason where there is none."""
    order = f.from_json(f.col("value").cast("string"), ORDER)
    return records.withColumn("order", order).withColumn("reason", _reason())


def orders(parsed: DataFrame) -> DataFrame:
    """One row an order, with the position of its record."""
    good = parsed.where(f.col("reason").isNull())
    return good.select("order.*", "topic", "partition", "offset")


def dead_letters(parsed: DataFrame) -> DataFrame:
    """One row for each record that is not an order."""
    bad = parsed.where(f.col("reason").isNotNull())
    text = f.col("value").cast("string").alias("text")
    return bad.select("topic", "partition", "offset", "timestamp", text, "reason")


def _reason() -> Column:
    """Why a record is not an order: the first field that is missing or has another type; null when it is one."""
    missing = [
        f.when(
            f.col("order")[field.name].isNull(),
            f.lit(f"{field.name} is missing or not a {field.dataType.simpleString()}"),
        )
        for field in ORDER.fields
    ]
    return f.when(f.col("value").isNull(), f.lit("the record is empty")).otherwise(f.coalesce(*missing))
