"""The shape of `source` and `sink` of a stream. Descriptions and docstrings as in `model`."""

from datetime import timedelta
from typing import Annotated, Self

from pydantic import Field, model_validator

from streamops.durations import EXPECTED as A_DURATION
from streamops.settings.declared import Duration, Name, Servers, SettingsSection, Text, Topic
from streamops.spec import FileFormat
from streamops.spec.sinks import SinkGuarantee

_OPTIONS_OF = "options of {} by name, each a text, a number, true or false"
_A_DELTA_TABLE = "a path or an address of a Delta table"
_A_SECRET_FILE = "a path of a file with mode 0600"

JdbcUrl = Annotated[Text, Field(pattern=r"^jdbc:[a-z0-9]+:\S+$")]
HttpUrl = Annotated[Text, Field(pattern=r"^https?://\S+$")]
TableName = Annotated[Text, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$")]

DDL = "columns as DDL, for example id BIGINT, amount DOUBLE"


class DeclaredKafka(SettingsSection):
    """`source.kafka` of a stream."""

    bootstrap_servers: Servers = Field(description="host:port, several joined by commas")
    topics: list[Topic] = Field(min_length=1, description="a list of topic names, at least one")
    options: dict[str, Text] = Field(default_factory=dict, description=_OPTIONS_OF.format("Spark's Kafka source"))
    connection: Text = Field(default="", description="the id of an Airflow connection of type kafka")
    tolerated_outage: Duration = Field(default=timedelta(0), description=A_DURATION)


class DeclaredDeltaTable(SettingsSection):
    """`source.delta` of a stream."""

    table: Name = Field(description=_A_DELTA_TABLE)
    options: dict[str, Text] = Field(default_factory=dict, description=_OPTIONS_OF.format("Delta's streaming source"))


class DeclaredFiles(SettingsSection):
    """`source.files` of a stream."""

    path: Name = Field(description="a path or an address of a folder")
    format: FileFormat = Field(strict=False, description=f"one of {', '.join(FileFormat)}")
    # BaseModel has a method of the setting's name.
    ddl: Text = Field(default="", alias="schema", description=DDL)
    options: dict[str, Text] = Field(
        default_factory=dict, description=_OPTIONS_OF.format("Spark's file source and of the format")
    )


class DeclaredCustom(SettingsSection):
    """`source.custom` or `sink.custom` of a stream."""

    format: Name = Field(description="the name of a format of Spark or of a connector, for example rate")
    options: dict[str, Text] = Field(default_factory=dict, description=_OPTIONS_OF.format("the format"))


class DeclaredSource(SettingsSection):
    """`source` of a stream: exactly one of its settings."""

    kafka: DeclaredKafka | None = Field(default=None, description="a mapping with bootstrap_servers and topics")
    delta: DeclaredDeltaTable | None = Field(default=None, description="a mapping with table")
    files: DeclaredFiles | None = Field(default=None, description="a mapping with path and format")
    custom: DeclaredCustom | None = Field(default=None, description="a mapping with format")

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if sum(kind is not None for kind in (self.kafka, self.delta, self.files, self.custom)) != 1:
            raise ValueError("one of four")
        return self


class DeclaredDeltaSink(SettingsSection):
    """`sink.delta` of a stream."""

    table: Name = Field(description=_A_DELTA_TABLE)


class DeclaredKafkaSink(SettingsSection):
    """`sink.kafka` of a stream."""

    bootstrap_servers: Servers = Field(description="host:port, several joined by commas")
    topic: Topic = Field(description="the name of a topic")
    options: dict[str, Text] = Field(default_factory=dict, description=_OPTIONS_OF.format("Spark's Kafka sink"))


class DeclaredJdbcSink(SettingsSection):
    """`sink.jdbc` of a stream."""

    url: JdbcUrl = Field(description="an address of JDBC, for example jdbc:postgresql://host:5432/shop")
    table: TableName = Field(description="the name of a table, with or without its schema")
    user: Text = Field(default="", description="the name of a user")
    password_file: Text = Field(default="", description=_A_SECRET_FILE)


class DeclaredRestSink(SettingsSection):
    """`sink.rest` of a stream."""

    url: HttpUrl | None = Field(default=None, description="an http:// or https:// address")
    token_file: Text = Field(default="", description=_A_SECRET_FILE)
    url_file: Text = Field(default="", description=_A_SECRET_FILE)


class DeclaredFilesSink(SettingsSection):
    """`sink.files` of a stream."""

    path: Name = Field(description="a path or an address of a folder")
    format: FileFormat = Field(strict=False, description=f"one of {', '.join(FileFormat)}")


class DeclaredSink(SettingsSection):
    """`sink` of a stream: at least one of delta, kafka, jdbc, rest, files, custom"""

    delta: DeclaredDeltaSink | None = Field(default=None, description="a mapping with table")
    kafka: DeclaredKafkaSink | None = Field(default=None, description="a mapping with bootstrap_servers and topic")
    jdbc: DeclaredJdbcSink | None = Field(default=None, description="a mapping with url and table")
    rest: DeclaredRestSink | None = Field(default=None, description="a mapping with url or url_file")
    files: DeclaredFilesSink | None = Field(default=None, description="a mapping with path and format")
    custom: DeclaredCustom | None = Field(default=None, description="a mapping with format")
    dead_letters: Text = Field(default="", description=_A_DELTA_TABLE)
    guarantee: SinkGuarantee | None = Field(
        default=None, strict=False, description=f"one of {', '.join(SinkGuarantee)}"
    )

    @property
    def has_only_a_table(self) -> bool:
        """Whether all rows go to a Delta table."""
        return self.delta is not None and not any((self.kafka, self.jdbc, self.rest, self.files, self.custom))

    @model_validator(mode="after")
    def _has_a_kind(self) -> Self:
        if not any((self.delta, self.kafka, self.jdbc, self.rest, self.files, self.custom)):
            raise ValueError("one at least")
        return self
