"""The places that are no Delta table to which a claim lets its driver write."""

from dataclasses import dataclass
from typing import Any

Options = tuple[tuple[str, str], ...]
"""Options of a source or a sink in Spark, as Spark names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOutput:
    """One topic that a driver writes."""

    bootstrap_servers: str
    topic: str
    options: Options = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcOutput:
    """One table of a database that a driver writes."""

    url: str
    table: str
    user: str = ""
    password_file: str = ""
    """Path of a file with mode 0600 on the driver's host; empty where the database asks for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestOutput:
    """An endpoint that a driver posts to."""

    url: str = ""
    token_file: str = ""
    """As `JdbcOutput.password_file`."""
    url_file: str = ""
    """The same, of an address that is a secret itself; then `url` is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesOutput:
    """A folder that a driver writes files to."""

    path: str
    """Canonical address."""
    format: str
    """As Spark names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomOutput:
    """Any other sink of Spark."""

    format: str
    options: Options = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """All of them; None for what is not declared."""

    kafka: KafkaOutput | None = None
    jdbc: JdbcOutput | None = None
    rest: RestOutput | None = None
    files: FilesOutput | None = None
    custom: CustomOutput | None = None


_KINDS = {"kafka": KafkaOutput, "jdbc": JdbcOutput, "rest": RestOutput, "files": FilesOutput, "custom": CustomOutput}


def outputs_of(sink: dict[str, Any]) -> Outputs:
    """Those in the sink of a claim's spec. ValueError or TypeError where a field is missing, or not known."""
    return Outputs(**{name: kind(**_fields(sink[name])) for name, kind in _KINDS.items() if sink.get(name)})


def _fields(output: dict[str, Any]) -> dict[str, Any]:
    return {**output, "options": options_of(output["options"])} if "options" in output else output


def options_of(pairs: list[list[str]]) -> Options:
    """Options as JSON has them."""
    return tuple((key, value) for key, value in pairs)
