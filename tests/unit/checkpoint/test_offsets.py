"""The offset log's text, as Spark 3.5 to 4.3 writes it, and every way in which it was found broken."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.offsets import parse_offsets
from streamops.errors import CheckpointError
from support.checkpoints import HEADER, offsets

ADDRESS = "offsets/41"
KAFKA = '{"orders":{"0":23,"1":40}}'


def parsed(content):
    return parse_offsets(content, batch=41, address=ADDRESS)


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


@pytest.mark.parametrize(
    "header",
    ["{}", '{"batchTimestampMs":"soon"}', '{"batchTimestampMs":1e400}', '{"batchTimestampMs":99999999999999999999}'],
    ids=["no stamp", "a stamp in words", "an endless stamp", "a stamp beyond the calendar"],
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
        pytest.param(b"v1\n[]\n" + KAFKA.encode(), "line 2", id="header of another shape"),
        pytest.param(b"v1\nnull\n" + KAFKA.encode(), "line 2", id="header null"),
        pytest.param(offsets(version="v99"), "line 1.*'v99'.*supported: v1, v2", id="P15a a newer version"),
        pytest.param(offsets(version="vX"), "line 1", id="P15b no version"),
        pytest.param(offsets(KAFKA, version="v2"), "line 3", id="P15c v2 on v1 lines: Spark would re-read the batch"),
        pytest.param(b"\x00\xff\x00", "line 1", id="not text"),
        pytest.param(b'{"id":"x"}', "line 1", id="another file's content"),
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
