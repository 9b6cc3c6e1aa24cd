"""J1, through foreachBatch: orders and dead letters of a batch, each written once, by one query.

`orders_to_delta` needs a query for each of its two tables, which read the topic twice and get on each at its own pace. Here one
query reads it once. Delta recognises a batch that comes again by the query's id and the batch's number (`append_once`), so both
tables have each record exactly once, although they are written one after the other.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, with_json
from streamops.spark.sinks.append import append_once
from streamops.spark.sinks.batch import cached

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
    """Kafka orders, parsed; each batch is written to the table of orders and to that of the dead letters."""
    table, letters = stream.table, stream.dead_letters

    def put(batch: DataFrame, number: int) -> None:
        with cached(batch) as parsed:
            append_once(orders(parsed), table, number)
            append_once(dead_letters(parsed), letters, number)

    return parse(stream.from_kafka(spark)).writeStream.foreachBatch(put)


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their order, and with the reason where there is none."""
    return with_json(records, ORDER, checks=lambda order: [is_no_cents(order["amount"])])


def orders(parsed: DataFrame) -> DataFrame:
    """One row an order, with the position of its record."""
    return good(parsed).withColumn("amount", in_cents(f.col("amount")))
