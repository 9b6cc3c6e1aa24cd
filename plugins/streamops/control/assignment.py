"""What a claim tells its driver: the part of the resolved spec that the driver side needs, and where it may write."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from streamops.control.records import Claimed, ClaimMode
from streamops.errors import ControlLogError

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


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaInput:
    """Topics that a driver reads."""

    bootstrap_servers: str
    topics: tuple[str, ...]
    options: Options = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaInput:
    """A Delta table that a driver reads."""

    table: str
    """Canonical address."""
    options: Options = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesInput:
    """A folder whose files a driver reads."""

    path: str
    """Canonical address."""
    format: str
    """As Spark names it."""
    schema: str
    """The columns as DDL; empty where the format fixes them."""
    options: Options = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomInput:
    """Any other source of Spark that a driver reads."""

    format: str
    options: Options = ()


Input = KafkaInput | DeltaInput | FilesInput | CustomInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One driver's work, as its claim gives it."""

    stream: str
    epoch: int
    token: str
    mode: ClaimMode
    job: str
    job_sha256: str
    """Of the job's file as it was claimed."""
    checkpoint: str
    source: Input
    table: str
    """The Delta table that is written; empty where there is none."""
    dead_letters: str
    """The Delta table for records that can't be parsed; empty where none is declared."""
    trigger_kind: str
    trigger_interval: timedelta
    beat: timedelta
    halt: timedelta
    stop: timedelta
    outputs: Outputs = field(default_factory=Outputs)
    parameters: Options = ()
    """What the job asks for by name."""


def assignment_of(claim: Claimed) -> Assignment:
    """The assignment in a claim; ControlLogError when the claim was written by something that this version can't read."""
    try:
        spec: dict[str, Any] = json.loads(claim.spec)
        sink, timings = spec["sink"], spec["timings"]
        return Assignment(
            stream=claim.stream,
            epoch=claim.epoch,
            token=claim.token,
            mode=claim.mode,
            job=spec["job"],
            job_sha256=claim.job_sha256,
            checkpoint=spec["checkpoint"],
            source=_input(spec["source"]),
            table=sink["table"],
            dead_letters=sink["dead_letters"],
            trigger_kind=spec["trigger"]["kind"],
            trigger_interval=timedelta(seconds=spec["trigger"]["interval"]),
            beat=timedelta(seconds=timings["beat"]),
            halt=timedelta(seconds=timings["halt"]),
            stop=timedelta(seconds=timings["stop"]),
            outputs=outputs_of(sink),
            parameters=options_of(spec.get("parameters", [])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ControlLogError(
            f"the claim of epoch {claim.epoch} on {claim.stream} does not hold a spec that this version"
            f" understands ({error!r}): supervisor and driver must run the same streamops"
        ) from error


def _input(source: dict[str, Any]) -> Input:
    """A source without a kind is Kafka: claims bore none while there was nothing else."""
    options = options_of(source["options"])
    kind = source.get("kind", "kafka")
    if kind == "kafka":
        return KafkaInput(
            bootstrap_servers=source["bootstrap_servers"], topics=tuple(source["topics"]), options=options
        )
    if kind == "delta":
        return DeltaInput(table=source["table"], options=options)
    if kind == "files":
        return FilesInput(path=source["path"], format=source["format"], schema=source["schema"], options=options)
    if kind == "custom":
        return CustomInput(format=source["format"], options=options)
    raise ValueError(f"a source of kind {kind!r:.50}")
