"""The Kafka source of a backfill: exactly the plan's partitions, from exactly the plan's start on.

Where it ends, the prepared entries say. What was declared stays but for what chooses records; and lost records are an error,
whatever the stream itself makes of them.
"""

from typing import TYPE_CHECKING

from streamops.control.assignment import KafkaInput
from streamops.control.backfill_plan import BackfillPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CHOOSING = frozenset(
    {
        "assign",
        "subscribe",
        "subscribepattern",
        "startingoffsets",
        "startingtimestamp",
        "startingoffsetsbytimestamp",
        "startingoffsetsbytimestampstrategy",
        "failondataloss",
        "maxoffsetspertrigger",
        "minoffsetspertrigger",
        "maxtriggerdelay",
    }
)
"""Options of Spark's Kafka source by which records are chosen (KafkaSourceProvider, 4.2); option names have no case."""


def backfill_options(source: KafkaInput, plan: BackfillPlan) -> dict[str, str]:
    """The options of the source beside its servers."""
    declared = {name: value for name, value in source.options if name.lower() not in _CHOOSING}
    return {
        **declared,
        "assign": plan.partitions_json(),
        "startingOffsets": plan.start.kafka_json(),
        "failOnDataLoss": "true",
    }


def within_times(rows: "DataFrame", plan: BackfillPlan) -> "DataFrame":
    """The rows whose stamp belongs to the range; all of them where it was asked for in offsets."""
    from pyspark.sql import functions as f

    if plan.not_before is not None:
        rows = rows.where(f.col("timestamp") >= f.lit(plan.not_before))
    if plan.before is not None:
        rows = rows.where(f.col("timestamp") < f.lit(plan.before))
    return rows
