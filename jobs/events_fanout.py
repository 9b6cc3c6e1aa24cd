"""J5: one stream of events for four kinds of sinks, each batch read and parsed once.

| sink                | gets                        | a batch that comes again                                     |
|---------------------|-----------------------------|--------------------------------------------------------------|
| Delta, by type      | each event                  | is recognised: exactly once                                  |
| files               | each event                  | replaces what it wrote: exactly once                         |
| Kafka               | purchases                   | is published again: at least once, known by the key          |
| REST                | refunds                     | is posted again: at least once, known by the Idempotency-Key |
| Delta, dead letters | what can't be parsed, and   | is recognised: exactly once                                  |
|                     | what the endpoint refuses   |                                                              |

An event's type chooses its table among those that the parameter `types` names; the declared table takes all other types. A name
out of the data alone never becomes a path. The idempotent sinks come first, so that the others repeat as little as can be.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, refused_letters, with_json
from streamops.spark.sinks.append import append_once
from streamops.spark.sinks.batch import cached
from streamops.spark.sinks.files import replace_batch
from streamops.spark.sinks.kafka import publish
from streamops.spark.sinks.rest import post_rows

AS_TEXT = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "timeZone": "UTC"}
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
    """Kafka events, parsed; each batch is written to all sinks."""
    types, tables = stream.parameter("types").split(), stream.parameter("tables_by_type")
    others, letters, folder = stream.table, stream.dead_letters, stream.files
    topic, endpoint = stream.kafka, stream.rest

    def put(batch: DataFrame, number: int) -> None:
        with cached(batch) as parsed:
            found = events(parsed)
            for kind in types:
                append_once(of_type(found, kind), f"{tables}/{kind}", number)
            append_once(of_no_type(found, types), others, number)
            replace_batch(found, folder, number)
            publish(messages(of_type(found, "purchase")), topic)
            refused = post_rows(messages(of_type(found, "refund")), endpoint, key="key", body="value")
            append_once(dead_letters(parsed).unionByName(refused_letters(parsed, refused)), letters, number)

    return parse(stream.from_kafka(spark)).writeStream.foreachBatch(put)


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their event, and with the reason where there is none."""
    return with_json(records, EVENT, checks=lambda event: [is_no_cents(event["amount"])])


def events(parsed: DataFrame) -> DataFrame:
    """One row an event, with the position of its record."""
    return good(parsed).withColumn("amount", in_cents(f.col("amount")))


def of_type(rows: DataFrame, kind: str) -> DataFrame:
    """The events of one type."""
    return rows.where(f.col("type") == kind)


def of_no_type(rows: DataFrame, types: Sequence[str]) -> DataFrame:
    """The events of none of these types."""
    return rows.where(~f.col("type").isin(*types))


def messages(rows: DataFrame) -> DataFrame:
    """An event as others get it, under its id: `key` and `value`, and the position of its record."""
    amount = f.col("amount").cast("string").alias("amount")
    value = f.to_json(f.struct("event_id", "type", "user", amount, "event_time"), AS_TEXT)
    return rows.select(f.col("event_id").alias("key"), value.alias("value"), "topic", "partition", "offset")
