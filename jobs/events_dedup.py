"""J7: events from Kafka, each id once, appended to a Delta table.

Producers send some events twice. A repeat is dropped while the watermark is less than ten minutes ahead of the first one's
time: so long its id is kept, so that the state is bounded by the rate of events. Beyond that a repeat is not known any more.
With the same event time it is late then, and dropped for that; stamped anew, it comes out as another event.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, is_ahead, with_json

WATERMARK = "10 minutes"
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
    """Kafka events, parsed, without repeats; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return stream.to_delta(first_of_each(events(parsed)))


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their event, and with the reason where there is none."""
    return with_json(records, EVENT, checks=lambda event: [is_no_cents(event["amount"]), is_ahead(event["event_time"])])


def events(parsed: DataFrame) -> DataFrame:
    """One row an event, with the position of its record."""
    return good(parsed).withColumn("amount", in_cents(f.col("amount")))


def first_of_each(rows: DataFrame) -> DataFrame:
    """The first event of each id. Late events go, whether they are repeats or not: nobody could tell any more."""
    return rows.withWatermark("event_time", WATERMARK).dropDuplicatesWithinWatermark(["event_id"])
