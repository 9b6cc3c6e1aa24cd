"""From the declared source and sink of a stream to those of its spec; its columns are read as DDL.

The grammar is `singleTableSchema` of Spark's SqlBaseParser; the bounds are those of DataTypeAstBuilder, DataStreamReader takes
no CHAR or VARCHAR, and the readers of files no name twice and no bare INTERVAL (4.2.0, `tests/spark/test_ddl_against_spark.py`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, partial

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken

from streamops.settings.model_places import DDL, DeclaredFiles, DeclaredJdbcSink, DeclaredSink, DeclaredSource
from streamops.settings.problems import Collector
from streamops.settings.refusals import (
    LIMIT,
    refused_custom_option,
    refused_delta_option,
    refused_files_option,
    refused_jdbc_url,
    refused_kafka_option,
    refused_kafka_sink_option,
    refused_rest_url,
    refused_sink_format,
    refused_source_format,
)
from streamops.spec import (
    CustomSink,
    CustomSource,
    DeltaTableSource,
    FileFormat,
    FilesSink,
    FilesSource,
    JdbcSink,
    KafkaSink,
    KafkaSource,
    RestSink,
    SinkSpec,
    Source,
)
from streamops.spec.sinks import SinkGuarantee
from streamops.storage import canonical_address, is_inside

_PLAIN = (
    "bigint|binary|boolean|byte|date|double|float|int|integer|long|real|short|smallint"
    "|timestamp_ltz|timestamp_ntz|tinyint|variant|void"
)
_OTHERS = "array|dec|decimal|geography|geometry|interval|map|numeric|string|struct|time|timestamp"
_CHARS = "char|character|varchar"
_UNITS = (("year", "month"), ("day", "hour", "minute", "second"))
_MOST_DIGITS = 38
_MOST_DIGITS_OF_SECONDS = 6

_GRAMMAR = rf"""
schema: column ("," column)*
column: NAME _type _rest
field: NAME ":"? _type _rest
_rest: ("NOT"i "NULL"i)? ("COMMENT"i TEXT)?

_type: PLAIN | decimal | string | chars | time | timestamp | interval | place | array | map | struct
decimal: ("DECIMAL"i | "DEC"i | "NUMERIC"i) ("(" COUNT ("," COUNT)? ")")?
string: "STRING"i ("COLLATE"i NAME)?
chars: CHARS ["(" COUNT ")"]
time: "TIME"i ("(" COUNT ")")? _zone?
timestamp: "TIMESTAMP"i _zone?
_zone: "WITHOUT"i "TIME"i "ZONE"i
interval: "INTERVAL"i (UNIT ("TO"i UNIT)?)?
place: ("GEOMETRY"i | "GEOGRAPHY"i) "(" (COUNT | "ANY"i) ")"
array: "ARRAY"i "<" _type ">"
map: "MAP"i "<" _type "," _type ">"
struct: "STRUCT"i "<" (field ("," field)*)? ">"

NAME: /`(?:[^`]|``)*`/ | /(?!\d+(?:[LSYDF]|BD|E\d+)?(?!\w))[A-Z0-9_]+/i
PLAIN: /(?:{_PLAIN})(?!\w)/i
CHARS: /(?:{_CHARS})(?!\w)/i
UNIT: /{"|".join(unit for units in _UNITS for unit in units)}/i
COUNT: /[0-9]+/
TEXT: /'(?:[^'\\]|\\.|'')*'/s | /"(?:[^"\\]|\\.|"")*"/s
%ignore /\s+/
%ignore /--[^\r\n]*/
%ignore /\/\*.*?\*\//s
"""


def refused_ddl(ddl: str, *, nests: bool = True) -> str:
    """What is expected instead of these columns; empty where Spark takes them. `nests`: whether the files hold more than rows
    of plain values."""
    try:
        schema = _parser().parse(ddl)
    except UnexpectedInput as error:
        return _expected(ddl, error)
    return next(_refusals(schema, nests=nests), "")


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, start="schema", parser="lalr")


def _expected(ddl: str, error: UnexpectedInput) -> str:
    """A type that is none is the common mistake; all else is shown from where it can't be read on."""
    rest = (
        "" if isinstance(error, UnexpectedToken) and error.token.type == "$END" else ddl[error.pos_in_stream :].strip()
    )
    if not rest:
        return f"{DDL}: it breaks off after {ddl.strip()!r}"
    word = re.match(r"\w+", rest)
    if word is None or "PLAIN" not in _allowed(error):
        return f"{DDL}: not understood from {rest!r} on"
    close = get_close_matches(word[0].lower(), f"{_PLAIN}|{_OTHERS}".split("|"), n=1)
    meant = f", did you mean {close[0].upper()}" if close else ""
    return f"types of Spark: {word[0]!r} is none{meant}"


def _allowed(error: UnexpectedInput) -> set[str]:
    """Names of what could have stood there; the two kinds of error keep them under two names."""
    return set(getattr(error, "expected", None) or getattr(error, "allowed", None) or ())


def _refusals(schema: Tree[Token], *, nests: bool) -> Iterator[str]:
    """What follows the grammar, and is refused by what comes after it."""
    for decimal in schema.find_data("decimal"):
        given = [int(str(number)) for number in decimal.children]
        digits, scale = (*given, *(10, 0)[len(given) :])
        if digits > _MOST_DIGITS:
            yield f"at most {_MOST_DIGITS} digits in a DECIMAL, found {digits}"
        if scale > digits:
            yield f"no more digits behind the point than in all in a DECIMAL, found {scale} of {digits}"
    for chars in schema.find_data("chars"):
        yield f"STRING: the schema of a source has no {str(chars.children[0]).upper()}"
    for time in schema.find_data("time"):
        if any(int(str(digits)) > _MOST_DIGITS_OF_SECONDS for digits in time.children):
            yield f"TIME with at most {_MOST_DIGITS_OF_SECONDS} digits of a second, found {time.children[0]}"
    for interval in schema.find_data("interval"):
        units = [str(unit).lower() for unit in interval.children]
        if not units:
            yield "INTERVAL YEAR TO MONTH or INTERVAL DAY TO SECOND: no file holds a bare INTERVAL"
        if len(units) == 2 and not any(_in_order(units, known) for known in _UNITS):
            yield f"INTERVAL from a longer to a shorter unit, found {' to '.join(units).upper()}"
    for nested in schema.find_pred(lambda part: part.data in ("array", "map", "struct")):
        if not nests:
            yield f"columns of plain values in this format, found {nested.data.upper()}"
    for holder in (schema, *schema.find_data("struct")):
        columns = [part.children[0] for part in holder.children if isinstance(part, Tree)]
        named = Counter(str(name).strip("`").lower() for name in columns)
        yield from (f"each column once, found {name} {count} times" for name, count in named.items() if count > 1)


def _in_order(units: list[str], known: tuple[str, ...]) -> bool:
    return all(unit in known for unit in units) and known.index(units[0]) < known.index(units[1])


def refused_option(source: DeclaredSource) -> Callable[[str, str], str]:
    """What judges an option of such a source."""
    if source.delta:
        return refused_delta_option
    if source.custom:
        return partial(refused_custom_option, source=source.custom.format)
    return refused_files_option if source.files else refused_kafka_option


def resolve_source(collector: Collector, declared: DeclaredSource) -> Source:
    """Of the one kind that is declared: the model lets no other number pass."""
    if delta := declared.delta:
        return DeltaTableSource(
            table=collector.folder(delta.table, ("source", "delta", "table")),
            options=_delta_options(collector, delta.options),
        )
    if files := declared.files:
        return _files(collector, files)
    if custom := declared.custom:
        place = ("source", "custom")
        if expected := refused_source_format(custom.format):
            collector.refuse((*place, "format"), custom.format, expected)
        options = collector.accepted(custom.options, (*place, "options"), refused_option(declared))
        return CustomSource(format=custom.format, options=options)
    kafka = declared.kafka
    assert kafka is not None, "the model demands one source"
    return KafkaSource(
        bootstrap_servers=kafka.bootstrap_servers,
        topics=tuple(kafka.topics),
        options=_kafka_options(collector, kafka.options),
        connection=kafka.connection,
        tolerated_outage=kafka.tolerated_outage,
    )


def resolve_sink(collector: Collector, declared: DeclaredSink) -> SinkSpec:
    """All places that are declared, and what becomes of a batch that comes to them twice."""
    letters = declared.dead_letters
    return SinkSpec(
        table=collector.folder(declared.delta.table, ("sink", "delta", "table")) if declared.delta else "",
        dead_letters=collector.folder(letters, ("sink", "dead_letters")) if letters else "",
        guarantee=_guarantee(collector, declared),
        kafka=_kafka_sink(collector, declared),
        jdbc=_jdbc_sink(collector, declared.jdbc) if declared.jdbc else None,
        rest=_rest_sink(collector, declared),
        files=_files_sink(collector, declared),
        custom=_custom_sink(collector, declared),
    )


def _guarantee(collector: Collector, declared: DeclaredSink) -> SinkGuarantee:
    """Delta knows its batches. Of other places nobody knows what the job makes of them, so it is to be said."""
    place, guarantee = ("sink", "guarantee"), declared.guarantee
    if guarantee is None:
        if not declared.has_only_a_table:
            words = ", ".join(SinkGuarantee)
            collector.refuse(
                place,
                None,
                f"what becomes of a batch that is written twice, as other sinks than Delta are declared: {words}",
            )
        return SinkGuarantee.IDEMPOTENT
    if declared.kafka and guarantee in (SinkGuarantee.IDEMPOTENT, SinkGuarantee.IDEMPOTENT_BY_KEY):
        collector.refuse(
            place, str(guarantee), "at-least-once: Spark's Kafka sink writes the records of a repeated batch again"
        )
    return guarantee


def _kafka_sink(collector: Collector, declared: DeclaredSink) -> KafkaSink | None:
    if declared.kafka is None:
        return None
    options = collector.accepted(declared.kafka.options, ("sink", "kafka", "options"), refused_kafka_sink_option)
    return KafkaSink(bootstrap_servers=declared.kafka.bootstrap_servers, topic=declared.kafka.topic, options=options)


def _jdbc_sink(collector: Collector, declared: DeclaredJdbcSink) -> JdbcSink:
    place = ("sink", "jdbc")
    if expected := refused_jdbc_url(declared.url):
        collector.refuse((*place, "url"), _shown(declared.url), expected)
    if bool(declared.user) != bool(declared.password_file):
        collector.refuse(place, "one of user and password_file", "both of them, or none")
    return JdbcSink(
        url=declared.url,
        table=declared.table,
        user=declared.user,
        password_file=collector.absolute(declared.password_file) if declared.password_file else "",
    )


def _rest_sink(collector: Collector, declared: DeclaredSink) -> RestSink | None:
    rest = declared.rest
    if rest is None:
        return None
    url, place = rest.url or "", ("sink", "rest")
    if expected := refused_rest_url(url):
        collector.refuse((*place, "url"), _shown(url), expected)
    if bool(url) == bool(rest.url_file):
        found = "both url and url_file" if url else "neither url nor url_file"
        collector.refuse(place, found, "url, or url_file for an address that is a secret itself, as that of a webhook")
        return None
    return RestSink(
        url=url,
        token_file=collector.absolute(rest.token_file) if rest.token_file else "",
        url_file=collector.absolute(rest.url_file) if rest.url_file else "",
    )


def _files_sink(collector: Collector, declared: DeclaredSink) -> FilesSink | None:
    files = declared.files
    if files is None:
        return None
    if not files.format.is_writable:
        writable = ", ".join(kind for kind in FileFormat if kind.is_writable)
        collector.refuse(("sink", "files", "format"), str(files.format), f"a format that Spark can write: {writable}")
    return FilesSink(path=collector.folder(files.path, ("sink", "files", "path")), format=files.format)


def _custom_sink(collector: Collector, declared: DeclaredSink) -> CustomSink | None:
    custom, place = declared.custom, ("sink", "custom")
    if custom is None:
        return None
    if expected := refused_sink_format(custom.format):
        collector.refuse((*place, "format"), custom.format, expected)
    options = collector.accepted(custom.options, (*place, "options"), refused_custom_option)
    return CustomSink(format=custom.format, options=options)


def _shown(url: str) -> str:
    """The scheme alone: any other part may be what must not be shown."""
    return f"{url.partition(':')[0]}:…"


def _refused_columns(schema: str, format_: FileFormat) -> str:
    # The library of grammars is loaded where there are columns to read, and not at each command.
    from streamops.settings.resolve_places import refused_ddl

    return refused_ddl(schema, nests=format_ is not FileFormat.CSV)


def _delta_options(collector: Collector, options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    place = ("source", "delta", "options")
    if {"startingversion", "startingtimestamp"} <= {name.lower() for name in options}:
        collector.refuse(place, "startingVersion and startingTimestamp", "one of the two: Delta refuses both together")
    return collector.accepted(options, place, refused_delta_option)


def _kafka_options(collector: Collector, options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    place = ("source", "kafka", "options")
    accepted = collector.accepted(options, place, refused_kafka_option)
    limits = {name.lower(): int(value) for name, value in accepted if LIMIT.fits(value)}
    least, most = limits.get("minoffsetspertrigger"), limits.get("maxoffsetspertrigger")
    if least and most and least > most:
        found = f"minOffsetsPerTrigger {least} above maxOffsetsPerTrigger {most}"
        collector.refuse(place, found, "a minimum that is not above the maximum: Spark refuses the source")
    return accepted


def _files_options(collector: Collector, path: str, options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """An archive within the input would be read again (FileStreamSource.SourceFileArchiver, 4.2)."""
    place = ("source", "files", "options")
    accepted = collector.accepted(options, place, refused_files_option)
    given = {name.lower(): value for name, value in accepted}
    archive = given.get("sourcearchivedir", "")
    if given.get("cleansource", "").strip().lower() == "archive":
        if not archive:
            collector.refuse(
                place, "cleanSource archive alone", "sourceArchiveDir beside it: a folder for what was read"
            )
        elif path and is_inside(canonical_address(archive, base=collector.root), path):
            collector.refuse((*place, "sourceArchiveDir"), archive, "a folder outside of source.files.path")
    return accepted


def _files(collector: Collector, declared: DeclaredFiles) -> FilesSource:
    place, schema = ("source", "files"), declared.ddl.strip()
    if not schema and not declared.format.has_fixed_columns:
        expected = f"{DDL}: a stream can't infer those of {declared.format}"
        collector.refuse((*place, "schema"), declared.ddl or None, expected)
        schema = "value STRING"
    if schema and (expected := _refused_columns(schema, declared.format)):
        collector.refuse((*place, "schema"), schema, expected)
    path = collector.folder(declared.path, (*place, "path"))
    return FilesSource(
        path=path,
        format=declared.format,
        schema=schema,
        options=_files_options(collector, path, declared.options),
    )
