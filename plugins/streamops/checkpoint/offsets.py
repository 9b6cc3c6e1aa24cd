"""One entry of the offset log: what a batch was planned to read, written before the batch runs, and by which Spark.

Spark classes: OffsetSeqLog and OffsetSeqMetadata, 3.5 to 4.3. `v1`, a header line of JSON, one line for each source in
plan order; `-` where a source has never had an offset. `v2` (4.2 on) puts `<source id>:` before each source's text.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streamops.checkpoint.layout import (
    Damage,
    DamagedFileError,
    json_value,
    long_or_none,
    quoted,
    text_lines,
    version_error,
)
from streamops.checkpoint.source_offsets import (
    ContinuousRateOffset,
    KafkaOffset,
    OffsetForm,
    SourceOffset,
    form_of,
    parse_source_offset,
    says_nothing,
)

_STREAMING = "spark.sql.streaming."

_NEW_KEYS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        "4.3",
        frozenset(
            {
                "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
                _STREAMING + "statefulOperator.alwaysNullableOutput.enabled",
            }
        ),
    ),
    (
        "4.2",
        frozenset(
            {
                _STREAMING + "stateStore.rocksdb.mergeOperatorVersion",
                _STREAMING + "stateStore.rowChecksum.enabled",
                _STREAMING + "queryEvolution.enableSourceEvolution",
                "spark.sql.function.protobufExtensions.enabled",
            }
        ),
    ),
    ("4.0", frozenset({_STREAMING + "stateStore.encodingFormat"})),
    ("3.5", frozenset({"spark.sql.shuffle.partitions", _STREAMING + "stateStore.providerClass"})),
)
"""Keys that a version writes and the one before did not (OffsetSeqMetadata, seen in real files); newest first, because
each version writes the older ones' keys as well."""


def spark_fingerprint(conf_keys: Iterable[str]) -> str:
    """`3.5`, `4.0`, `4.2` or `4.3` by the newest key that is known; empty when none is.

    `4.0` stands for 4.0 and 4.1, which pin the same keys; `3.5` for everything older as well, `4.3` for everything newer.
    """
    keys = frozenset(conf_keys)
    return next((version for version, new in _NEW_KEYS if keys & new), "")


def first_with(conf_key: str) -> str:
    """The first Spark that pins a setting; `3.5` for all that are older."""
    return next((version for version, new in _NEW_KEYS if conf_key in new), "3.5")


SUPPORTED_VERSIONS = ("v1", "v2")
NO_OFFSET = "-"

_SOURCE_ID = re.compile(r"[A-Za-z0-9_]+")
"""A source's name, or its position where it has none (4.2 and 4.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetHeader:
    """The second line of an entry. Spark needs none of its keys; unknown ones are skipped."""

    planned_at: datetime | None = None
    """The driver's clock at planning; None where there is no usable stamp."""
    watermark_ms: int | None = None
    """The watermark that the batch uses, 0 for none; None where the header does not say."""
    conf: tuple[tuple[str, str], ...] = ()
    """The confs that are pinned for the query, by key."""
    null_confs: tuple[str, ...] = ()
    """Those that an edit has left without a value."""
    has_control_batch: bool = False
    """Whether an offline operation such as a repartition of the state wrote the entry (4.2 on): no batch with data."""
    is_empty: bool = False
    """Whether the line is blank, as continuous mode leaves it."""

    def pinned(self, conf_key: str) -> str | None:
        """The value of a conf; None where it is not pinned."""
        return dict(self.conf).get(conf_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetEntry:
    """A planned batch."""

    batch: int
    version: str
    planned_at: datetime | None
    """The header's stamp."""
    sources: tuple[str | None, ...]
    """Each source's own text, opaque to Spark's engine; None where the source had no offset yet."""
    source_ids: tuple[str, ...] = ()
    """Of the sources, in the same order; empty in `v1`, where the position is all there is."""
    header: OffsetHeader = OffsetHeader()

    @property
    def source_names(self) -> tuple[str, ...]:
        """By what the sources are told apart from entry to entry: their ids, or in `v1` their positions."""
        return self.source_ids or tuple(map(str, range(len(self.sources))))

    @property
    def offsets(self) -> tuple[SourceOffset | None, ...]:
        """What the sources' texts say; None where the source had no offset yet."""
        return tuple(None if text is None else parse_source_offset(text) for text in self.sources)

    @property
    def text_by_source(self) -> dict[str, str | None]:
        """The sources' own texts by `source_names`."""
        return dict(zip(self.source_names, self.sources, strict=True))

    @property
    def offset_by_source(self) -> dict[str, SourceOffset | None]:
        """The offsets by `source_names`, to compare two entries."""
        return dict(zip(self.source_names, self.offsets, strict=True))

    def is_foreign_to(self, form: OffsetForm | None) -> bool:
        """Whether there are offsets, and none of them is one of such a source; never where its form is not known."""
        told = {form_of(offset) for offset in self.offsets if offset is not None and not says_nothing(offset)}
        # A file source reads the bare number that Spark 2.1 wrote.
        accepted = {form, OffsetForm.RATE} if form is OffsetForm.FILES else {form}
        return form is not None and bool(told) and not told & accepted


def offset_pairs(
    before: OffsetEntry | None, now: OffsetEntry | None
) -> Iterator[tuple[str, SourceOffset | None, SourceOffset | None]]:
    """For each source of an entry its name, its offset in the entry before, None where there is none, and its own."""
    had = before.offset_by_source if before else {}
    for name, offset in now.offset_by_source.items() if now else ():
        yield name, had.get(name), offset


def parse_offsets(content: bytes, *, batch: int, address: str, may_be_continuous: bool = False) -> OffsetEntry:
    """The entry in a file; CheckpointError naming file and line.

    A blank header is accepted where all sources write the text of continuous mode. That of Kafka is the same in both modes
    (ContinuousExecution, 4.2.0), so that it may be a damaged entry: accepted where the caller says that it may be none.
    """
    if not content.strip():
        raise DamagedFileError(Damage.EMPTY, f"{address} is empty")
    lines = text_lines(content, address=address)
    version = lines[0]
    if version not in SUPPORTED_VERSIONS:
        known = ", ".join(SUPPORTED_VERSIONS)
        raise version_error(
            version, f"{address} line 1: version {quoted(version)}, supported: {known} — upgrade streamops"
        )
    if len(lines) < 2:
        raise DamagedFileError(Damage.NO_HEADER, f"{address} line 2: the header is missing")
    # Spark takes the header apart first.
    told = _told_by_header(lines[1], version=version, place=_place(address, 2)) if lines[1].strip() else None
    if len(lines) < 3:
        raise DamagedFileError(Damage.NO_SOURCE, f"{address} line 3: no source follows the header")
    if version != "v1":
        _refuse_without_colon(lines, address=address)
    named = [_named(line, version=version, place=_place(address, number)) for number, line in enumerate(lines[2:], 3)]
    texts = [_source(text, place=_place(address, number)) for number, (_, text) in enumerate(named, 3)]
    kinds = (ContinuousRateOffset, KafkaOffset) if may_be_continuous else (ContinuousRateOffset,)
    header = told or _blank_header(texts, place=_place(address, 2), continuous=kinds)
    return OffsetEntry(
        batch=batch,
        version=version,
        planned_at=header.planned_at,
        sources=tuple(texts),
        source_ids=tuple(name for name, _ in named if name),
        header=header,
    )


def _place(address: str, line: int) -> str:
    return f"{address} line {line}"


def _blank_header(texts: list[str | None], *, place: str, continuous: tuple[type[SourceOffset], ...]) -> OffsetHeader:
    if all(text and isinstance(parse_source_offset(text), continuous) for text in texts):
        return OffsetHeader(is_empty=True)
    raise DamagedFileError(Damage.BLANK_HEADER, f"{place}: the header is not a JSON object: the line is blank")


def _told_by_header(line: str, *, version: str, place: str) -> OffsetHeader:
    try:
        fields = json_value(line)
    except ValueError as error:
        raise DamagedFileError(Damage.HEADER, f"{place}: the header is not a JSON object: {error}") from error
    # An empty list is read like an empty object (tried on 4.2.0).
    fields = {} if fields == [] else fields
    if not isinstance(fields, dict):
        raise DamagedFileError(Damage.HEADER, f"{place}: the header is not a JSON object but {quoted(line)}")
    if version != "v1" and not isinstance(fields.get("sourceMetadataInfo", {}), dict | None):
        raise DamagedFileError(Damage.HEADER, f"{place}: sourceMetadataInfo is no JSON object")
    conf = _conf(fields.get("conf"), place=place)
    return OffsetHeader(
        planned_at=_moment(_long(fields, "batchTimestampMs", place=place)),
        watermark_ms=_long(fields, "batchWatermarkMs", place=place),
        conf=tuple(sorted((key, value) for key, value in conf.items() if value is not None)),
        null_confs=tuple(sorted(key for key, value in conf.items() if value is None)),
        has_control_batch=fields.get("controlBatchInfo") is not None,
    )


def _moment(milliseconds: int | None) -> datetime | None:
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def _long(fields: dict[str, object], name: str, *, place: str) -> int | None:
    try:
        return long_or_none(fields.get(name))
    except ValueError as error:
        raise DamagedFileError(Damage.HEADER, f"{place}: {name} {error}") from error


def _conf(conf: object, *, place: str) -> dict[str, str | None]:
    """Numbers are read as texts, anything else but null is refused (tried on 4.2.0)."""
    if conf is None:
        return {}
    if not isinstance(conf, dict):
        raise DamagedFileError(Damage.HEADER, f"{place}: conf is no JSON object")
    read: dict[str, str | None] = {}
    for key, value in conf.items():
        if isinstance(value, bool | dict | list):
            raise DamagedFileError(Damage.HEADER, f"{place}: conf has no text for {quoted(key)}")
        read[key] = None if value is None else str(value)
    return read


def _refuse_without_colon(lines: list[str], *, address: str) -> None:
    """Spark takes all lines apart before it looks at one of them (OffsetMap, 4.2.0)."""
    for number, line in enumerate(lines[2:], 3):
        if ":" not in line:
            raise DamagedFileError(
                Damage.NO_COLON, f"{_place(address, number)}: {quoted(line)} has no colon behind an id"
            )


def _named(line: str, *, version: str, place: str) -> tuple[str, str]:
    """A source's id and its text; no id in `v1`."""
    if version == "v1":
        return "", line
    name, _, text = line.partition(":")
    if not _SOURCE_ID.fullmatch(name):
        raise DamagedFileError(Damage.SOURCE_ID, f"{place}: {quoted(line)} does not begin with a source id and a colon")
    return name, text


def _source(text: str, *, place: str) -> str | None:
    if text == NO_OFFSET:
        return None
    # Spark notices a cut text only when the source parses it, deep in the start; every known form but bare numbers is JSON.
    try:
        json_value(text, is_spark_own=False)
    except ValueError as error:
        raise DamagedFileError(Damage.SOURCE, f"{place}: the source's offset is cut or not JSON: {error}") from error
    return text
