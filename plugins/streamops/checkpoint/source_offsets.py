"""What a source's own text in the offset log says.

The text names no source, so its form decides: two sources that write the same form look alike. Forms as of Spark 3.5 to
4.3 and Delta's DeltaSourceOffset. What their own readers put up with (further keys, `5.0` for 5, Kafka's null for 0; tried on
JsonUtils of 4.2.0 and on DeltaSourceOffset of 4.4.0) is read as they read it; any other form is kept as text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from streamops.checkpoint.layout import RepeatedKeyError, is_long, json_value

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PARTITION = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_HIGHEST_PARTITION = 2**31 - 1
"""Kafka counts partitions by Java's int, and a start fails on what is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaPosition:
    """Where a query goes on in one partition."""

    topic: str
    partition: int
    """Spark never logs a negative one, nor a negative offset; if there is one, it is kept."""
    next_offset: int
    """The first offset that is not read yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOffset:
    """`{"orders":{"0":23,"1":40}}`: KafkaSourceOffset, micro-batch and continuous. Event Hubs writes the same form."""

    positions: tuple[KafkaPosition, ...]
    """By topic and partition: the order in the text is arbitrary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOffset:
    """`{"logOffset":4}`: FileStreamSourceOffset."""

    log_offset: int
    """The last id used of the source's own log, which is not the batch id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaOffset:
    """`{"sourceVersion":1,"reservoirId":…,"reservoirVersion":12,"index":-1,"isStartingVersion":false}`."""

    source_version: int
    """3 only at a change of the schema."""
    table_id: str
    table_version: int
    index: int
    """Of the last file read in that version; negative ones are marks, -1 stands before the first file."""
    is_starting_version: bool
    """Whether the initial snapshot is still being read."""
    lacks_index: bool = False
    """Whether the text has none, which Delta reads as 0: as if the first file of the version were read (4.4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateOffset:
    """`7`, seconds since the rate source began. A bare number may also be a socket's or a file source's of Spark 2.1."""

    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RateMicroBatchOffset:
    """`{"offset":15,"timestamp":5000}`: RatePerMicroBatchStreamOffset."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousRatePosition:
    """One partition of the rate source in continuous mode."""

    partition: int
    value: int
    run_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinuousRateOffset:
    """`{"0":{"value":20,"runTimeMs":5000}}`: RateStreamOffset; nothing but continuous mode writes it."""

    positions: tuple[ContinuousRatePosition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownOffset:
    """Any other text: Kinesis, Iceberg, sequential unions, Python data sources, and what was never seen."""

    text: str
    """As it is in the file: escape it before you show it."""


class OffsetForm(StrEnum):
    """Whose offset a text looks like, in the words of a message."""

    KAFKA = "Kafka"
    FILES = "files"
    DELTA = "Delta"
    RATE = "rate"
    """Or any other source that writes a bare number."""
    RATE_MICRO_BATCH = "rate-micro-batch"
    CONTINUOUS_RATE = "rate (continuous)"


SourceOffset = (
    KafkaOffset | FileOffset | DeltaOffset | RateOffset | RateMicroBatchOffset | ContinuousRateOffset | UnknownOffset
)


def parse_source_offset(text: str) -> SourceOffset:
    """The offset in a source's text; UnknownOffset for whatever is not exactly a known form. Never raises."""
    forms = _FORMS
    try:
        value = json_value(text)
    except RepeatedKeyError:
        value, forms = json_value(text, is_spark_own=False), _FORMS_WITH_KEYS_TWICE
    except ValueError:
        return UnknownOffset(text=text)
    if type(value) is int:
        # Java's parseLong takes no blank; the readers of JSON want an object.
        return RateOffset(seconds=value) if _NUMBER.fullmatch(text) else UnknownOffset(text=text)
    if not isinstance(value, dict):
        return UnknownOffset(text=text)
    return next((offset for form in forms if (offset := form(value))), UnknownOffset(text=text))


def form_of(offset: SourceOffset | None) -> OffsetForm | None:
    """The form of an offset; None for none, and for texts that say nothing of their source: `{}`, and unknown ones."""
    return _FORM_OF.get(type(offset))


def says_nothing(offset: SourceOffset) -> bool:
    """Whether it is an empty object, as Kafka's source writes it while no topic fits its pattern."""
    if not isinstance(offset, UnknownOffset):
        return False
    try:
        return json_value(offset.text, is_spark_own=False) == {}
    except ValueError:
        return False


def _file(fields: dict[str, object]) -> FileOffset | None:
    log_offset = _json4s_long(fields.get("logOffset"))
    return None if log_offset is None else FileOffset(log_offset=log_offset)


def _rate_micro_batch(fields: dict[str, object]) -> RateMicroBatchOffset | None:
    numbers = _integers(fields, "offset", "timestamp")
    return RateMicroBatchOffset(offset=numbers[0], timestamp_ms=numbers[1]) if numbers else None


def _delta(fields: dict[str, object]) -> DeltaOffset | None:
    table_id, is_starting_version = fields.get("reservoirId"), fields.get("isStartingVersion")
    names = ("sourceVersion", "reservoirVersion", "index")
    version, table_version, index = (_jackson_long(fields.get(name)) for name in names)
    if not isinstance(table_id, str) or "sourceVersion" not in fields or "reservoirVersion" not in fields:
        return None
    if version is None or table_version is None or index is None:
        return None
    return DeltaOffset(
        source_version=version,
        table_id=table_id,
        table_version=table_version,
        index=index,
        is_starting_version=is_starting_version in (True, "true"),
        lacks_index=fields.get("index") is None,
    )


def _continuous_rate(fields: dict[str, object]) -> ContinuousRateOffset | None:
    positions = []
    for name, told in fields.items():
        partition = int(name) if _PARTITION.fullmatch(name) else None
        numbers = _integers(told, "value", "runTimeMs") if isinstance(told, dict) else None
        if partition is None or numbers is None:
            return None
        positions.append(ContinuousRatePosition(partition=partition, value=numbers[0], run_time_ms=numbers[1]))
    positions.sort(key=lambda position: position.partition)
    return ContinuousRateOffset(positions=tuple(positions)) if positions else None


def _kafka(fields: dict[str, object]) -> KafkaOffset | None:
    """A topic without partitions, or null in its place, is read like one that is not there (tried on JsonUtils of 4.2.0)."""
    positions: list[KafkaPosition] = []
    for topic, partitions in fields.items():
        told = _topic_positions(topic, partitions)
        if told is None:
            return None
        positions.extend(told)
    is_empty = bool(fields) and all(partitions == {} for partitions in fields.values())
    positions.sort(key=lambda position: (position.topic, position.partition))
    return KafkaOffset(positions=tuple(positions)) if positions or is_empty else None


def _topic_positions(topic: str, partitions: object) -> tuple[KafkaPosition, ...] | None:
    """The positions in one topic; None when anything in it is not Kafka's."""
    if not _TOPIC.fullmatch(topic) or not isinstance(partitions, dict | None):
        return None
    positions = {}
    for name, told in (partitions or {}).items():
        next_offset = 0 if told is None else _json4s_long(told)
        if not _PARTITION.fullmatch(name) or int(name) > _HIGHEST_PARTITION or next_offset is None:
            return None
        positions[int(name)] = next_offset
    return tuple(
        KafkaPosition(topic=topic, partition=partition, next_offset=next_offset)
        for partition, next_offset in positions.items()
    )


def _json4s_long(value: object) -> int | None:
    """A number as Spark's own sources read it, cut to a whole one; None for anything else."""
    if type(value) is int:
        return value
    return int(value) if isinstance(value, float) and isfinite(value) and is_long(int(value)) else None


def _jackson_long(value: object) -> int | None:
    """A number as Delta reads it: in quotes as well, and nothing is 0."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value)
    return 0 if value is None else _json4s_long(value)


def _integers(fields: dict[str, object], *names: str) -> tuple[int, ...] | None:
    """The values under these names in this order, when there are no others and each is an integer, not a truth value."""
    if fields.keys() != set(names):
        return None
    numbers = tuple(number for name in names if type(number := fields[name]) is int)
    return numbers if len(numbers) == len(names) else None


_FORMS: tuple[Callable[[dict[str, object]], SourceOffset | None], ...] = (
    _file,
    _rate_micro_batch,
    _delta,
    _continuous_rate,
    _kafka,
)
"""No text fits two of them, so the order says nothing."""
_FORMS_WITH_KEYS_TWICE = (_delta, _kafka)
"""The last one counts to them (4.2.0, Delta 4.4)."""
_FORM_OF: dict[type, OffsetForm] = {
    KafkaOffset: OffsetForm.KAFKA,
    FileOffset: OffsetForm.FILES,
    DeltaOffset: OffsetForm.DELTA,
    RateOffset: OffsetForm.RATE,
    RateMicroBatchOffset: OffsetForm.RATE_MICRO_BATCH,
    ContinuousRateOffset: OffsetForm.CONTINUOUS_RATE,
}
