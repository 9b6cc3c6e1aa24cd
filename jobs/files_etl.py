"""J13: orders from files that come into a folder, each file once, appended to a Delta table.

The source notes in the checkpoint which files a batch has read, so that a file counts once over any restart; it must come into
the folder whole, by a rename, and is never read again when it changes.

Files of JSON lines are declared as text and parsed line by line. Spark's JSON reader would pass over a second object of a line
and round amounts, both in silence. CSV and Parquet are declared with their columns, and CSV with `_corrupt_record` as well, where
Spark puts a line that does not fit them. A line that is no order goes to the dead letters with the name of its file. A Parquet
file that is broken stops the stream: take it away, or the stream would have lost it in silence.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType, TimestampType

from streamops.spark import StreamContext
from streamops.spark.amounts import in_cents, is_no_cents
from streamops.spark.json_records import field_reasons, with_json

Check = tuple[Column, str]
CORRUPT = "_corrupt_record"
DOES_NOT_FIT = "the line does not fit the declared columns"
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
    """Files, parsed, appended to a Delta table; lines that are no order go to the dead letters."""
    parsed = parse(stream.from_files(spark))
    stream.dead_letters_to_delta(dead_letters(parsed))
    return stream.to_delta(orders(parsed))


def parse(rows: DataFrame) -> DataFrame:
    """Lines or rows of files with their order, their file, and the reason where there is none."""
    of_file = {"file": "_metadata.file_path", "file_time": "_metadata.file_modification_time"}
    located = rows.select("*", *(f.col(column).alias(name) for name, column in of_file.items()))
    return of_lines(located) if rows.columns == ["value"] else of_columns(located)


def of_lines(lines: DataFrame) -> DataFrame:
    """Lines of JSON; blank ones are none."""
    parsed = with_json(lines.where("trim(value) <> ''"), ORDER, checks=checks)
    return parsed.withColumn("text", f.make_valid_utf8("value"))


def of_columns(rows: DataFrame) -> DataFrame:
    """Rows of CSV and Parquet."""
    order = f.struct(*(f.col(field.name).cast(field.dataType).alias(field.name) for field in ORDER.fields))
    corrupt = f.col(CORRUPT) if CORRUPT in rows.columns else f.lit(None).cast("string")
    parsed = rows.withColumn("json", order).withColumn("text", f.coalesce(corrupt, f.to_json("json")))
    reasons = field_reasons(f.col("json"), ORDER, checks=checks)
    return parsed.withColumn("reason", f.coalesce(f.when(corrupt.isNotNull(), DOES_NOT_FIT), *reasons))


def checks(order: Column) -> Sequence[Check]:
    """What is wrong with an order that has all its fields."""
    return [is_no_cents(order["amount"])]


def orders(parsed: DataFrame) -> DataFrame:
    """One row an order, with the file that it comes from."""
    rows = parsed.where("reason IS NULL").select("json.*", "file")
    return rows.withColumn("amount", in_cents(f.col("amount")))


def dead_letters(parsed: DataFrame) -> DataFrame:
    """The other lines: file, its time, text and reason."""
    return parsed.where("reason IS NOT NULL").select("file", "file_time", "text", "reason")
