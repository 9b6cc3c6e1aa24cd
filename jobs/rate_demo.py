"""J18: numbered rows that Spark makes up, into a sink that drops them: to see a stream run without Kafka or a table.

It proves the machinery, not any data. The memory sink would keep the rows, and it refuses a checkpoint that is there
already (Spark 4.2.0), so that its query could never be restarted.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter

from streamops.spark import StreamContext


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Rows of the rate source with what was computed of them, to the declared sink."""
    return stream.to_custom(halves(stream.from_custom(spark)))


def halves(rows: DataFrame) -> DataFrame:
    """Each number with half of it, and whether nothing was left over."""
    number = f.col("value")
    return rows.select("timestamp", number.alias("number"), f.floor(number / 2).alias("half"), is_even(number))


def is_even(number: Column) -> Column:
    """Whether the number is even."""
    return (number % 2 == 0).alias("is_even")
