"""The source of a backfill: exactly the plan's range, from exactly the plan's start on.

Where it ends, the prepared entries say. What was declared stays but for what chooses records; and lost records are an error,
whatever the stream itself makes of them.
"""

from typing import TYPE_CHECKING

from streamops.control.assignment import DeltaInput, FilesInput, Input, KafkaInput
from streamops.control.backfill_places import FilesPlace, TablePlace
from streamops.control.backfill_plan import BackfillPlan
from streamops.control.kafka_offsets import Offsets
from streamops.errors import BackfillError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CHOOSING_OFFSETS = frozenset(
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
_CHOOSING_VERSIONS = frozenset(
    {"startingversion", "startingtimestamp", "maxfilespertrigger", "maxbytespertrigger", "failondataloss"}
)
"""Of Delta's source (DeltaOptions, delta-spark 4.4)."""
_CHOOSING_FILES = frozenset(
    {
        "maxfilespertrigger",
        "maxbytespertrigger",
        "maxfileage",
        "latestfirst",
        "filenameonly",
        "pathglobfilter",
        "recursivefilelookup",
        "modifiedbefore",
        "modifiedafter",
        "ignoremissingfiles",
        "cleansource",
        "sourcearchivedir",
    }
)
"""Of Spark's file source (FileStreamOptions, 4.2), and those by which it would do away with files that were read."""


def backfill_options(source: Input, plan: BackfillPlan) -> dict[str, str]:
    """The options of the source beside where it lies. BackfillError where the plan is of another kind of source."""
    start = plan.start
    if isinstance(source, KafkaInput) and isinstance(start, Offsets):
        return {
            **_without(source, _CHOOSING_OFFSETS),
            "assign": start.partitions_json(),
            "startingOffsets": start.kafka_json(),
            "failOnDataLoss": "true",
        }
    if isinstance(source, DeltaInput) and isinstance(start, TablePlace):
        begin = {"startingVersion": str(start.version), "failOnDataLoss": "true"}
        return {**_without(source, _CHOOSING_VERSIONS), **begin}
    if isinstance(source, FilesInput) and isinstance(start, FilesPlace):
        return {**_without(source, _CHOOSING_FILES), "ignoreMissingFiles": "false"}
    raise BackfillError(
        f"backfill {plan.id} was planned over {plan.counted_in}, and another source is declared: plan anew"
    )


def within_times(rows: "DataFrame", plan: BackfillPlan) -> "DataFrame":
    """The rows whose stamp belongs to the range; all of them where it was asked for in offsets."""
    from pyspark.sql import functions as f

    if plan.not_before is not None:
        rows = rows.where(f.col("timestamp") >= f.lit(plan.not_before))
    if plan.before is not None:
        rows = rows.where(f.col("timestamp") < f.lit(plan.before))
    return rows


def _without(source: Input, choosing: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in source.options if name.lower() not in choosing}
