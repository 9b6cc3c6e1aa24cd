"""Every parser of files and names: any bytes give a value that can be shown, or the error that its docstring declares."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.samples import (
    CHECKPOINTS,
    CHECKSUM,
    KAFKA,
    OPERATOR,
    SINK,
    SOURCE_OFFSETS,
    commit,
    offsets,
    snapshot_zip,
    source_entries,
)
from streamops.checkpoint.commits import parse_commit
from streamops.checkpoint.compact_log import compact_log
from streamops.checkpoint.layout import LogListing
from streamops.checkpoint.offsets import parse_offsets, spark_fingerprint
from streamops.checkpoint.source_log import content_kind, parse_initial_offsets, parse_source_entries, parse_start_time
from streamops.checkpoint.source_offsets import parse_source_offset
from streamops.checkpoint.state_files import store_files
from streamops.checkpoint.state_metadata import parse_operator_metadata, parse_snapshot_zip, parse_spark_checksum
from streamops.control import codec
from streamops.control.attendance import Attendance
from streamops.control.drivers import DriverPhase, ExitRecord, Heartbeat, QueryBeat, QueryStep
from streamops.control.records import Outcome, Parked
from streamops.control.registry import RegistryEntry
from streamops.control.snapshot import FOLD_VERSION, Snapshot
from streamops.errors import CheckpointError, CorruptRecordError, NewerRecordError
from streamops.places.sink_log import read_sink_log
from streamops.progress.event import LINES_READ, parse_event, parse_progress
from support.clock import START
from support.hostile import Fence, contents, names, texts
from support.records import a_claim, a_record, a_state, a_submit, an_end
from support.specs import SUPERVISOR

ADDRESS = "file:///c/orders/offsets/7"
LONGEST_REASON = 500
"""Characters: a terminal's line or a few, whatever the file holds."""


@dataclass(frozen=True, kw_only=True)
class Parser:
    """One parser, what it may raise, and files that it takes."""

    name: str
    parse: Callable[[bytes], object]
    raises: tuple[type[Exception], ...] = (CheckpointError,)
    valid: tuple[bytes, ...]


def _a_beat() -> Heartbeat:
    query = QueryBeat(query_id="q", name="orders", step=QueryStep.BATCH, step_seconds=1.5, progress_seconds=2.0)
    return Heartbeat(
        epoch=1,
        instance="0a0a0a0a",
        token="t",
        sequence=7,
        phase=DriverPhase.RUNNING,
        at=START.isoformat(),
        host="host-1",
        pid=9,
        queries=(query,),
    )


def _decoding(kind: type, *values: object) -> Parser:
    return Parser(
        name=kind.__name__,
        parse=lambda content: codec.decode(kind, content, address=ADDRESS),
        raises=(CorruptRecordError,),
        valid=tuple(codec.encode(value) for value in values),
    )


EVENT = (
    b'{"id":"q","runId":"r","name":"orders","timestamp":"2026-03-01T12:00:00.000Z","batchId":7,"numInputRows":3,'
    b'"durationMs":{"addBatch":12,"triggerExecution":30},"eventTime":{"watermark":"2026-03-01T11:00:00.000Z"},'
    b'"stateOperators":[{"operatorName":"stateStoreSave","numRowsTotal":4,"memoryUsedBytes":9}],'
    b'"sources":[{"description":"KafkaV2","startOffset":{"o":{"0":1}},"endOffset":{"o":{"0":2}},"latestOffset":null,'
    b'"numInputRows":3,"metrics":{"maxOffsetsBehindLatest":"0"}}]}'
)
CONTROL_RECORDS = tuple(
    codec.encode_record(a_record(body, 17)) for body in (a_claim(1), a_submit(1), an_end(1, Outcome.FAILED), Parked())
)

PARSERS = (
    Parser(
        name="offsets",
        parse=lambda content: parse_offsets(content, batch=7, address="offsets/7"),
        valid=(
            offsets(*SOURCE_OFFSETS),
            offsets("orders:" + KAFKA, "clock:7", version="v2"),
            CHECKPOINTS["continuous"]["offsets/1"],
        ),
    ),
    Parser(
        name="commits",
        parse=lambda content: parse_commit(content, batch=7, address="commits/7"),
        valid=(
            commit(),
            commit("v2", stateUniqueIds={"0": [["a", "b"], ["c"]]}),
            commit("v3", sinkMetadataMap={"0": SINK}),
        ),
    ),
    Parser(
        name="entries of a file source",
        parse=lambda content: parse_source_entries(content, address=ADDRESS),
        valid=(source_entries("file:///a", "file:///b%20c"),),
    ),
    Parser(
        name="initial offsets of Kafka",
        parse=lambda content: parse_initial_offsets(content, address=ADDRESS),
        valid=(b"\0v1\n" + KAFKA.encode(), b"\0" + KAFKA.encode()),
    ),
    Parser(
        name="start of a rate source",
        parse=lambda content: parse_start_time(content, address=ADDRESS),
        valid=(b"v1\n1772366400000",),
    ),
    Parser(name="kind of a source", parse=content_kind, raises=(), valid=(source_entries("file:///a"), b"\0v1\n{}")),
    Parser(
        name="operator metadata",
        parse=lambda content: parse_operator_metadata(content, address=ADDRESS),
        valid=(f"v1\n{OPERATOR}".encode(), f"v2\n{OPERATOR}".encode()),
    ),
    Parser(
        name="snapshot of RocksDB",
        parse=lambda content: parse_snapshot_zip(content, address=ADDRESS),
        valid=(snapshot_zip(),),
    ),
    Parser(
        name="checksum of a state file",
        parse=lambda content: parse_spark_checksum(content, address=ADDRESS),
        valid=(CHECKSUM,),
    ),
    Parser(
        name="control record",
        parse=lambda content: codec.decode_record(content, address=ADDRESS),
        raises=(CorruptRecordError, NewerRecordError),
        valid=CONTROL_RECORDS,
    ),
    _decoding(
        Snapshot,
        Snapshot(fold_version=FOLD_VERSION, state=a_state(a_claim(1), a_submit(1), an_end(1), a_claim(2), a_submit(2))),
    ),
    _decoding(Heartbeat, _a_beat()),
    _decoding(ExitRecord, ExitRecord(epoch=1, instance="a", outcome=Outcome.FAILED, at="", error_classes=("A", "B"))),
    _decoding(Attendance, Attendance(stream="orders", at=START, by=SUPERVISOR)),
    _decoding(RegistryEntry, RegistryEntry(stream="orders", checkpoint="file:///c", sink="file:///s", query_id="q")),
    Parser(
        name="progress event",
        parse=lambda content: parse_event(content.decode(errors="replace")),
        raises=(ValueError,),
        valid=(EVENT,),
    ),
    Parser(name="progress file", parse=parse_progress, raises=(), valid=(EVENT + b"\n" + EVENT,)),
)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_a_valid_file_is_taken(parser):
    for content in parser.valid:
        parser.parse(content)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_any_bytes_give_a_value_or_a_short_printable_reason(parser):
    @given(contents(*parser.valid))
    def holds(content):
        try:
            value = parser.parse(content)
        except parser.raises as error:
            reason = str(error)
            assert reason.isprintable()
            assert len(reason) <= LONGEST_REASON
        else:
            # Also that it can be shown at all: Python refuses to print integers of more than 4300 digits.
            assert len(repr(value)) <= 100 * len(content) + 10_000

    holds()


def test_a_record_for_a_reader_of_a_version_of_four_thousand_digits_is_refused_in_short():
    content = CONTROL_RECORDS[0].replace(b'"min_reader":1', b'"min_reader":' + b"9" * 4000)

    with pytest.raises(NewerRecordError, match="upgrade") as refused:
        codec.decode_record(content, address=ADDRESS)

    assert len(str(refused.value)) <= LONGEST_REASON


@given(
    st.sampled_from(SOURCE_OFFSETS)
    .map(str.encode)
    .flatmap(contents)
    .map(lambda content: content.decode(errors="replace"))
    | texts
)
def test_any_text_of_a_source_is_some_offset(text):
    assert len(repr(parse_source_offset(text))) <= 100 * len(text) + 1_000


NAMES = names(
    "7", "9.compact", "19.compact", "7.delta", "7.zip", "7_a.changelog", "2147483647.compact", "99999999999999999999"
)


@given(NAMES)
def test_any_names_are_a_log(found):
    listing, log = LogListing.of(found), compact_log(found)

    others = listing.temporaries.count + listing.checksums.count + listing.foreign.count
    assert len(listing.ids) + others <= len(found)
    assert len(found) <= len(listing.ids) + len(listing.odd) + others
    assert len(repr(listing)) + len(repr(listing.holes())) + len(repr(log)) <= 100 * len(repr(found)) + 10_000
    assert log.interval > 0
    assert len(repr(log.needed_for(log.latest))) <= 1_000 + 200 * len(found)


@given(NAMES, st.integers(-1, 2**64), st.sampled_from(["", "a", "..", "\x1b"]))
def test_any_names_are_a_state_store(found, version, unique_id):
    missing = store_files(found).loadable(version, unique_id)

    assert len(missing.names) <= min(missing.total, 20)
    assert missing.total <= max(version, 0)


@given(NAMES)
def test_any_names_are_a_sink_log(found):
    storage = Fence("file:///out", {f"_spark_metadata/{name}": b"" for name in found})

    facts = read_sink_log(storage, "file:///out")

    assert storage.bytes_read == 0
    assert facts.lowest <= facts.highest or facts.is_empty


@given(st.lists(texts))
def test_any_keys_are_a_fingerprint(keys):
    assert spark_fingerprint(keys) in ("", "3.5", "4.0", "4.2", "4.3")


@given(st.lists(contents(EVENT), max_size=5))
def test_a_progress_file_counts_what_is_no_event(lines):
    history = parse_progress(b"\n".join(lines))

    assert len(history.events) + history.broken <= LINES_READ
