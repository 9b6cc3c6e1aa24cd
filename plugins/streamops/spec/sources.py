"""Where a stream's records come from: topics of Kafka, a Delta table, the files of a folder, or whatever a connector reads."""

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from streamops.checkpoint.source_offsets import OffsetForm


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    """Topics of one cluster."""

    bootstrap_servers: str
    topics: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    """Options of Spark's Kafka source, as Spark names them."""
    connection: str = ""
    """Id of an Airflow connection of type `kafka` with the credentials for looking at the topics; used inside Airflow only."""
    tolerated_outage: timedelta = timedelta(0)
    """How long the stream may be down without a loss, as its owner says; zero where nobody has said."""

    def __post_init__(self) -> None:
        if self.tolerated_outage < timedelta(0):
            raise ValueError("the tolerated outage must not be negative")

    @property
    def offset_form(self) -> OffsetForm:
        """What its offsets look like in a checkpoint."""
        return OffsetForm.KAFKA

    def __str__(self) -> str:
        return f"Kafka ({', '.join(self.topics)} at {self.bootstrap_servers})"

    @property
    def fails_on_data_loss(self) -> bool:
        """Whether lost records are an error: Spark's `failOnDataLoss`, true unless it is declared otherwise."""
        return self._option("failondataloss", default="true").lower() != "false"

    @property
    def reads_committed(self) -> bool:
        """Whether records of open and aborted transactions are left out: the consumer's `isolation.level`."""
        return self._option("kafka.isolation.level", default="read_uncommitted") == "read_committed"

    def _option(self, name: str, *, default: str) -> str:
        return {given.lower(): value for given, value in self.options}.get(name, default).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTableSource:
    """The commits of one Delta table, in order; first the rows that it holds, unless an option says where to begin."""

    table: str
    """Canonical address."""
    options: tuple[tuple[str, str], ...] = ()
    """Options of Delta's streaming source, as Delta names them."""

    @property
    def offset_form(self) -> OffsetForm:
        """What its offsets look like in a checkpoint."""
        return OffsetForm.DELTA

    def __str__(self) -> str:
        return f"the Delta table {self.table}"


class FileFormat(StrEnum):
    """How the files of a folder are read: Spark's own formats."""

    BINARY = "binaryFile"
    CSV = "csv"
    JSON = "json"
    ORC = "orc"
    PARQUET = "parquet"
    TEXT = "text"
    XML = "xml"
    """Since Spark 4.0."""

    @property
    def is_writable(self) -> bool:
        """Whether Spark writes it as well."""
        return self is not FileFormat.BINARY

    @property
    def has_fixed_columns(self) -> bool:
        """Whether the columns are always the same, so that nobody need say them."""
        return self in (FileFormat.TEXT, FileFormat.BINARY)


MAX_FILE_AGE = timedelta(days=7)
"""Spark's own `maxFileAge`, 3.5 to 4.3."""
_CHOOSING = frozenset({"modifiedafter", "modifiedbefore", "pathglobfilter", "recursivefilelookup"})
"""Option names have no case."""
_SPARK_TIME = re.compile(r"(\d{1,19})(us|ms|s|m|min|h|d|)")
_SPARK_UNITS = {
    "us": timedelta(microseconds=1),
    "ms": timedelta(milliseconds=1),
    "": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}


def _spark_time(text: str, *, default: timedelta) -> timedelta:
    """As JavaUtils.timeStringAsMs reads it; the default for what it would refuse."""
    found = _SPARK_TIME.fullmatch(text.strip().lower())
    if found is None:
        return default
    try:
        return int(found[1]) * _SPARK_UNITS[found[2]]
    except OverflowError:
        return timedelta.max


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSource:
    """The files of a folder, each once."""

    path: str
    """Canonical address of the folder."""
    format: FileFormat
    schema: str = ""
    """The columns as DDL: `id BIGINT, amount DOUBLE`. Empty only where the format fixes them."""
    options: tuple[tuple[str, str], ...] = ()
    """Options of Spark's file source and of the format, as Spark names them."""

    def __post_init__(self) -> None:
        if not self.schema and not self.format.has_fixed_columns:
            raise ValueError(f"files of format {self.format} need a schema: a stream can't infer it")

    @property
    def max_file_age(self) -> timedelta:
        """How much older than the youngest a file may be to count (FileStreamOptions, FileStreamSource, 3.5 to 4.3)."""
        given = self._given
        is_limited = "maxfilespertrigger" in given or "maxbytespertrigger" in given
        if given.get("latestfirst", "").strip().lower() == "true" and is_limited:
            return timedelta.max
        return _spark_time(given.get("maxfileage", ""), default=MAX_FILE_AGE)

    @property
    def knows_names_only(self) -> bool:
        """Whether two files of one name are one to the source: `fileNameOnly`."""
        return self._given.get("filenameonly", "").strip().lower() == "true"

    @property
    def choosing_options(self) -> tuple[str, ...]:
        """Those given by which some files of the folder count, and others don't (FileIndexOptions, 4.2)."""
        return tuple(sorted(name for name, _ in self.options if name.lower() in _CHOOSING))

    @property
    def _given(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.options}

    @property
    def offset_form(self) -> OffsetForm:
        """What its offsets look like in a checkpoint."""
        return OffsetForm.FILES

    def __str__(self) -> str:
        return f"the {self.format} files of {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomSource:
    """Any other source of Spark, built in (`rate`) or of a connector. Nobody but Spark knows what it holds."""

    format: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def offset_form(self) -> OffsetForm | None:
        """What its offsets look like in a checkpoint; None where nobody here knows."""
        return None

    def __str__(self) -> str:
        return f"a source of format {self.format}"


Source = KafkaSource | DeltaTableSource | FilesSource | CustomSource
