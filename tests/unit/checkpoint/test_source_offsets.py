"""A source's own text: the forms that are known to the letter, and everything else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.source_offsets import (
    ContinuousRateOffset,
    ContinuousRatePosition,
    DeltaOffset,
    FileOffset,
    KafkaOffset,
    KafkaPosition,
    RateMicroBatchOffset,
    RateOffset,
    UnknownOffset,
    parse_source_offset,
)

TABLE = "6f0a8d6e-1111-4222-8333-444455556666"


def kafka(*positions):
    return KafkaOffset(
        positions=tuple(
            KafkaPosition(topic=topic, partition=partition, next_offset=offset)
            for topic, partition, offset in positions
        )
    )


def delta(text, *, version=1, index=-1, starting=False):
    expected = DeltaOffset(
        source_version=version, table_id=TABLE, table_version=12, index=index, is_starting_version=starting
    )
    return text.replace("TABLE", TABLE), expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '{"topicA":{"0":23,"1":40},"topicB":{"0":5}}',
            kafka(("topicA", 0, 23), ("topicA", 1, 40), ("topicB", 0, 5)),
            id="kafka",
        ),
        pytest.param(
            '{"b":{"10":1,"2":2},"a.x-y_z":{"0":3}}',
            kafka(("a.x-y_z", 0, 3), ("b", 2, 2), ("b", 10, 1)),
            id="kafka in any order",
        ),
        pytest.param('{"orders":{"0":-2}}', kafka(("orders", 0, -2)), id="a negative offset is kept"),
        pytest.param('{"0":{"0":5}}', kafka(("0", 0, 5)), id="a topic whose name is a number"),
        pytest.param('{"hub":{"0":123,"1":456}}', kafka(("hub", 0, 123), ("hub", 1, 456)), id="Event Hubs look alike"),
        pytest.param('{"logOffset":4}', FileOffset(log_offset=4), id="files"),
        pytest.param('{"logOffset":4,"new":1}', FileOffset(log_offset=4), id="files, with a key that nobody reads"),
        pytest.param('{"logOffset":4.0}', FileOffset(log_offset=4), id="files, as a floating number"),
        pytest.param('{"logOffset":4} tail', FileOffset(log_offset=4), id="files, and something behind"),
        pytest.param(
            '{"t":{"+0":5,"01":6,"-1":7}}', kafka(("t", -1, 7), ("t", 0, 5), ("t", 1, 6)), id="kafka, odd partitions"
        ),
        pytest.param('{"t":{"0":5,"0":7}}', kafka(("t", 0, 7)), id="kafka, a partition twice"),
        pytest.param('{"t":{"0":5},"t":{"1":7}}', kafka(("t", 1, 7)), id="kafka, a topic twice"),
        pytest.param('{"t":{"0":5.7,"1":null}}', kafka(("t", 0, 5), ("t", 1, 0)), id="kafka, odd offsets"),
        pytest.param("7", RateOffset(seconds=7), id="rate"),
        pytest.param(
            '{"offset":15,"timestamp":5000}', RateMicroBatchOffset(offset=15, timestamp_ms=5000), id="rate-micro-batch"
        ),
        pytest.param(
            *delta(
                '{"sourceVersion":1,"reservoirId":"TABLE","reservoirVersion":12,"index":-1,"isStartingVersion":false}'
            ),
            id="delta",
        ),
        pytest.param(
            *delta(
                '{"sourceVersion":3,"reservoirId":"TABLE","reservoirVersion":12,"index":-20,"isStartingVersion":true}',
                version=3,
                index=-20,
                starting=True,
            ),
            id="delta at a change of the schema",
        ),
        pytest.param(
            '{"1":{"value":21,"runTimeMs":9},"0":{"value":-2,"runTimeMs":8}}',
            ContinuousRateOffset(
                positions=(
                    ContinuousRatePosition(partition=0, value=-2, run_time_ms=8),
                    ContinuousRatePosition(partition=1, value=21, run_time_ms=9),
                )
            ),
            id="continuous rate",
        ),
    ],
)
def test_a_known_form_is_understood(text, expected):
    assert parse_source_offset(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            '{"metadata":{"streamName":"s","batchId":"7"},"shardId-000000000000":{"iteratorType":"AFTER_SEQUENCE_NUMBER"}}',
            id="kinesis",
        ),
        pytest.param('{"version":1,"snapshot_id":5,"position":2,"scan_all_files":false}', id="iceberg"),
        pytest.param("{}", id="an empty object may be anybody's"),
        pytest.param('{"orders":null}', id="no topic"),
        pytest.param(" 7", id="a bare number behind a blank"),
        pytest.param("true", id="a truth value is no number"),
        pytest.param('{"logOffset":true}', id="nor a log offset"),
        pytest.param('{"orders":{"0":true}}', id="nor a position"),
        pytest.param('{"logOffset":"4"}', id="a text for a number"),
        pytest.param("7.5", id="a fraction"),
        pytest.param("9" * 5000, id="a huge number"),
        pytest.param('{"orders":{"0":99999999999999999999}}', id="a position beyond a long"),
        pytest.param('{"orders":{"2147483648":1}}', id="a partition beyond Java's int"),
        pytest.param('{"logOffset":1,"logOffset":2}', id="an offset of files twice"),
        pytest.param('{"orders":{"0":"1"}}', id="a position as text"),
        pytest.param('{"orders":{" 0":1}}', id="a partition that is no number for Java"),
        pytest.param('{"or\\u001bders":{"0":1}}', id="a topic that Kafka has not"),
        pytest.param('{"orders":{"0":NaN}}', id="not a number"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param('{"orders":{"0":2', id="cut"),
        pytest.param("", id="nothing"),
        pytest.param("null", id="null"),
        pytest.param('"text"', id="a text"),
    ],
)
def test_everything_else_is_kept_as_text(text):
    assert parse_source_offset(text) == UnknownOffset(text=text)


words = st.text(max_size=8) | st.sampled_from(["logOffset", "0", "1", "value", "runTimeMs", "offset", "timestamp"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_no_json_raises(value):
    parse_source_offset(json.dumps(value))


@given(st.text())
def test_no_text_raises(text):
    parse_source_offset(text)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,5}", fullmatch=True),
        st.dictionaries(st.integers(0, 50), st.integers(0, 2**63 - 1), min_size=1, max_size=4),
        min_size=1,
        max_size=3,
    )
)
def test_every_kafka_position_is_found(topics):
    offset = parse_source_offset(json.dumps(topics))

    found = {(position.topic, position.partition): position.next_offset for position in offset.positions}
    assert found == {
        (topic, partition): offset for topic, partitions in topics.items() for partition, offset in partitions.items()
    }
