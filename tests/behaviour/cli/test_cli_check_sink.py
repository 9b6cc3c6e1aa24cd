"""`streamops check --sink`: the checkpoint beside what the query writes to."""

import json
import sys

import pytest

from streamops.cli.main import main
from support.base_checkpoint import BASE_ID, entry, files
from support.checkpoints import OTHER_QUERY_ID
from support.delta_table import TABLE_ID, idempotent_write, streaming_update, write_table


@pytest.fixture
def checkpoint(tmp_path):
    """Writes files as a checkpoint and gives its folder."""

    def write(found):
        for name, content in found.items():
            path = tmp_path / "checkpoint" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return str(tmp_path / "checkpoint")

    return write


@pytest.fixture
def table(tmp_path):
    """A Delta table that has batches of the base checkpoint's query up to one."""

    def write(newest, *, query_id=BASE_ID):
        write_table(tmp_path / "table", *(streaming_update(query_id, batch) for batch in range(newest + 1)))
        return str(tmp_path / "table")

    return write


@pytest.fixture
def directory(tmp_path):
    """A file sink's folder that has batches up to one."""

    def write(newest):
        log = tmp_path / "out" / "_spark_metadata"
        log.mkdir(parents=True)
        for batch in range(newest + 1):
            (log / str(batch)).write_bytes(b"v1")
        return str(tmp_path / "out")

    return write


def report(capsys, *arguments):
    """Exit code and report as JSON."""
    code = main(["check", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def rules(document):
    return [finding["rule"] for finding in document["findings"]]


def test_a_sink_that_stands_where_the_checkpoint_does_is_told_in_a_line(checkpoint, table, capsys):
    code = main(["check", checkpoint(files()), "--sink", table(4)])

    out = capsys.readouterr().out.splitlines()
    assert code == 0
    assert out[0].startswith("ok  ")
    assert out[-1].endswith("/table: Delta table, version 5, batch 4 of this query")


def test_the_sink_as_json(checkpoint, table, capsys):
    _, document = report(capsys, checkpoint(files()), "--sink", table(4))

    assert document["sink"] == {
        "address": document["sink"]["address"],
        "kind": "delta",
        "newest_batch": 4,
        "recognises_batches": True,
        "table_id": TABLE_ID,
        "table_version": 5,
    }


def test_a_crash_between_write_and_commit_is_safe_where_the_sink_has_the_batch(checkpoint, table, capsys):
    code, document = report(capsys, checkpoint(files(commits_4=None)), "--sink", table(4))

    assert (code, document["verdict"], document["restart"]["safety"]) == (0, "ok", "safe")
    assert rules(document) == ["pending-batch", "sink-has-pending-batch"]
    assert "twice" not in document["findings"][0]["meaning"]


def test_fresh_batches_that_a_table_would_drop_are_critical(checkpoint, table, capsys):
    code, document = report(capsys, checkpoint({"metadata": files()["metadata"]}), "--sink", table(4))

    assert (code, document["verdict"], document["restart"]["safety"]) == (4, "critical", "unsafe")
    assert rules(document) == ["sink-ahead"]


def test_fresh_batches_that_a_file_sink_would_drop_are_critical(checkpoint, directory, capsys):
    code = main(["check", checkpoint(files()), "--sink", directory(7)])

    out = capsys.readouterr().out
    assert code == 4
    assert "/out: file sink, batch 7" in out
    assert "critical  sink-ahead" in out
    assert "batches 5 to 7 will run, be committed, and be dropped by the sink" in out


def test_a_foreach_batch_is_found_under_its_own_id(checkpoint, tmp_path, capsys):
    table = write_table(tmp_path / "table", idempotent_write("orders-job", 9))
    folder = checkpoint(files())

    _, unasked = report(capsys, folder, "--sink", table)
    _, asked = report(capsys, folder, "--sink", table, "--txn-app-id", "orders-job")

    assert rules(unasked) == ["unknown-to-sink"]
    assert rules(asked) == ["sink-ahead"]


@pytest.mark.parametrize(
    ("sink", "rule", "told"),
    [
        pytest.param("nowhere", "missing-sink", "not found", id="no sink"),
        pytest.param("newer", "unread-sink", "not read", id="a table that the library does not know"),
    ],
)
def test_a_sink_that_can_t_be_read_is_unknown(checkpoint, tmp_path, capsys, sink, rule, told):
    write_table(tmp_path / "newer", creates=[{"protocol": {"minReaderVersion": 99, "minWriterVersion": 99}}])
    folder = checkpoint(files())

    code = main(["check", folder, "--sink", str(tmp_path / sink)])

    out = capsys.readouterr().out
    assert code == 4
    assert out.startswith("unknown  ")
    assert f"unknown  {rule}" in out
    assert f"/{sink}: {told}" in out
    assert f"not known: {rule}" in out
    assert "\x1b" not in out


def test_a_table_with_a_commit_that_is_none_is_left_to_a_person(checkpoint, tmp_path, capsys):
    folder, table = checkpoint(files()), write_table(tmp_path / "broken", creates=[{"nonsense": "\x1b[31m"}])

    code, document = report(capsys, folder, "--sink", table)

    assert (code, document["verdict"], document["restart"]["safety"]) == (4, "critical", "blocked")
    assert rules(document) == ["unread-sink"]
    assert main(["check", folder, "--sink", table]) == 4
    assert "\x1b" not in capsys.readouterr().out


def test_a_checkpoint_that_lost_its_id_is_told_the_id_that_the_sink_knows(checkpoint, table, capsys):
    _, document = report(capsys, checkpoint(files()), "--sink", table(4, query_id=OTHER_QUERY_ID))

    (finding,) = document["findings"]
    assert (finding["rule"], finding["severity"]) == ("unknown-to-sink", "warning")
    assert OTHER_QUERY_ID in finding["repair"]


def test_without_the_library_the_extra_is_asked_for(checkpoint, table, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)

    assert main(["check", checkpoint(files()), "--sink", table(4)]) == 2
    assert "streamops[delta]" in capsys.readouterr().err


def test_the_table_that_the_query_reads_is_compared_with_its_offsets(checkpoint, table, tmp_path, capsys):
    text = {
        "sourceVersion": 1,
        "reservoirId": TABLE_ID,
        "reservoirVersion": 40,
        "index": -1,
        "isStartingVersion": False,
    }
    found = {name: content for name, content in files().items() if not name.startswith("sources/")}
    found |= {f"offsets/{batch}": entry(batch, source=json.dumps(text)) for batch in (3, 4)}
    folder = checkpoint(found)

    code, document = report(capsys, folder, "--delta", table(4))
    missing, without = report(capsys, folder, "--delta", str(tmp_path / "nowhere"))

    assert (code, rules(document), document["restart"]["safety"]) == (4, ["beyond-delta-table"], "futile")
    assert (missing, rules(without)) == (4, ["unread-delta-source"])
