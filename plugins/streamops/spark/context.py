"""What a job gets from the runner: its source and sink, already addressed. A job says what to compute, nothing else."""

from typing import TYPE_CHECKING, TypeVar

from streamops.control.assignment import Assignment, DeltaInput, FilesInput, Input, KafkaInput
from streamops.control.backfill_plan import BackfillPlan
from streamops.errors import SettingsError
from streamops.spark.backfill_source import backfill_options, within_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

S = TypeVar("S", KafkaInput, DeltaInput, FilesInput)


class StreamContext:
    """The stream that a job is run for."""

    def __init__(self, assignment: Assignment, backfill: BackfillPlan | None = None) -> None:
        self._assignment = assignment
        self._backfill = backfill
        self._companions: list[DataStreamWriter] = []
        self.source_reads = 0
        """How often the job has asked for its source."""
        self.has_given_sink = False
        """Whether the job has asked where to write."""
        self.has_appended = False
        """Whether it has left the writing to `to_delta`, which knows batches and no keys."""

    @property
    def name(self) -> str:
        """The stream's name in `config/streams.yaml`."""
        return self._assignment.stream

    def from_kafka(self, spark: "SparkSession") -> "DataFrame":
        """The declared topics as Spark's Kafka source gives them: key, value, topic, partition, offset, timestamp.

        In a backfill it is the range alone. Call it once: a range can be read of one source only. SettingsError where the
        stream is declared with another source.
        """
        source = self._declared(KafkaInput)
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", source.bootstrap_servers)
        if self._backfill:
            return within_times(reader.options(**self._options(source)).load(), self._backfill)
        return reader.option("subscribe", ",".join(source.topics)).options(**self._options(source)).load()

    def from_delta(self, spark: "SparkSession") -> "DataFrame":
        """The rows that come into the declared Delta table, as Delta's streaming source gives them.

        In a backfill it is the range alone, as of `from_kafka`. SettingsError where the stream is declared with another source.
        """
        source = self._declared(DeltaInput)
        return spark.readStream.format("delta").options(**self._options(source)).load(source.table)

    def from_files(self, spark: "SparkSession") -> "DataFrame":
        """The rows of the files that come into the declared folder, with the declared columns.

        In a backfill it is the range alone, as of `from_kafka`. SettingsError where the stream is declared with another source.
        """
        source = self._declared(FilesInput)
        reader = spark.readStream.format(source.format).options(**self._options(source))
        return (reader.schema(source.schema) if source.schema else reader).load(source.path)

    def _options(self, source: Input) -> dict[str, str]:
        return backfill_options(source, self._backfill) if self._backfill else dict(source.options)

    def _declared(self, kind: type[S]) -> S:
        """The source, where it is of the kind that the job asks for."""
        self.source_reads += 1
        source = self._assignment.source
        if isinstance(source, kind):
            return source
        raise SettingsError(
            f"stream {self.name} is declared with source.{_NAMES[type(source)]}, and its job calls from_{_NAMES[kind]}:"
            f" declare source.{_NAMES[kind]}, or let the job call from_{_NAMES[type(source)]}"
        )

    @property
    def table(self) -> str:
        """The table to write to, for a sink of the job's own: in a backfill it may be another one than the declared."""
        self.has_given_sink = True
        return self._assignment.table

    def to_delta(self, rows: "DataFrame") -> "DataStreamWriter":
        """Append to the declared table through Delta's own sink: exactly once, by query id and batch id in the table's log."""
        self.has_appended = True
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


_NAMES: dict[type[Input], str] = {KafkaInput: "kafka", DeltaInput: "delta", FilesInput: "files"}
"""As the settings name them, and the methods of the context behind `from_`."""


def _append(rows: "DataFrame", table: str) -> "DataStreamWriter":
    return rows.writeStream.format("delta").outputMode("append").option("path", table)
