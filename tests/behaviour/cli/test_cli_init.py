"""`streamops init`: without its mark nothing starts, and nothing is made."""

import os
import shutil

import pytest

from streamops.cli import administration
from streamops.control.registry import RegistryEntry, register
from streamops.control.state_root import MARKER, marker_address, require_state_root
from streamops.errors import StorageError
from streamops.storage import self_test


@pytest.fixture
def bare(terminal):
    """As where the volume of the state root is not mounted."""
    shutil.rmtree(terminal.project.root / "data" / "state")
    return terminal


def state_root(terminal):
    return terminal.project.address("data/state")


COMMANDS = {
    "plan": ["plan", "orders"],
    "check": ["check", "orders"],
    "stop": ["stop", "orders", "--reason", "why", "--yes"],
    "start": ["start", "orders", "--reason", "why", "--yes"],
    "adopt": ["adopt", "orders", "--reason", "why", "--yes"],
    "catchup": ["catchup", "orders", "--reason", "why", "--yes"],
    "backfill": [
        "backfill",
        "orders",
        "--from",
        "2026-01-01T00:00Z",
        "--to",
        "2026-01-02T00:00Z",
        "--reason",
        "why",
        "--yes",
    ],
    "reconcile": ["reconcile", "--act"],
    "supervise": ["supervise", "--once"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_without_the_mark_there_is_one_clear_error_and_nothing_is_made(bare, command):
    answer = bare.run(*command)

    assert answer.code != 0
    told = answer.out + answer.err
    assert f"state root {state_root(bare)} has no {MARKER}: is its volume mounted?" in told.replace("\n", " ")
    assert "streamops init" in told
    assert bare.launcher.drivers == []
    assert not (bare.project.root / "data").exists() or os.listdir(bare.project.root / "data") == []


def test_status_shows_such_streams_as_unknown(bare):
    answer = bare.run("status", "--json")

    assert answer.code == 4
    assert "is its volume mounted?" in answer.out


def test_init_makes_a_state_root_once(bare):
    made, again = bare.run("init"), bare.run("init", "--json")

    assert (made.code, again.code) == (0, 0)
    assert "is a state root from now on" in made.out
    assert again.document["outcome"] == "there-already"
    root = require_state_root(bare.storage, state_root(bare))
    assert (again.document["id"], root.created_by.actor.partition(":")[0]) == (root.id, "person")
    assert bare.settle().action == "keep"


def test_a_state_root_of_an_earlier_version_is_taken_over(bare):
    entry = RegistryEntry(stream="old", checkpoint="file:///cp/old", sink="file:///old", query_id="q")
    register(bare.storage, state_root(bare), entry)
    with pytest.raises(StorageError, match=r"of an earlier version of streamops.*takes it over"):
        bare.settle()

    answer = bare.run("init", "--json")

    assert answer.document["outcome"] == "taken-over"
    assert bare.settle().action == "keep"


def test_another_folder_can_be_named(terminal):
    folder = terminal.project.root / "elsewhere" / "state"

    answer = terminal.run("init", "--state-root", str(folder))

    assert answer.code == 0
    assert (folder / MARKER).is_file()


def test_a_mark_of_a_newer_version_is_not_worked_with(terminal):
    address = marker_address(state_root(terminal))
    newer = terminal.storage.read(address).replace(b'"version":1', b'"version":2')
    terminal.storage.write(address, newer)

    with pytest.raises(StorageError, match="upgrade it"):
        terminal.settle()


def test_a_file_system_that_does_not_do_what_is_needed_is_refused(bare, monkeypatch):
    monkeypatch.setattr(
        administration, "folder_problems", lambda address: (f"{address}: two processes created one name",)
    )

    answer = bare.run("init")

    assert answer.code == 1
    assert "two processes created one name" in answer.err
    assert not (bare.project.root / "data").exists() or os.listdir(bare.project.root / "data") == []


@pytest.fixture
def on_nfs(bare, monkeypatch, tmp_path_factory):
    table = tmp_path_factory.mktemp("proc") / "mountinfo"
    table.write_text(f"40 22 0:40 / {bare.project.root} rw - nfs4 server:/export rw,vers=4.2\n")
    monkeypatch.setattr(administration, "MOUNT_TABLE", table)
    monkeypatch.setattr(administration, "folder_problems", lambda address: ())
    return bare


def test_a_network_file_system_that_may_show_names_late_is_refused(on_nfs):
    refused, accepted = on_nfs.run("init"), on_nfs.run("init", "--accept-mount")

    assert (refused.code, accepted.code) == (1, 0)
    for told in ("nfs4", "lookupcache=none", "--accept-mount"):
        assert told in refused.err
    assert "on nfs4" in accepted.out


def test_one_folder_of_each_file_system_is_tried(terminal, monkeypatch):
    tried = []
    monkeypatch.setattr(
        administration, "folder_problems", lambda address: tried.append(address) or self_test.folder_problems(address)
    )
    terminal.started()

    assert terminal.run("init").code == 0
    assert tried == [state_root(terminal)]
