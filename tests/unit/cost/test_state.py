"""State: its size by a formula, and what real commits of three stores cost (Spark 4.2.0)."""

import json

import pytest

from streamops.cost.figure import Figure, Origin, Unit, lasting
from streamops.cost.state import OperatorState, bytes_per_row, dropped_late, operator_states, state_size
from streamops.progress import ProgressHistory, parse_progress
from support.progress import RECORDED
from support.specs import seconds


def recorded(store: str) -> ProgressHistory:
    return parse_progress((RECORDED / f"state-{store}.jsonl").read_bytes())


def the_state(store: str, *, last: int = 5) -> OperatorState:
    (state,) = operator_states(recorded(store), last=last)
    return state


def test_state_holds_what_comes_until_its_window_is_over_and_the_watermark_has_passed():
    estimate = state_size(
        Figure(name="rate", value=2000, unit=Unit.RECORDS_PER_SECOND, origin=Origin.GIVEN),
        lasting("window", seconds(600), Origin.GIVEN),
        lasting("lateness", seconds(300), Origin.GIVEN),
        Figure(name="row", value=200, unit=Unit.BYTES, origin=Origin.GIVEN),
    )

    assert [figure.number for figure in estimate.results] == [1_800_000, 360_000_000]


@pytest.mark.parametrize(
    ("recording", "store"),
    [("hdfs", "HDFS-backed"), ("rocksdb", "RocksDB"), ("changelog", "RocksDB with changelog")],
)
def test_a_store_is_known_by_what_it_measures(recording, store):
    assert the_state(recording, last=50).store == store


def test_the_share_of_commits_is_that_of_one_partition():
    """Batches 5 to 9 of RocksDB: 3743 ms of commits in four partitions, 3807 ms of batches."""
    state = the_state("rocksdb")

    assert (state.partitions, state.batches, round(state.share, 4)) == (4, 5, 0.2458)
    assert (state.commit, state.batch) == (seconds(0.1805), seconds(0.778))


def test_rocksdb_without_a_changelog_is_told_to_switch_it_on():
    state = the_state("rocksdb")

    assert state.is_candidate
    assert "set state.changelog: true" in state.advice
    assert "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" in state.advice
    assert "asynchronous state checkpointing is a vendor's" in state.advice


def test_a_store_whose_commits_weigh_little_is_left_alone():
    state = the_state("changelog")

    assert (round(state.share, 3), state.is_candidate, state.advice) == (0.137, False, "")


def test_partitions_that_are_not_told_are_one():
    """Then the share is that of all of them together, and may be above 1."""
    line = {
        "batchId": 1,
        "timestamp": "2026-03-01T12:00:00.000Z",
        "durationMs": {"addBatch": 900, "triggerExecution": 1000},
        "stateOperators": [{"operatorName": "dedupe", "numRowsTotal": 3, "commitTimeMs": 500}],
    }
    (state,) = operator_states(parse_progress(json.dumps(line).encode()), last=5)

    assert (state.share, state.partitions, state.store, state.kept_bytes) == (0.5, 0, "", None)
    assert "which store it is, progress does not tell" in state.advice


@pytest.mark.parametrize(("recording", "told"), [("hdfs", 190.288), ("rocksdb", 18.394)])
def test_what_a_row_takes_is_measured_where_the_store_tells(recording, told):
    """380576 and 36788 bytes for 2000 rows."""
    row = bytes_per_row(recorded(recording))

    assert row is not None
    assert row.number == told


def test_a_store_that_has_written_no_file_does_not_tell_what_a_row_takes():
    first = ProgressHistory(events=recorded("changelog").events[:5])

    assert bytes_per_row(first) is None


def test_late_rows_are_counted_over_the_batches_with_state():
    lines = [
        {
            "batchId": batch,
            "timestamp": "2026-03-01T12:00:00.000Z",
            "numInputRows": 100,
            "durationMs": {"addBatch": 900, "triggerExecution": 1000},
            "stateOperators": [{"operatorName": "dedupe", "numRowsTotal": 3, "numRowsDroppedByWatermark": late}],
        }
        for batch, late in enumerate((0, 3, 4))
    ]

    assert dropped_late(parse_progress("\n".join(map(json.dumps, lines)).encode())) == (7, 300, 3)
    assert dropped_late(ProgressHistory()) is None
