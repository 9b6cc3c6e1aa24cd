"""J15: purchases, picked out of a stream of events and passed on to another topic as fast as the trigger allows.

The trigger in the settings alone decides how: by batches, continuously or in real time. That binds the job to what all three
can run: Kafka on both sides, filters and projections, no state, nothing from the clock. In each of them Kafka's sink is at
least once, so that consumers must know a purchase by its `event_id`: after a crash batches come again, and in real time all
that was written since the last batch was logged.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, with_json

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
    """Kafka events, parsed, their purchases published; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return stream.to_kafka(messages(purchases(parsed)))


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their event, and with the reason where there is none."""
    return with_json(records, EVENT, checks=lambda event: [is_no_cents(event["amount"])])


def purchases(parsed: DataFrame) -> DataFrame:
    """One row a purchase."""
    return good(parsed).where("type = 'purchase'").select("event_id", "user", "amount")


def messages(bought: DataFrame) -> DataFrame:
    """One record a purchase. The user is its key, so that the purchases of one user keep their order."""
    amount = in_cents(f.col("amount")).cast("string").alias("amount")
    return bought.select(f.col("user").alias("key"), f.to_json(f.struct("event_id", "user", amount)).alias("value"))
