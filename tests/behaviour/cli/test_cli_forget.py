"""`streamops forget`: for a new start on purpose, a checkpoint that was moved, and a stream that was renamed."""

import json
import shutil

import pytest

from streamops.control.records import ActBegun, ActEnded, Adopted
from streamops.control.registry import RegistryEntry, entry_address, read_entry
from streamops.storage.address import local_path
from streamops.supervision.decision import Action


def entry_of(terminal, stream="orders"):
    return read_entry(terminal.storage, terminal.project.address("data/state"), stream)


def folder(terminal, stream="orders"):
    return terminal.spec(stream).checkpoint.removeprefix("file://")


def rest(terminal, stream="orders"):
    """The stream has committed batches, and stands still."""
    terminal.started(stream)
    terminal.write_batches(stream, committed=7)
    terminal.requests(stream).stop("night")
    terminal.obey(stream)
    terminal.settle(stream)


def remove(terminal, stream="orders"):
    for place in (folder(terminal, stream), f"{folder(terminal, stream)}.streamops"):
        shutil.rmtree(place)


def forget(terminal, stream="orders", *more):
    return terminal.run("forget", stream, "--reason", "on purpose", "--yes", *more)


def test_the_registry_learns_the_query_of_a_driver_that_runs_on(terminal):
    terminal.started()
    assert entry_of(terminal).query_id == ""
    terminal.beat(query_id="q")
    terminal.settle()

    assert entry_of(terminal).query_id == "q"


def test_both_are_gone_and_a_new_start_is_meant(terminal):
    rest(terminal)
    remove(terminal)
    assert terminal.settle().action is Action.BLOCKED

    answer = forget(terminal)

    assert (answer.code, terminal.settle().action) == (0, Action.KEEP)
    assert "kept in" in answer.out
    (kept,) = terminal.storage.list(f"{terminal.project.address('data/state')}/registry/forgotten")
    told = json.loads(terminal.storage.read(f"{terminal.project.address('data/state')}/registry/forgotten/{kept}"))
    assert told["reason"] == "on purpose"
    assert told["by"]["actor"].startswith("person:")
    assert json.loads(told["entry"])["stream"] == "orders"


@pytest.mark.parametrize(
    "command", [["status"], ["plan", "orders"], ["check", "orders"]], ids=lambda command: command[0]
)
def test_a_checkpoint_that_is_gone_is_shown_as_such_everywhere(terminal, command):
    rest(terminal)
    remove(terminal)

    answer = terminal.run(*command)

    assert answer.code == 4
    assert "not mounted" in answer.out
    assert not (terminal.project.root / "data/checkpoints/orders.streamops").exists()


def test_a_checkpoint_that_was_moved_goes_on_where_it_is_now(terminal):
    rest(terminal)
    old = folder(terminal)
    terminal.declare("orders", checkpoint="data/elsewhere/orders")
    new = folder(terminal)
    for ending in ("", ".streamops"):
        shutil.copytree(old + ending, new + ending)
    terminal.requests().start("morning")
    assert "streamops forget orders" in terminal.settle().reason

    forget(terminal)

    assert terminal.settle().action is Action.KEEP
    assert entry_of(terminal).checkpoint == terminal.spec().checkpoint


def test_it_is_told_in_the_control_log_as_well(terminal):
    rest(terminal)

    forget(terminal)

    begun, ended = (record.body for record in terminal.records()[-2:])
    assert (begun, ended) == (
        ActBegun(act="forget", plan=begun.plan),
        ActEnded(act="forget", plan=begun.plan, outcome="forgotten"),
    )
    assert terminal.records()[-1].reason == "on purpose"


def test_a_renamed_stream_takes_its_log_along(terminal):
    rest(terminal)
    terminal.declare("sales", checkpoint="data/checkpoints/orders")
    blocked = terminal.settle("sales")
    assert blocked.action is Action.BLOCKED
    for command in ("streamops forget orders", "streamops adopt sales"):
        assert command in blocked.reason

    forgot = forget(terminal)
    adopted = terminal.run("adopt", "sales", "--reason", "renamed", "--yes")
    terminal.requests("sales").start("morning")

    assert (forgot.code, adopted.code) == (0, 0), forgot.err + adopted.err
    assert terminal.records("sales")[-2].body == Adopted(
        stream="sales", position=terminal.state("sales").position, epochs_seen=1, from_stream="orders"
    )
    assert terminal.settle("sales").action is Action.KEEP
    assert terminal.newest("sales").number == 2
    assert entry_of(terminal) is None
    assert isinstance(entry_of(terminal, "sales"), RegistryEntry)


def test_a_log_of_a_stream_that_is_declared_is_not_taken_over(terminal):
    rest(terminal)
    terminal.declare("sales", checkpoint="data/checkpoints/orders")
    terminal.project.file.write_text(
        terminal.project.file.read_text() + "  orders:\n    job: jobs/orders.py\n", encoding="utf-8"
    )

    answer = terminal.run("adopt", "sales", "--reason", "renamed", "--yes")

    assert answer.code == 2
    assert "declares as well" in answer.err


def test_a_log_whose_driver_may_live_is_not_taken_over(terminal):
    terminal.started()
    terminal.declare("sales", checkpoint="data/checkpoints/orders")

    answer = terminal.run("adopt", "sales", "--reason", "renamed", "--yes")

    assert answer.code == 1
    assert "its driver may live" in answer.err


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_stream_whose_driver_lives_is_not_forgotten(terminal, is_declared):
    driver = terminal.started()
    if not is_declared:
        terminal.declare("sales")

    alive = forget(terminal)
    terminal.launcher.end(driver)
    unproven = forget(terminal)

    assert (alive.code, unproven.code) == (1, 1)
    assert "a driver lives" in alive.err
    assert "is open" in unproven.err
    assert entry_of(terminal) is not None


def test_a_broken_entry_can_be_forgotten(terminal):
    address = entry_address(terminal.project.address("data/state"), "broken")
    terminal.storage.write(address, b"{")
    assert "streamops forget broken" in terminal.settle().reason

    answer = forget(terminal, "broken")

    assert answer.code == 0
    assert "its checkpoint can't be told" in answer.err
    assert terminal.settle().action is Action.KEEP


def test_a_stream_that_the_registry_does_not_know_is_told(terminal):
    answer = forget(terminal)

    assert answer.code == 2
    assert "knows no such stream" in answer.err


def test_a_dry_run_and_an_empty_reason_forget_nothing(terminal):
    rest(terminal)

    planned = terminal.run("forget", "orders", "--reason", "why", "--dry-run", "--json")
    refused = terminal.run("forget", "orders", "--reason", " ", "--yes")

    assert planned.document["outcome"] == "planned"
    assert refused.code == 2
    assert entry_of(terminal) is not None
    assert local_path(entry_address(terminal.project.address("data/state"), "orders"))
