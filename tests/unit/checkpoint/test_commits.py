"""The commit log's text: what Spark reads, and what stops it."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.commits import CommitEntry, OperatorStateIds, parse_commit
from streamops.errors import CheckpointError
from support.checkpoints import commit

ADDRESS = "commits/4"


def parsed(content):
    return parse_commit(content, batch=4, address=ADDRESS)


SINK = '{"sinkName":"s","commitOffset":"5","providerName":"p","apiVersion":"v1","isActive":true}'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            b'v1\n{"nextBatchWatermarkMs":1772366400000}',
            CommitEntry(batch=4, version="v1", next_watermark_ms=1772366400000),
            id="v1",
        ),
        pytest.param(b"v1", CommitEntry(batch=4, version="v1"), id="P8k version only: no watermark is told"),
        pytest.param(
            b'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"1":[["a"]],"0":[["b","c"],["d","e"]]}}',
            CommitEntry(
                batch=4,
                version="v2",
                next_watermark_ms=0,
                has_state_ids=True,
                state_unique_ids=(
                    OperatorStateIds(operator=0, partitions=(("b", "c"), ("d", "e"))),
                    OperatorStateIds(operator=1, partitions=(("a",),)),
                ),
            ),
            id="v2",
        ),
        pytest.param(
            f'v3\n{{"nextBatchWatermarkMs":0,"stateUniqueIds":{{"0":[["a"]]}},"sinkMetadataMap":{{"0":{SINK}}}}}'.encode(),
            CommitEntry(
                batch=4,
                version="v3",
                next_watermark_ms=0,
                has_state_ids=True,
                state_unique_ids=(OperatorStateIds(operator=0, partitions=(("a",),)),),
            ),
            id="v3",
        ),
    ],
)
def test_an_entry_as_spark_writes_it(content, expected):
    assert parsed(content) == expected


@pytest.mark.parametrize(
    ("body", "has_ids"),
    [
        pytest.param('{"stateUniqueIds":{}}', False, id="none at all"),
        pytest.param('{"stateUniqueIds":null}', False, id="null"),
        pytest.param('{"stateUniqueIds":{"0":["u"]}}', True, id="a level too few: Spark drops it in silence"),
        pytest.param('{"stateUniqueIds":{"0":[[1]]}}', True, id="numbers for ids"),
        pytest.param('{"stateUniqueIds":"u"}', True, id="a text"),
    ],
)
def test_state_ids_of_another_shape_are_there_but_not_understood(body, has_ids):
    entry = parsed(commit("v2", body))

    assert entry.has_state_ids is has_ids
    assert entry.state_unique_ids == ()


def test_the_first_version_has_no_state_ids():
    assert not parsed(commit("v1", '{"stateUniqueIds":{"0":[["u"]]}}')).has_state_ids


@pytest.mark.parametrize(
    "watermark", ["null", "1.5", "1e400", "9" * 5000], ids=["null", "a fraction", "endless", "beyond a long"]
)
def test_a_watermark_that_is_no_long_says_nothing(watermark):
    assert parsed(f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'.encode()).next_watermark_ms is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(commit(), id="as Spark writes it"),
        pytest.param(commit("v2", '{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["u"]]}}'), id="with state ids"),
        pytest.param(commit("v3", f'{{"sinkMetadataMap":{{"0":{SINK}}}}}'), id="with sink metadata"),
        pytest.param(b"v1", id="P8k version only"),
        pytest.param(b"v1\n{}", id="P8l empty object"),
        pytest.param(commit() + b"\n", id="trailing newline"),
        pytest.param(commit() + b"\nmore", id="Spark reads no third line"),
        pytest.param(b"v1\r\n{}\r\n", id="line ends of another system"),
        pytest.param(b"v1\n[]", id="another shape: Spark takes the defaults"),
    ],
)
def test_what_spark_reads_is_fine(content):
    parsed(content)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        pytest.param(b"", "is empty", id="P7c 0 bytes"),
        pytest.param(b" \n", "is empty", id="blank"),
        pytest.param(b'v1\n{"nextBatch', "line 2", id="P8j cut"),
        pytest.param(b'v3\n{"nextBatchWatermarkMs":0}', "line 2: sinkMetadataMap", id="v3 without sinks"),
        pytest.param(b'v3\n{"sinkMetadataMap":{"0":{"sinkName":"s"}}}', "line 2: sinkMetadataMap", id="half a sink"),
        pytest.param(
            f'v3\n{{"sinkMetadataMap":{{"0":{SINK},"1":{SINK}}}}}'.encode(), "line 2: sinkMetadataMap", id="two in use"
        ),
        pytest.param(b"v9\n{}", "line 1.*'v9'.*supported: v1, v2, v3", id="a newer version"),
        pytest.param(b"{}", "line 1", id="no version"),
        pytest.param(commit(body='{"nextBatchWatermarkMs":"soon"}'), "line 2", id="a watermark in words"),
        pytest.param(commit(body='{"nextBatchWatermarkMs":true}'), "line 2", id="a truth value"),
        pytest.param(commit(body='{"nextBatchWatermarkMs":NaN}'), "line 2", id="not a number"),
        pytest.param(commit(body='{"nextBatchWatermarkMs":1,"nextBatchWatermarkMs":2}'), "line 2", id="a key twice"),
        pytest.param(commit("v2", '{"stateUniqueIds":{"x":[["u"]]}}'), "line 2.*'x'", id="an operator without number"),
        pytest.param(commit(body="[" * 100_000), "line 2", id="deep"),
        pytest.param(commit(body="\x00"), "line 2", id="a NUL"),
    ],
)
def test_what_stops_spark_is_an_error_with_file_and_line(content, where):
    with pytest.raises(CheckpointError, match=f"{ADDRESS}.*{where}"):
        parsed(content)


@given(st.binary(max_size=60) | st.binary(max_size=60).map(b"v2\n".__add__))
def test_no_bytes_do_anything_worse_than_that(content):
    with suppress(CheckpointError):
        parsed(content)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
ids = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner))


@given(st.fixed_dictionaries({}, optional={"nextBatchWatermarkMs": scalars, "stateUniqueIds": ids}))
def test_no_json_does_anything_worse_than_that(fields):
    with suppress(CheckpointError):
        parsed(commit("v2", json.dumps(fields)))


@given(st.text(max_size=100))
def test_a_reason_is_short_and_printable(version):
    with pytest.raises(CheckpointError) as caught:
        parsed(f"x{version}".encode(errors="replace"))

    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 130
