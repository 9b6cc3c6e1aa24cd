"""J1: orders from Kafka, parsed and appended to a Delta table, each exactly once.

Records that can't be parsed stop nothing and are never dropped in silence: they go to the dead-letter table with their
position, their text and the reason.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext

AMOUNT = DecimalType(12, 2)

# The amount is read with all its digits: read as cents it would be rounded in silence.
ORDER = StructType(
    [
        StructField("order_id", LongType()),
        StructField("customer", StringType()),
        StructField("amount", DecimalType(38, 18)),
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
    text = f.col("value").cast("string")
    return records.withColumn("order", f.from_json(text, ORDER)).withColumn("reason", reason(text, f.col("order")))


def orders(parsed: DataFrame) -> DataFrame:
    """One row an order, with the position of its record."""
    good = parsed.where(f.col("reason").isNull()).select("order.*", "topic", "partition", "offset")
    return good.withColumn("amount", f.col("amount").try_cast(AMOUNT))


def dead_letters(parsed: DataFrame) -> DataFrame:
    """One row for each record that is not an order."""
    bad = parsed.where(f.col("reason").isNotNull())
    text = f.col("value").cast("string").alias("text")
    return bad.select("topic", "partition", "offset", "timestamp", text, "reason")


def reason(text: Column, order: Column) -> Column:
    """Why a record is not an order; null when it is one. The first reason that holds is given."""
    # from_json reads the first object and passes over what stands behind it.
    is_one_object = f.json_array_length(f.concat(f.lit("["), text, f.lit("]"))) == 1
    missing = [
        f.when(order[field.name].isNull(), f.lit(f"{field.name} is missing or not a {field.dataType.simpleString()}"))
        for field in ORDER.fields
    ]
    in_cents = order["amount"].try_cast(AMOUNT)
    return f.coalesce(
        f.when(text.isNull(), f.lit("the record is empty")),
        f.when(~f.coalesce(is_one_object, f.lit(False)), f.lit("the record is not one JSON object")),
        *missing,
        f.when(~in_cents.eqNullSafe(order["amount"]), f.lit("the amount does not fit into cents")),
    )
