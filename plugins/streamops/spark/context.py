"""What a job gets from the runner: its source and sink, already addressed. A job says what to compute, nothing else."""

from typing import TYPE_CHECKING, NoReturn, TypeVar

from streamops.control.assignment import (
    Assignment,
    CustomInput,
    DeltaInput,
    FilesInput,
    FilesOutput,
    Input,
    JdbcOutput,
    KafkaInput,
    KafkaOutput,
    RestOutput,
)
from streamops.control.backfill_plan import BackfillPlan
from streamops.errors import SettingsError
from streamops.spark.backfill_source import backfill_options, within_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

S = TypeVar("S", KafkaInput, DeltaInput, FilesInput, CustomInput)


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

    def parameter(self, name: str) -> str:
        """What the settings say under `parameters` and this name. SettingsError where they say nothing."""
        for known, value in self._assignment.parameters:
            if known == name:
                return value
        raise SettingsError(f"the job of stream {self.name} asks for the parameter {name}: declare parameters.{name}")

    def from_kafka(self, spark: "SparkSession", *topics: str) -> "DataFrame":
        """The declared topics as Spark's Kafka source gives them: key, value, topic, partition, offset, timestamp.

        With `topics` those alone: a join reads each of its sides by a call of its own. In a backfill it is the range alone;
        call it once there, a range can be read of one source only. SettingsError where the stream is declared with another
        source, or with other topics.
        """
        source = self._declared(KafkaInput)
        if undeclared := set(topics) - set(source.topics):
            raise SettingsError(
                f"the job of stream {self.name} reads {', '.join(sorted(undeclared))}, and source.kafka.topics are"
                f" {', '.join(source.topics)}: declare all topics that it reads"
            )
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", source.bootstrap_servers)
        if self._backfill:
            return within_times(reader.options(**self._options(source)).load(), self._backfill)
        return reader.option("subscribe", ",".join(topics or source.topics)).options(**self._options(source)).load()

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

    def from_custom(self, spark: "SparkSession") -> "DataFrame":
        """What the declared format gives. SettingsError where the stream is declared with another source."""
        source = self._declared(CustomInput)
        return spark.readStream.format(source.format).options(**dict(source.options)).load()

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
        """The Delta table to write to, for a sink of the job's own: in a backfill it may be another one than the declared.

        SettingsError where no table is declared.
        """
        self.has_given_sink = True
        return self._assignment.table or self._raise_undeclared("a Delta table", "sink.delta.table")

    @property
    def dead_letters(self) -> str:
        """The Delta table for records that can't be parsed. SettingsError where none is declared."""
        return self._assignment.dead_letters or self._raise_undeclared("a table for dead letters", "sink.dead_letters")

    @property
    def kafka(self) -> KafkaOutput:
        """The topic to write to. SettingsError where none is declared."""
        return self._assignment.outputs.kafka or self._raise_undeclared("a topic", "sink.kafka")

    @property
    def jdbc(self) -> JdbcOutput:
        """The table of a database to write to. SettingsError where none is declared."""
        return self._assignment.outputs.jdbc or self._raise_undeclared("a database", "sink.jdbc")

    @property
    def rest(self) -> RestOutput:
        """The endpoint to post to. SettingsError where none is declared."""
        return self._assignment.outputs.rest or self._raise_undeclared("an endpoint", "sink.rest")

    @property
    def files(self) -> FilesOutput:
        """The folder to write files to. SettingsError where none is declared."""
        return self._assignment.outputs.files or self._raise_undeclared("a folder of files", "sink.files")

    def to_delta(self, rows: "DataFrame", *, output_mode: str = "append") -> "DataStreamWriter":
        """Write to the declared table through Delta's own sink: exactly once, by query id and batch id in the table's log.

        It appends, or with `complete` puts the whole result in place of the one before; it has no update mode.
        """
        self.has_appended = True
        return _to_table(rows, self.table, output_mode)

    def to_kafka(self, rows: "DataFrame", *, output_mode: str = "append") -> "DataStreamWriter":
        """Write the columns `key` and `value` to the declared topic: at least once, a repeated batch is written again."""
        output = self.kafka
        writer = rows.writeStream.format("kafka").outputMode(output_mode).options(**dict(output.options))
        return writer.option("kafka.bootstrap.servers", output.bootstrap_servers).option("topic", output.topic)

    def to_files(self, rows: "DataFrame") -> "DataStreamWriter":
        """Append to the declared folder through Spark's own file sink: exactly once for readers that go by its log.

        The log is `_spark_metadata` in the folder; Spark reads by it, other readers find files of batches that were cut off.
        """
        return rows.writeStream.format(self.files.format).outputMode("append").option("path", self.files.path)

    def to_custom(self, rows: "DataFrame", *, output_mode: str = "append") -> "DataStreamWriter":
        """Write to the declared format. SettingsError where none is declared."""
        output = self._assignment.outputs.custom or self._raise_undeclared("a format", "sink.custom")
        return rows.writeStream.format(output.format).outputMode(output_mode).options(**dict(output.options))

    def _raise_undeclared(self, what: str, setting: str) -> NoReturn:
        raise SettingsError(f"the job of stream {self.name} asks for {what} to write to: declare {setting}")

    def dead_letters_to_delta(self, rows: "DataFrame") -> None:
        """Append records that can't be parsed to the declared dead-letter table.

        Runs as a second query of the same driver, under the same claim, with a checkpoint beside the stream's own:
        Delta's sink writes one table a query. If either query fails, both stop.
        """
        self._companions.append(_to_table(rows, self.dead_letters, "append"))

    @property
    def companions(self) -> "tuple[DataStreamWriter, ...]":
        """The further queries that the job asked for; the runner starts and stops them with the stream's own."""
        return tuple(self._companions)


_NAMES: dict[type[Input], str] = {
    KafkaInput: "kafka",
    DeltaInput: "delta",
    FilesInput: "files",
    CustomInput: "custom",
}
"""As the settings name them, and the methods of the context behind `from_`."""


def _to_table(rows: "DataFrame", table: str, output_mode: str) -> "DataStreamWriter":
    return rows.writeStream.format("delta").outputMode(output_mode).option("path", table)
