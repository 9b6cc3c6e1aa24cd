"""J2: how often each word has come so far, in a Delta table that every batch puts in place of the one before.

Complete mode keeps a count for each different word for good: the state grows with the words, never with the lines.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter

from streamops.spark import StreamContext
from streamops.spark.json_records import dead_letters


def define(spark: SparkSession, stream: StreamContext) -> DataStreamWriter:
    """Lines of Kafka, counted word by word; what is no text goes to the dead letters."""
    read = lines(stream.from_kafka(spark))
    stream.dead_letters_to_delta(dead_letters(read))
    return stream.to_delta(word_counts(read), output_mode="complete")


def lines(records: DataFrame) -> DataFrame:
    """Kafka records with their line, and with the reason where there is none."""
    text = f.col("value").cast("string")
    reason = f.when(text.isNull(), "the record is empty").when(~f.is_valid_utf8(text), "the record is not valid UTF-8")
    return records.withColumn("line", text).withColumn("reason", reason)


def word_counts(read: DataFrame) -> DataFrame:
    """One row a word, in lower case; a word is what stands between blanks."""
    words = read.where("reason IS NULL").select(f.explode(f.split(f.lower("line"), r"\s+")).alias("word"))
    return words.where("word <> ''").groupBy("word").count()
