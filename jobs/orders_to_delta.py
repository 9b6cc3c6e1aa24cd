"""J1: orders from Kafka, parsed and appended to a Delta table, each exactly once.

Records that can't be parsed stop nothing and are never dropped in silence: they go to the dead-letter table with their
position, their text and the reason.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.json_records import dead_letters, good, with_json

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
    return with_json(records, ORDER, checks=lambda order: [(~fits_cents(order["amount"]), NOT_IN_CENTS)])


def orders(parsed: DataFrame) -> DataFrame:
    """One row an order, with the position of its record."""
    return good(parsed).withColumn("amount", f.col("amount").try_cast(AMOUNT))


NOT_IN_CENTS = "the amount does not fit into cents"


def fits_cents(amount: Column) -> Column:
    """Whether nothing of the amount is lost in the table's column."""
    return amount.try_cast(AMOUNT).eqNullSafe(amount)
