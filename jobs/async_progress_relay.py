"""J16: events passed on to another topic without their users' names, with progress that is tracked beside the batches.

A batch then does not wait for the two writes to its checkpoint, which can take longer than the batch itself. What it costs: the
logs have an entry only once in a while, and after a crash everything since the last one is published again, in other batches.
Nothing is lost; Kafka's sink is at least once anyway, so that consumers know an event by its `event_id`.

The setting `sink.kafka.options.asyncProgressTrackingEnabled` turns it on, not the job: whoever judges the checkpoint must know
that its holes are meant. Spark runs such a query by batches only, without state, and never with availableNow or once.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, StringType, StructField, StructType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import dead_letters, good, with_json

# The time of an event goes on as it came, letter by letter; that it is one, a check says.
EVENT = StructType(
    [
        StructField("event_id", StringType()),
        StructField("type", StringType()),
        StructField("user", StringType()),
        StructField("amount", DecimalType(38, 18)),
        StructField("event_time", StringType()),
    ]
)


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka events, parsed and published under a pseudonym; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return stream.to_kafka(messages(pseudonymous(good(parsed))))


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their event, and with the reason where there is none."""
    return with_json(
        records,
        EVENT,
        checks=lambda event: [
            is_no_cents(event["amount"]),
            (event["event_time"].try_cast("timestamp").isNull(), "event_time is not a time"),
        ],
    )


def pseudonymous(events: DataFrame) -> DataFrame:
    """The same user has the same pseudonym in all events, and it can't be turned back without a list of all users."""
    return events.withColumn("user", f.sha2("user", 256))


def messages(events: DataFrame) -> DataFrame:
    """One record an event. The pseudonym is its key, so that the events of one user keep their order."""
    amount = in_cents(f.col("amount")).cast("string").alias("amount")
    value = f.to_json(f.struct("event_id", "type", "user", amount, "event_time"))
    return events.select(f.col("user").alias("key"), value.alias("value"))
