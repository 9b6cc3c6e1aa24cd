"""`streamops plan`: what Spark would do if a declared stream were started now."""

import pytest

from streamops.control.layout import companion_checkpoint
from streamops.storage import join
from streamops.storage.kinds import storage_for
from support.checkpoints import offsets, write_checkpoint
from support.terminal import Terminal


@pytest.fixture
def checkpoint(terminal: Terminal) -> str:
    return terminal.spec().checkpoint


def write(checkpoint: str, *, planned, committed):
    write_checkpoint(storage_for(checkpoint), checkpoint, planned=planned, committed=committed)


def test_a_new_stream_begins_with_batch_0(terminal: Terminal) -> None:
    answer = terminal.run("plan", "orders")

    assert answer.code == 0
    assert answer.out.startswith("orders: a start is safe: ")
    assert "next step of its supervisor: claim" in answer.out


def test_a_batch_in_flight_runs_again_with_the_same_range(terminal: Terminal, checkpoint: str) -> None:
    terminal.started()
    write(checkpoint, planned=[0, 1], committed=[0])

    answer = terminal.run("plan", "orders", "--json")

    plan = answer.document["plan"]
    assert answer.code == 0
    assert (plan["safety"], plan["next_batch"], plan["reruns"]) == ("safe-if-idempotent", 1, [1])
    assert len(plan["ranges"]) == 1
    assert answer.document["living_epoch"] == 1


def test_the_plan_rests_on_more_than_the_logs(terminal: Terminal, checkpoint: str) -> None:
    terminal.declare(
        "orders", source={"kafka": None, "files": {"path": "/data/in", "format": "json", "schema": "n BIGINT"}}
    )
    terminal.started()
    write(checkpoint, planned=[0, 1], committed=[0, 1])
    for batch in (0, 1):
        storage_for(checkpoint).write(join(checkpoint, "offsets", str(batch)), offsets(f'{{"logOffset":{batch}}}'))

    answer = terminal.run("plan", "orders")

    assert answer.code == 4
    assert "orders: a start is futile: sources/0 has no entry, offsets has 1" in answer.out
    assert "Spark will say: " in answer.out
    assert "no supervisor starts this: it could only fail" in answer.out
    assert "--accept-unsafe" not in answer.out
    assert "the driver of epoch 1 may live" in answer.out


def test_each_checkpoint_is_told_where_a_driver_runs_several_queries(terminal: Terminal, checkpoint: str) -> None:
    companion = companion_checkpoint(checkpoint, 0)
    write(checkpoint, planned=[0, 1], committed=[0, 1])
    write(companion, planned=[0, 1], committed=[0])

    document = terminal.run("plan", "orders", "--json").document

    assert [(one["checkpoint"], one["plan"]["safety"]) for one in document["checkpoints"]] == [
        (checkpoint, "safe"),
        (companion, "safe-if-idempotent"),
    ]
    assert document["plan"]["safety"] == "safe-if-idempotent"


def test_an_unknown_stream_is_an_error_of_the_call(terminal: Terminal) -> None:
    assert terminal.run("plan", "order").code == 2


def test_nothing_is_written(terminal: Terminal, checkpoint: str) -> None:
    write(checkpoint, planned=[0], committed=[0])

    terminal.run("plan", "orders")

    assert terminal.records() == ()
