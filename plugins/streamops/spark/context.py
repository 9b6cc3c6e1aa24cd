"""What a job gets from the runner: its source and sink, already addressed. A job says what to compute, nothing else."""

from typing import TYPE_CHECKING

from streamops.control.assignment import Assignment
from streamops.control.backfill_plan import BackfillPlan
from streamops.spark.backfill_source import backfill_options, within_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter


class StreamContext:
    """The stream that a job is run for."""

    def __init__(self, assignment: Assignment, backfill: BackfillPlan | None = None) -> None:
        self._assignment = assignment
        self._backfill = backfill
        self._companions: list[DataStreamWriter] = []
        self.kafka_reads = 0
        """How often the job has asked for its Kafka source."""
        self.has_given_sink = False
        """Whether the job has asked where to write."""

    @property
    def name(self) -> str:
        """The stream's name in `config/streams.yaml`."""
        return self._assignment.stream

    def from_kafka(self, spark: "SparkSession") -> "DataFrame":
        """The declared topics as Spark's Kafka source gives them: key, value, topic, partition, offset, timestamp.

        In a backfill it is the range alone. Call it once: a range can be read of one source only.
        """
        self.kafka_reads += 1
        reader = spark.readStream.format("kafka")
        reader = reader.option("kafka.bootstrap.servers", self._assignment.bootstrap_servers)
        if self._backfill:
            options = backfill_options(self._assignment, self._backfill)
            return within_times(reader.options(**options).load(), self._backfill)
        reader = reader.option("subscribe", ",".join(self._assignment.topics))
        return reader.options(**dict(self._assignment.source_options)).load()

    @property
    def table(self) -> str:
        """The table to write to, for a sink of the job's own: in a backfill it may be another one than the declared."""
        self.has_given_sink = True
        return self._assignment.table

    def to_delta(self, rows: "DataFrame") -> "DataStreamWriter":
        """Append to the declared table through Delta's own sink: exactly once, by query id and batch id in the table's log."""
        return _append(rows, self.table)

    def dead_letters_to_delta(self, rows: "DataFrame") -> None:
        """Append records that can't be parsed to the declared dead-letter table.

        Runs as a second query of the same driver, under the same claim, with a checkpoint beside the stream's own:
        Delta's sink writes one table a query. If either query fails, both stop.
        """
        self._companions.append(_append(rows, self._assignment.dead_letters))

    @property
    def companions(self) -> "tuple[DataStreamWriter, ...]":
        """The further queries that the job asked for; the runner starts and stops them with the stream's own."""
        return tuple(self._companions)


def _append(rows: "DataFrame", table: str) -> "DataStreamWriter":
    return rows.writeStream.format("delta").outputMode("append").option("path", table)
