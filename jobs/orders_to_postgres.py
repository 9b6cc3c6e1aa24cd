"""J4: orders from Kafka, upserted into a table of PostgreSQL, each there once.

Spark's JDBC writer alone would write the rows of a batch again whenever the batch runs again. `upsert_once` writes a batch and
the note that it is there in one transaction. By the order's id a later version of an order takes the place of an earlier one.

What PostgreSQL can't hold would fail its batch for ever: such records go to the dead letters.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, is_before_year_1, with_json
from streamops.spark.sinks.postgres import is_no_text, upsert_once

ORDER = StructType(
    [
        StructField("order_id", StringType()),
        StructField("category", StringType()),
        StructField("amount", DecimalType(38, 18)),
        StructField("event_time", TimestampType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka orders, parsed, upserted into PostgreSQL; what can't be parsed or held goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    to = stream.jdbc

    def put(batch: DataFrame, number: int) -> None:
        # The offset decides between versions of one time: of any two the same one wins, however often they come.
        upsert_once(batch, to, number, keys=["order_id"], newest_by=["event_time", "partition", "offset"])

    return orders(parsed).writeStream.foreachBatch(put)


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their order, and with the reason where there is none, or none that PostgreSQL can hold."""
    return with_json(
        records,
        ORDER,
        checks=lambda order: [
            is_no_cents(order["amount"]),
            is_no_text("order_id", order["order_id"]),
            is_no_text("category", order["category"]),
            is_before_year_1(order["event_time"]),
        ],
    )


def orders(parsed: DataFrame) -> DataFrame:
    """One row an order, with the position of its record."""
    return good(parsed).withColumn("amount", in_cents(f.col("amount"))).drop("topic")
