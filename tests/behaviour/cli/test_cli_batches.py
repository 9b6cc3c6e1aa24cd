"""`streamops batches`: from the progress that a driver has left."""

import json

import pytest

from support.progress import leave, ran
from support.terminal import Terminal

BATCH = {
    "id": "q",
    "name": "orders",
    "batchId": 7,
    "timestamp": "2026-03-01T11:59:40.000Z",
    "durationMs": {
        "latestOffset": 20,
        "walCommit": 80,
        "getBatch": 0,
        "queryPlanning": 100,
        "addBatch": 1500,
        "commitOffsets": 200,
        "triggerExecution": 2000,
    },
}


@pytest.fixture
def started(terminal: Terminal) -> Terminal:
    terminal.started()
    return terminal


def test_the_steps_stand_in_their_order_with_time_and_share(started: Terminal) -> None:
    ran(started, BATCH)

    answer = started.run("batches", "orders")

    assert answer.code == 0
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert lines[0] == "orders: batch 7: median 2 s, 95 % took 2 s or less"
    assert lines[3:12] == [
        "start not measured",
        "fetch offsets 20 ms 20 ms 1.0 % latestOffset or getOffset",
        "write offsets 80 ms 80 ms 4.0 % walCommit",
        "plan 0 ms 0 ms 0.0 % getBatch",
        "incremental plan 100 ms 100 ms 5.0 % queryPlanning",
        "tasks 1.5 s 1.5 s 75.0 % addBatch",
        "sink commit within tasks",
        "commit log 200 ms 200 ms 10.0 % commitOffsets",
        "the rest 100 ms 100 ms 5.0 %",
    ]
    assert "  sink commit       the whole batch: twice in the sink, unless it knows the batch again" in answer.out


def test_json_has_the_same_figures_in_seconds(started: Terminal) -> None:
    ran(started, BATCH)

    answer = started.run("batches", "orders", "--json")

    (query,) = answer.document["queries"]
    tasks = query["steps"][5]
    assert (tasks["step"], tasks["taken"]) == ("tasks", {"median": 1.5, "p95": 1.5, "share": 0.75})
    assert query["steps"][6]["taken"] is None


def test_a_batch_that_ran_again_is_named(started: Terminal) -> None:
    again = {**BATCH, "durationMs": {"addBatch": 1500, "triggerExecution": 2000}}
    ran(started, again, {**BATCH, "batchId": 8})

    answer = started.run("batches", "orders")

    assert "ran again, with a range that an earlier run had written: batch 7" in answer.out


def test_without_a_batch_it_says_so(started: Terminal) -> None:
    answer = started.run("batches", "orders")

    assert answer.code == 4
    assert answer.out.startswith("orders: no driver has kept a batch")


def test_hostile_names_are_shown_and_not_obeyed(started: Terminal) -> None:
    ran(started, {**BATCH, "name": "\x1b[2Jx", "durationMs": {**BATCH["durationMs"], "\x1b]0;t": 1}})

    answer = started.run("batches", "orders")

    assert "\x1b" not in answer.out
    assert "query \\x1b[2Jx" in answer.out
    assert "no step of Spark 4.2: \\x1b]0;t (within the rest)" in answer.out


def test_lines_that_are_no_event_are_counted(started: Terminal) -> None:
    leave(started, json.dumps(BATCH).encode() + b"\n\xff{\nnonsense\n")

    answer = started.run("batches", "orders")

    assert answer.code == 0
    assert "2 lines of the progress file are no progress event, and were passed over" in answer.out


def test_a_stream_that_is_not_declared_is_refused(terminal: Terminal) -> None:
    answer = terminal.run("batches", "nobody")

    assert answer.code == 2
    assert "no stream is called 'nobody'" in answer.err
