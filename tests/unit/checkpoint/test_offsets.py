"""The offset log's text, as Spark 3.5 to 4.3 writes it, and every way in which it was found broken."""

import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.offsets import OffsetHeader, parse_offsets
from streamops.checkpoint.source_offsets import FileOffset, KafkaOffset, KafkaPosition, UnknownOffset
from streamops.errors import CheckpointError
from support.checkpoints import HEADER, offsets

ADDRESS = "offsets/41"
KAFKA = '{"orders":{"0":23,"1":40}}'


CONTINUOUS = '{"0":{"value":-2,"runTimeMs":5}}'


def parsed(content):
    return parse_offsets(content, batch=41, address=ADDRESS)


def header(text):
    return f"v1\n{text}\n{KAFKA}".encode()


def test_an_entry_of_one_kafka_source():
    entry = parsed(offsets(KAFKA))

    assert (entry.batch, entry.version, entry.sources) == (41, "v1", (KAFKA,))
    assert entry.planned_at == datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(KAFKA, KAFKA, id="kafka"),
        pytest.param('{"logOffset":4}', '{"logOffset":4}', id="files"),
        pytest.param("7", "7", id="rate and socket: a bare number"),
        pytest.param("-", None, id="a source that has had nothing yet"),
        pytest.param("-1", "-1", id="minus one is not nothing"),
    ],
)
def test_the_text_of_a_source_is_kept_as_it_is(source, expected):
    assert parsed(offsets(source)).sources == (expected,)


def test_sources_keep_their_order():
    assert parsed(offsets(KAFKA, "-", "7")).sources == (KAFKA, None, "7")


def test_the_second_version_names_its_sources():
    assert parsed(offsets(f"orders:{KAFKA}", "1:-", version="v2")).sources == (KAFKA, None)


def test_a_trailing_newline_is_accepted_as_spark_accepts_it():
    assert parsed(offsets(KAFKA) + b"\n").sources == (KAFKA,)


def test_a_conf_may_be_a_number_or_null():
    """Spark reads the one as text, and refuses the other where it is one of its own (tried on 4.2.0)."""
    found = parsed(header('{"conf":{"a":5,"b":null,"c":"x"}}')).header

    assert (found.conf, found.null_confs) == ((("a", "5"), ("c", "x")), ("b",))


@pytest.mark.parametrize(
    "header",
    ["{}", '{"batchTimestampMs":null}', '{"batchTimestampMs":1e400}', '{"batchTimestampMs":99999999999999999999}'],
    ids=["no stamp", "a stamp that is null", "an endless stamp", "a stamp beyond the calendar"],
)
def test_a_header_without_a_usable_stamp_is_no_damage(header):
    assert parsed(f"v1\n{header}\n{KAFKA}".encode()).planned_at is None


@pytest.mark.parametrize(
    ("content", "where"),
    [
        pytest.param(b"", "is empty", id="P7a 0 bytes"),
        pytest.param(b"\n", "is empty", id="nothing but a line end"),
        pytest.param(b'v1\n{"batchWaterm\n' + KAFKA.encode(), "line 2", id="P8a header cut"),
        pytest.param(b"v1", "line 2", id="P8b version only"),
        pytest.param(b"v1\n{}", "line 3", id="P8c no source"),
        pytest.param(b"v1\n{}\n", "line 3", id="P8c no source, with a newline"),
        pytest.param(offsets('{"orders":{"0":2'), "line 3", id="P8d source cut"),
        pytest.param(offsets(KAFKA, '{"orders":'), "line 4", id="P8e second source cut"),
        pytest.param(b"v1\n\n" + KAFKA.encode(), "line 2", id="P8f header empty"),
        pytest.param(b"v1\n5\n" + KAFKA.encode(), "line 2", id="header of another shape"),
        pytest.param(b'v2\n{"sourceMetadataInfo":5}\n0:' + KAFKA.encode(), "line 2", id="sources of another shape"),
        pytest.param(b"v1\nnull\n" + KAFKA.encode(), "line 2", id="header null"),
        pytest.param(offsets(version="v99"), "line 1.*'v99'.*supported: v1, v2", id="P15a a newer version"),
        pytest.param(offsets(version="vX"), "line 1", id="P15b no version"),
        pytest.param(offsets(KAFKA, version="v2"), "line 3", id="P15c v2 on v1 lines: Spark would re-read the batch"),
        pytest.param(header('{"batchWatermarkMs":"soon"}'), "line 2", id="a watermark in words"),
        pytest.param(header('{"batchWatermarkMs":true}'), "line 2", id="a truth value for a watermark"),
        pytest.param(header('{"batchTimestampMs":"5"}'), "line 2: batchTimestampMs", id="a stamp as text"),
        pytest.param(header('{"conf":[]}'), "line 2", id="confs of another shape"),
        pytest.param(header('{"conf":{"a":true}}'), "line 2: conf", id="a truth value for a conf"),
        pytest.param(header('{"conf":{"a":{}}}'), "line 2: conf", id="an object for a conf"),
        pytest.param(header('{"batchWatermarkMs":NaN}'), "line 2", id="not a number"),
        pytest.param(header('{"conf":{},"conf":{}}'), "line 2", id="a key twice"),
        pytest.param(header('{"conf":{"a":"\x00"}}'), "line 2", id="a NUL"),
        pytest.param(header("[" * 100_000), "line 2", id="a deep header"),
        pytest.param(offsets("[" * 100_000), "line 3", id="a deep source"),
        pytest.param(offsets(f"my orders:{KAFKA}", version="v2"), "line 3.*'my orders", id="v2 with a space in an id"),
        pytest.param(offsets(f"0:{KAFKA}", f":{KAFKA}", version="v2"), "line 4", id="v2 without an id"),
        pytest.param(offsets("-", version="v2"), "line 3", id="v2 with nothing but a dash"),
        pytest.param(b"\x00\xff\x00", "byte 2", id="not text"),
        pytest.param(b'{"id":"x"}', "line 1", id="another file's content"),
        pytest.param(b'v1\n{"conf', "line 2", id="cut in the header, which Spark reads before it counts the sources"),
    ],
)
def test_a_broken_entry_is_an_error_with_file_and_line(content, where):
    with pytest.raises(CheckpointError, match=f"{ADDRESS}.*{where}"):
        parsed(content)


@given(st.binary(max_size=80) | st.binary(max_size=60).map(b"v1\n{}\n".__add__))
def test_no_bytes_do_anything_worse_than_that(content):
    with suppress(CheckpointError):
        parsed(content)


@given(st.integers(0, len(offsets(KAFKA)) - 1))
def test_an_entry_that_was_cut_anywhere_is_broken(length):
    """A file that Spark has finished ends with the last source's closing brace."""
    with pytest.raises(CheckpointError):
        parsed(offsets(KAFKA)[:length])


def test_keys_of_newer_versions_in_the_header_are_skipped():
    assert "conf" in HEADER
    assert parsed(b'v1\n{"controlBatchInfo":{},"new":1}\n' + KAFKA.encode()).sources == (KAFKA,)


def test_a_header_as_spark_writes_it():
    entry = parsed(
        header(
            '{"batchWatermarkMs":9,"batchTimestampMs":1772366400000,"conf":'
            '{"spark.sql.streaming.stateStore.compression.codec":"lz4","spark.sql.shuffle.partitions":"2"}}'
        )
    )

    assert entry.header == OffsetHeader(
        planned_at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        watermark_ms=9,
        conf=(("spark.sql.shuffle.partitions", "2"), ("spark.sql.streaming.stateStore.compression.codec", "lz4")),
    )


def test_an_offline_operation_is_told_from_a_batch():
    entry = parsed(offsets().replace(b'"conf"', b'"controlBatchInfo":{"operationType":"repartition"},"conf"'))

    assert entry.header.has_control_batch


def test_the_header_of_the_second_version():
    entry = parsed(f'v2\n{{"batchWatermarkMs":0,"sourceMetadataInfo":{{}}}}\norders:{KAFKA}\n1:-'.encode())

    assert entry.source_ids == ("orders", "1")
    assert entry.header == OffsetHeader(watermark_ms=0)


def test_the_texts_of_the_sources_are_understood():
    assert parsed(offsets(KAFKA, "-", '{"logOffset":4}', '{"mine":NaN}')).offsets == (
        KafkaOffset(
            positions=(
                KafkaPosition(topic="orders", partition=0, next_offset=23),
                KafkaPosition(topic="orders", partition=1, next_offset=40),
            )
        ),
        None,
        FileOffset(log_offset=4),
        UnknownOffset(text='{"mine":NaN}'),
    )


def test_the_blank_header_of_continuous_mode_is_a_fact():
    entry = parsed(f"v1\n\n{CONTINUOUS}".encode())

    assert entry.header == OffsetHeader(is_empty=True)
    assert entry.sources == (CONTINUOUS,)


@pytest.mark.parametrize("sources", [("-",), (CONTINUOUS, KAFKA)], ids=["nothing yet", "not all continuous"])
def test_a_blank_header_of_anything_else_is_damage(sources):
    with pytest.raises(CheckpointError, match="line 2"):
        parsed("\n".join(("v1", "", *sources)).encode())


def test_line_ends_of_another_system_are_read_as_spark_reads_them():
    assert parsed(offsets(KAFKA).replace(b"\n", b"\r\n")).sources == (KAFKA,)


def test_a_huge_number_in_a_source_is_kept_as_text():
    assert parsed(offsets("9" * 5000)).offsets == (UnknownOffset(text="9" * 5000),)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
known_fields = {
    "batchTimestampMs": scalars,
    "batchWatermarkMs": scalars,
    "conf": scalars | st.dictionaries(st.text(), scalars),
    "controlBatchInfo": scalars,
}


@given(st.fixed_dictionaries({}, optional=known_fields))
def test_no_header_does_anything_worse_than_that(fields):
    with suppress(CheckpointError):
        parsed(header(json.dumps(fields)))


@given(st.text(max_size=100), st.sampled_from(["{line}", "v2\n{{}}\n{line}", "v1\n{{}}\n{line}", "v1\n{line}\n7"]))
def test_a_reason_is_short_and_printable(line, entry):
    reason = ""
    try:
        parsed(entry.format(line=line).encode(errors="replace"))
    except CheckpointError as error:
        reason = str(error)

    assert reason.isprintable()
    assert len(reason) < 150
