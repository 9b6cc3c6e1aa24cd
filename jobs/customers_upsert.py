"""J3: customers from a changelog topic, kept as they are now in a Delta table by MERGE.

A record says what holds of a customer from then on, a null value (a tombstone) that there is none any more. Which record of a
customer is the newest only Kafka can tell, since a tombstone has no time: by the offset in the partition of its key. So the
topic must be keyed by customer, and have no partitions added, which would move a key to another partition and other offsets.

A deleted customer keeps a row that says so: a row that is gone could not tell that it was newer than a record that comes again,
as from a batch that runs twice or from a backfill. Readers ask for those with `NOT is_deleted`.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.json_records import dead_letters, with_json
from streamops.spark.sinks.postgres import merge_by_key

CUSTOMER = StructType(
    [
        StructField("customer_id", StringType()),
        StructField("name", StringType()),
        StructField("email", StringType()),
        StructField("country", StringType()),
        StructField("updated_at", TimestampType()),
    ]
)
NO_KEY = "the tombstone has no key that is a text"
OTHER_KEY = "the record's key is not its customer_id"


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Kafka customers, parsed, merged into a Delta table; what can't be parsed goes to the dead letters."""
    parsed = parse(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    table = stream.table

    def put(batch: DataFrame, number: int) -> None:
        merge_by_key(batch, table, keys=["customer_id"], newest_by=["offset"])

    return versions(parsed).writeStream.foreachBatch(put)


def parse(records: DataFrame) -> DataFrame:
    """Kafka records with their customer or none, and with the reason where they are neither a customer nor a tombstone."""
    key, is_tombstone = f.col("key").cast("string"), f.col("value").isNull()
    parsed = with_json(
        records, CUSTOMER, checks=lambda customer: [(~customer["customer_id"].eqNullSafe(key), OTHER_KEY)]
    )
    is_text = f.coalesce(f.is_valid_utf8(key), f.lit(False))
    return parsed.withColumn("reason", f.when(~is_tombstone, f.col("reason")).when(~is_text, NO_KEY))


def versions(parsed: DataFrame) -> DataFrame:
    """One row a record: what holds of its customer, and since which position."""
    return parsed.where("reason IS NULL").select(
        f.col("key").cast("string").alias("customer_id"),
        "json.name",
        "json.email",
        "json.country",
        "json.updated_at",
        f.col("value").isNull().alias("is_deleted"),
        "partition",
        "offset",
    )
