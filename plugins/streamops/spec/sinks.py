"""Where a stream's rows go: a Delta table, and the other places to which its job writes."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from streamops.spec.sources import FileFormat

TRACKS_PROGRESS_ASYNC = "asyncprogresstrackingenabled"
"""Lower case: an option of a query that Spark takes from the writer, with the Kafka sink alone (AsyncProgressTracking, 3.4 on).
Both logs get an entry only once in a while, so that they have holes, and what came after the last entry runs again."""


class SinkGuarantee(StrEnum):
    """What the sink makes of a batch that it gets twice."""

    IDEMPOTENT = "idempotent"
    """It recognises the batch by its number, as Delta's own sink does."""
    IDEMPOTENT_BY_KEY = "idempotent-by-key"
    """It recognises each row by its key, as a MERGE does: the same rows may come in other batches, too."""
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE_OR_NOTHING = "exactly-once-or-nothing"
    """A repeated batch would be wrong, and the sink can't recognise it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSink:
    """One topic. Spark's Kafka sink is at least once: a batch that runs again is written again."""

    bootstrap_servers: str
    topic: str
    options: tuple[tuple[str, str], ...] = ()
    """Options of Spark's Kafka sink, as Spark names them."""

    @property
    def tracks_progress_async(self) -> bool:
        """Whether the query that writes here logs its batches only once in a while."""
        return any(name.lower() == TRACKS_PROGRESS_ASYNC and value.lower() == "true" for name, value in self.options)

    @property
    def address(self) -> str:
        """The first of the servers stands for the cluster."""
        return f"kafka://{self.bootstrap_servers.partition(',')[0]}/{self.topic}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSink:
    """One table of a database."""

    url: str
    """As JDBC has it, `jdbc:postgresql://host:5432/shop`, without user and password."""
    table: str
    user: str = ""
    password_file: str = ""
    """Path of a file with mode 0600 on the driver's host."""

    @property
    def address(self) -> str:
        """The database and the table in it."""
        return f"{self.url.partition('?')[0]}/{self.table}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSink:
    """An endpoint that takes one row a request."""

    url: str = ""
    token_file: str = ""
    """Path of a file with mode 0600 on the driver's host: the token that goes with each request as a bearer."""
    url_file: str = ""
    """As `token_file`, of an address that is a secret itself, as that of a webhook; then `url` is empty."""

    def __post_init__(self) -> None:
        if bool(self.url) == bool(self.url_file):
            raise ValueError("an endpoint has a url or a url_file")

    @property
    def address(self) -> str:
        """The endpoint itself, or the file that names it."""
        return self.url or f"rest:{self.url_file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSink:
    """A folder of files."""

    path: str
    """Canonical address."""
    format: FileFormat

    @property
    def address(self) -> str:
        """The folder."""
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomSink:
    """Any other sink of Spark, built in (`console`, `noop`) or of a connector."""

    format: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def address(self) -> str:
        """The format alone: what its options mean only the connector knows."""
        return f"format:{self.format}"


FurtherSink = KafkaSink | JdbcSink | RestSink | FilesSink | CustomSink
"""What is no Delta table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSpec:
    """Where the rows go; several places where the job writes each batch to more than one."""

    table: str = ""
    """Canonical address of the Delta table; empty where none is written."""
    dead_letters: str = ""
    """Canonical address of the Delta table for records that can't be parsed; empty where none is declared."""
    guarantee: SinkGuarantee = SinkGuarantee.IDEMPOTENT
    """Of the weakest of the places."""
    kafka: KafkaSink | None = None
    jdbc: JdbcSink | None = None
    rest: RestSink | None = None
    files: FilesSink | None = None
    custom: CustomSink | None = None

    def __post_init__(self) -> None:
        if not self.table and not tuple(self.further):
            raise ValueError("a stream needs a sink")

    @property
    def further(self) -> Iterator[FurtherSink]:
        """The places that are no Delta table."""
        places = (self.kafka, self.jdbc, self.rest, self.files, self.custom)
        return (place for place in places if place is not None)

    @property
    def address(self) -> str:
        """What the sink is called where there is room for one place: the table if there is one."""
        return self.table or next(self.further).address
