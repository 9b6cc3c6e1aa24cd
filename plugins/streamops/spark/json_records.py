"""Kafka records that hold one JSON object each: parsed by a schema, and apart from them those that can't be.

Nothing here stops a query and nothing is dropped: a record has its columns, or the reason why it has none. `spark.read.json`
over a stream is impossible, and a schema that is inferred changes with the records; so the schema is said.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row
    from pyspark.sql.types import StructType

    Check = tuple[Column, str]
    """What is wrong with a record where the column is true, and in which words."""

FURTHEST_AHEAD = "INTERVAL 1 DAY"
"""How far an event may be ahead of its record's arrival before `is_ahead` says that its clock is wrong."""


def with_json(
    records: "DataFrame",
    schema: "StructType",
    *,
    optional: Collection[str] = (),
    checks: "Callable[[Column], Sequence[Check]]" = lambda _: (),
) -> "DataFrame":
    """Kafka records with their object in the column `json`, and in `reason` why it is none; null where it is one.

    A field of the schema that is missing or of another type is a reason, unless it is `optional`. `checks` gives further
    ones for the parsed object. The first reason that holds is given.
    """
    from pyspark.sql import functions as f

    text = f.col("value").cast("string")
    parsed = records.withColumn("json", f.from_json(text, schema))
    json = f.col("json")
    is_one_object = _is_one_object(text)
    reasons = [
        f.when(text.isNull(), f.lit("the record is empty")),
        f.when(~is_one_object, f.lit("the record is not one JSON object")),
        f.when(~f.is_valid_utf8(text), f.lit("the record is not valid UTF-8")),
    ]
    return parsed.withColumn(
        "reason", f.coalesce(*reasons, *field_reasons(json, schema, optional=optional, checks=checks))
    )


def field_reasons(
    json: "Column",
    schema: "StructType",
    *,
    optional: Collection[str] = (),
    checks: "Callable[[Column], Sequence[Check]]" = lambda _: (),
) -> "list[Column]":
    """Why an object of the schema is none, as of `with_json`: each a text where it holds, and null where not."""
    from pyspark.sql import functions as f

    reasons = []
    for field in schema.fields:
        if field.name not in optional:
            missing = f"{field.name} is missing or not a {field.dataType.simpleString()}"
            reasons.append(f.when(json[field.name].isNull(), f.lit(missing)))
    # A check that can't tell, because an optional field is null, is no reason.
    return reasons + [f.when(is_wrong, f.lit(words)) for is_wrong, words in checks(json)]


def _is_one_object(text: "Column") -> "Column":
    """Whether a text is one JSON object and nothing else; never null.

    from_json reads the first object and passes over what stands behind it. So the text is put between brackets, where it must
    be one element, and between braces, where it must be one value: no text but a whole one fits both.
    """
    from pyspark.sql import functions as f

    is_one_element = f.json_array_length(f.concat(f.lit("["), text, f.lit("]"))) == 1
    is_one_value = f.get_json_object(f.concat(f.lit('{"record":'), text, f.lit(',"end":1}')), "$.end") == "1"
    return f.coalesce(text.rlike(r"^\s*\{") & is_one_element & is_one_value, f.lit(False))


def is_ahead(event_time: "Column") -> "Check":
    """An event from the future would move the watermark there, and every later event would be dropped as late."""
    from pyspark.sql import functions as f

    words = "the event's time is more than a day ahead of the record's"
    return event_time > f.col("timestamp") + f.expr(FURTHEST_AHEAD), words


def is_before_year_1(time: "Column") -> "Check":
    """Spark's times begin 290,000 years ago; Python's begin with the year 1, and PostgreSQL's with 4713 BC."""
    from pyspark.sql import functions as f

    return time < f.lit("0001-01-01").cast("timestamp"), "the event's time is before the year 1"


def good(parsed: "DataFrame") -> "DataFrame":
    """The records that have their object: its fields, then topic, partition and offset."""
    return parsed.where("reason IS NULL").select("json.*", "topic", "partition", "offset")


def dead_letters(parsed: "DataFrame") -> "DataFrame":
    """The others: position, the record as it came, its text as far as it is one, and the reason.

    `streamops dlq` reads these columns by name.
    """
    from pyspark.sql import functions as f

    text = f.make_valid_utf8(f.col("value").cast("string")).alias("text")
    bad = parsed.where("reason IS NOT NULL")
    return bad.select("topic", "partition", "offset", "timestamp", "key", "value", text, "reason")


def refused_letters(parsed: "DataFrame", refused: "Sequence[Row]") -> "DataFrame":
    """As `dead_letters`, of good records that a sink has refused.

    `refused` has topic, partition, offset and reason of each, as from `sinks.rest.post_rows`; `parsed` their records.
    """
    from pyspark.sql import functions as f

    places = [(row.topic, row.partition, row.offset, row.reason) for row in refused]
    schema = "topic STRING, partition INT, offset BIGINT, reason STRING"
    reasons = f.broadcast(parsed.sparkSession.createDataFrame(places, schema))
    return dead_letters(parsed.drop("reason").join(reasons, ["topic", "partition", "offset"]))
