"""Commits that a streaming source has yet to read, of tables that delta-rs wrote and of logs that somebody has broken."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from streamops.deltalog import pending, read_delta_table, read_pending
from streamops.deltalog.pending import RemovedFile
from streamops.errors import StorageError
from streamops.storage.local import LocalStorage
from streamops.storage.memory import MemoryStorage
from support.delta_table import creation, write_table

WRITTEN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def add(path, *, data_change=True):
    return {"add": {"path": path, "size": 1, "modificationTime": 1, "dataChange": data_change, "partitionValues": {}}}


def remove(path, *, at=1_772_366_400_000):
    return {"remove": {"path": path, "deletionTimestamp": at, "dataChange": False}}


def read(address, *, first=1, storage=None):
    return read_pending(storage or LocalStorage(), address, first=first)


@pytest.fixture
def compacted(tmp_path):
    """A real table: versions 0 to 3 brought a row each, version 4 put the four files together."""
    folder = tmp_path / "orders"
    for number in range(4):
        write_deltalake(str(folder), pa.table({"n": [number]}), mode="append")
    DeltaTable(str(folder)).optimize.compact()
    return folder


def test_files_that_were_put_together_are_still_there(compacted):
    found = read(f"file://{compacted}")

    assert [(file.version, file.index, file.is_there) for file in found.removed] == [
        (1, 0, True),
        (2, 0, True),
        (3, 0, True),
    ]
    assert (found.read_to, found.is_whole, found.problem) == (4, True, "")


def test_a_vacuum_deletes_them(compacted):
    DeltaTable(str(compacted)).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)

    found = read(f"file://{compacted}", first=2)

    assert [(file.version, file.is_there) for file in found.removed] == [(2, False), (3, False)]


def test_the_clean_up_of_delta_rs_takes_versions_that_pending_ones_need(compacted):
    """It goes by the time of the files, below a checkpoint, as Delta's does."""
    log = compacted / "_delta_log"
    for version in range(4):
        os.utime(log / f"{version:020d}.json", (1_000_000_000 + version,) * 2)
    table = DeltaTable(str(compacted))
    table.create_checkpoint()
    table.cleanup_metadata()

    assert read_delta_table(LocalStorage(), f"file://{compacted}").earliest_commit == 4
    assert read(f"file://{compacted}").committed_at is None


def test_when_the_first_of_them_was_written_is_the_time_of_its_file(tmp_path):
    address = write_table(tmp_path / "orders", [add("a")], [add("b")])
    os.utime(tmp_path / "orders/_delta_log/00000000000000000001.json", (WRITTEN.timestamp(),) * 2)

    found = read(address)

    assert (found.first, found.committed_at) == (1, WRITTEN)


def test_a_file_that_is_gone_although_no_commit_removed_it_is_missed(tmp_path):
    address = write_table(tmp_path / "orders", [add("a")], [add("b")])
    (tmp_path / "orders" / "b").touch()

    assert [(file.path, file.is_there, file.removed_at) for file in read(address).removed] == [("a", False, None)]


def test_a_file_that_only_moves_rows_about_is_no_input(tmp_path):
    address = write_table(tmp_path / "orders", [add("a", data_change=False)], [remove("a")])

    assert read(address).removed == ()


def test_a_file_from_before_is_nothing_to_it(tmp_path):
    address = write_table(tmp_path / "orders", [add("a")], [remove("a")])

    assert read(address, first=2).removed == ()


@pytest.mark.parametrize(
    ("path", "place", "is_there"),
    [
        pytest.param("day=2026-03-01/a.parquet", "day=2026-03-01/a.parquet", True, id="in a folder"),
        pytest.param("day=2026-03-01%2012/a.parquet", "day=2026-03-01 12/a.parquet", True, id="its name is escaped"),
        pytest.param("a.parquet", None, False, id="gone"),
        pytest.param("../../elsewhere/a.parquet", None, None, id="outside of the table"),
        pytest.param("file:///elsewhere/a.parquet", None, None, id="of another table"),
        pytest.param("s3a%3A//bucket/a.parquet", None, None, id="of another store"),
        pytest.param("a%00.parquet", None, None, id="no file system has such a name"),
        pytest.param("a\ud800.parquet", None, None, id="no text"),
        pytest.param("", None, None, id="no name"),
    ],
)
def test_where_a_file_lies(tmp_path, path, place, is_there):
    address = write_table(tmp_path / "orders", [add(path)], [remove(path)])
    if place:
        file = tmp_path / "orders" / place
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x")

    (found,) = read(address).removed

    assert (found.path, found.is_there) == (path, is_there)


def test_a_commit_of_somebody_else_s_making_is_taken_as_far_as_it_goes(tmp_path):
    """Odd types, unknown actions, a removal without a time: nothing of that is a reason to stop."""
    odd = [{"add": 7}, {"protocol": {}}, ["add"], add("a"), {"remove": {"path": "a", "deletionTimestamp": "soon"}}]
    address = write_table(tmp_path / "orders", odd)

    assert read(address).removed == (RemovedFile(path="a", version=1, index=0, removed_at=None, is_there=False),)


@pytest.mark.parametrize(
    "moment",
    [pytest.param(10**18, id="beyond a calendar"), pytest.param(True, id="no number"), pytest.param(None, id="none")],
)
def test_a_removal_at_no_moment(tmp_path, moment):
    address = write_table(tmp_path / "orders", [add("a")], [remove("a", at=moment)])

    assert [file.removed_at for file in read(address).removed] == [None]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"add":', id="cut off"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[" * 200_000, id="deeper than can be read"),
    ],
)
def test_a_broken_commit_is_named(tmp_path, content):
    address = write_table(tmp_path / "orders", [add("a")])
    Path(tmp_path / "orders/_delta_log/00000000000000000002.json").write_bytes(content)

    found = read(address)

    assert found.problem == f"{address}/_delta_log/00000000000000000002.json can't be read: it is no JSON"
    assert not found.is_whole


def test_a_place_that_does_not_answer_is_told():
    class Away(MemoryStorage):
        def list(self, directory, *, after=""):
            raise StorageError(f"{directory}: no answer")

    found = read("file:///orders", storage=Away())

    assert found.problem == "file:///orders/_delta_log: no answer"


def commits(storage, count, *, files=1):
    log = "file:///orders/_delta_log"
    for version in range(count):
        actions = [add(f"{version}-{number}") for number in range(files)] if version else creation()
        storage.write(f"{log}/{version:020d}.json", "\n".join(map(json.dumps, actions)).encode())


def test_of_many_commits_the_first_are_read(monkeypatch):
    monkeypatch.setattr(pending, "MAX_COMMITS", 3)
    storage = MemoryStorage()
    commits(storage, 8)

    found = read("file:///orders", storage=storage)

    assert (found.read_to, found.is_whole) == (3, False)


def test_of_large_commits_as_many_as_fit(monkeypatch):
    monkeypatch.setattr(pending, "MAX_BYTES", 5_000)
    storage = MemoryStorage()
    commits(storage, 8, files=20)

    found = read("file:///orders", storage=storage)

    assert (found.read_to, found.is_whole) == (2, False)
