"""Progress events as Spark 4.2.0 wrote them: a Kafka batch, a file batch, an idle trigger."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.progress import ProgressEvent, parse_event
from support.specs import seconds

KAFKA: dict[str, Any] = {
    "id": "c750cb36-b3d1-45a6-91df-7ba6f0a695c1",
    "runId": "55bc67b7-4d11-4ae9-9198-f5933fdec90a",
    "name": "orders_to_delta",
    "timestamp": "2026-03-01T12:00:40.049Z",
    "batchId": 37,
    "batchDuration": 7894,
    "numInputRows": 1705,
    "inputRowsPerSecond": 195.5,
    "processedRowsPerSecond": 216.0,
    "durationMs": {
        "addBatch": 7491,
        "commitOffsets": 200,
        "getBatch": 0,
        "latestOffset": 24,
        "queryPlanning": 84,
        "triggerExecution": 7894,
        "walCommit": 88,
    },
    "stateOperators": [],
    "sources": [
        {
            "description": "KafkaV2[Subscribe[orders]]",
            "startOffset": {"orders": {"0": 22956, "1": 25381, "2": 23622}},
            "endOffset": {"orders": {"0": 23520, "1": 25950, "2": 24194}},
            "latestOffset": {"orders": {"0": 23520, "1": 25950, "2": 24194}},
            "numInputRows": 1705,
            "inputRowsPerSecond": 195.5,
            "processedRowsPerSecond": 216.0,
            "metrics": {
                "avgOffsetsBehindLatest": "0.0",
                "maxOffsetsBehindLatest": "0",
                "minOffsetsBehindLatest": "0",
            },
        }
    ],
    "sink": {"description": "DeltaSink[file:/data/orders]", "numOutputRows": -1},
}
FILE_SOURCE = {
    "description": "FileStreamSource[file:/data/in]",
    "startOffset": {"logOffset": 0},
    "endOffset": {"logOffset": 1},
    "latestOffset": None,
    "numInputRows": 1,
}
IDLE = {**KAFKA, "batchId": 38, "numInputRows": 0, "durationMs": {"latestOffset": 58, "triggerExecution": 60}}


def parsed(fields: dict[str, Any]) -> ProgressEvent:
    return parse_event(json.dumps(fields))


def with_lag(lag: str) -> dict[str, Any]:
    return {**KAFKA, "sources": [{**KAFKA["sources"][0], "metrics": {"maxOffsetsBehindLatest": lag}}]}


def test_a_batch_tells_what_it_read_and_how_long_each_step_took():
    event = parsed(KAFKA)

    assert (event.query_id, event.run_id, event.name) == (KAFKA["id"], KAFKA["runId"], "orders_to_delta")
    assert (event.batch, event.input_rows) == (37, 1705)
    assert event.started_at == datetime(2026, 3, 1, 12, 0, 40, 49000, tzinfo=UTC)
    assert (event.duration, event.planning) == (seconds(7.894), seconds(0.112))
    assert event.has_run


def test_an_idle_trigger_ran_no_batch_and_planned_all_the_same():
    event = parsed(IDLE)

    assert not event.has_run
    assert event.planning == seconds(0.058)


def test_offsets_stay_the_sources_own_text():
    (source,) = parsed(KAFKA).sources

    assert json.loads(source.end_offset) == {"orders": {"0": 23520, "1": 25950, "2": 24194}}


@pytest.mark.parametrize(
    ("event", "has_backlog"),
    [
        pytest.param(KAFKA, False, id="Kafka: read up to the newest offset"),
        pytest.param(with_lag("12"), True, id="Kafka: a partition lies behind, as when the batch size is limited"),
        pytest.param(with_lag("?"), False, id="a lag that is no number: the offsets tell"),
        pytest.param(
            {**KAFKA, "sources": [{"endOffset": {"0": 9, "1": 5}, "latestOffset": {"1": 5, "0": 9}}]},
            False,
            id="equal offsets, in another order of keys",
        ),
        pytest.param({**KAFKA, "sources": [FILE_SOURCE]}, None, id="the file source does not say"),
        pytest.param(
            {**KAFKA, "sources": [{**FILE_SOURCE, "latestOffset": {"logOffset": 9}}]},
            None,
            id="unequal offsets without a lag: one position may be written in two ways",
        ),
        pytest.param({**KAFKA, "sources": [FILE_SOURCE, *with_lag("1")["sources"]]}, True, id="one of two has more"),
        pytest.param({**KAFKA, "sources": [FILE_SOURCE, *KAFKA["sources"]]}, None, id="one of two does not say"),
        pytest.param({**KAFKA, "sources": []}, None, id="no source"),
    ],
)
def test_whether_something_was_left_to_read(event, has_backlog):
    assert parsed(event).has_backlog is has_backlog


def test_state_and_watermark_are_told():
    operator = {"operatorName": "dedupe", "numRowsTotal": 9, "memoryUsedBytes": 4096, "numRowsDroppedByWatermark": 2}
    event = parsed({**KAFKA, "stateOperators": [operator], "eventTime": {"watermark": "2026-03-01T11:50:00.000Z"}})

    (state,) = event.state
    assert (state.operator, state.rows, state.memory_bytes, state.late_rows) == ("dedupe", 9, 4096, 2)
    assert event.watermark == datetime(2026, 3, 1, 11, 50, tzinfo=UTC)


def test_a_store_of_state_tells_its_commit_and_what_it_measures_itself():
    """Figures of RocksDB in 4.2.0; a store that tells something in words keeps its event."""
    operator = {
        "operatorName": "stateStoreSave",
        "numRowsTotal": 1800,
        "numRowsRemoved": 3,
        "commitTimeMs": 722,
        "numShufflePartitions": 4,
        "customMetrics": {"rocksdbSstFileSize": 28767, "rocksdbForceSnapshotCount": 0, "mood": "good"},
    }

    (state,) = parsed({**KAFKA, "stateOperators": [operator]}).state

    assert (state.removed_rows, state.commit_time, state.partitions) == (3, seconds(0.722), 4)
    assert state.metrics == (("rocksdbSstFileSize", 28767), ("rocksdbForceSnapshotCount", 0))


@pytest.mark.parametrize("number", [2**63, -(10**400), 1e300])
def test_a_number_beyond_sparks_own_makes_no_event(number):
    with pytest.raises(ValueError, match="not a progress event"):
        parsed({**KAFKA, "numInputRows": number})


def test_a_measure_of_a_store_beyond_all_bounds_is_passed_over():
    operator = {"operatorName": "x", "customMetrics": {"rocksdbSstFileSize": 10**400, "rocksdbGetCount": 1}}

    (state,) = parsed({**KAFKA, "stateOperators": [operator]}).state

    assert state.metrics == (("rocksdbGetCount", 1),)


def test_a_watermark_at_the_epoch_is_none_yet():
    assert parsed({**KAFKA, "eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}).watermark is None


def test_what_a_version_leaves_out_or_adds_does_not_matter():
    event = parsed({"batchId": 3, "timestamp": "2026-03-01T12:00:00.000Z", "invented": {"later": [1]}})

    assert (event.batch, event.duration, event.sources, event.has_run) == (3, None, (), False)


def test_a_clock_that_was_set_back_makes_no_negative_duration():
    assert parsed({**KAFKA, "durationMs": {"addBatch": -5, "triggerExecution": -9}}).duration == seconds(0)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("", id="empty"),
        pytest.param('{"batchId": 3, "timest', id="cut"),
        pytest.param("[]", id="no object"),
        pytest.param('{"batchId": 3}', id="without a time"),
        pytest.param('{"timestamp": "2026-03-01T12:00:00.000Z"}', id="without a number"),
        pytest.param('{"batchId": "3", "timestamp": "2026-03-01T12:00:00.000Z"}', id="a number that is a text"),
        pytest.param('{"batchId": 3, "timestamp": "yesterday"}', id="a time that is none"),
        pytest.param(json.dumps({**KAFKA, "durationMs": {"addBatch": 10**15}}), id="a step of 30 000 years"),
        pytest.param(json.dumps({**KAFKA, "sources": "none"}), id="sources that are a text"),
    ],
)
def test_a_line_that_is_no_event_is_refused(line):
    with pytest.raises(ValueError, match="not a progress event"):
        parse_event(line)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(KAFKA)), json_values)
def test_whatever_stands_in_a_field_the_line_is_an_event_or_refused(field, value):
    with suppress(ValueError):
        assert isinstance(parsed({**KAFKA, field: value}), ProgressEvent)
