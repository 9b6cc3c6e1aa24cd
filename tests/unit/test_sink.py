"""What lies at a sink's address."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamops.places.sink import (
    DeltaSink,
    FileSink,
    MissingSink,
    UnreadSink,
    newest_batch,
    read_sink,
    recognises_batches,
)
from streamops.storage.local import LocalStorage
from streamops.storage.memory import MemoryStorage
from support.checkpoints import OTHER_QUERY_ID, QUERY_ID
from support.delta_table import idempotent_write, streaming_update, write_table
from support.storage import SwitchableStorage

LINE = "\n".join(map(json.dumps, streaming_update(QUERY_ID, 0))).encode()


def look(folder, *applications, query_id=QUERY_ID):
    return read_sink(LocalStorage(), f"file://{folder}", query_id=query_id, applications=applications)


def test_a_delta_table_is_told_by_its_log(tmp_path):
    write_table(tmp_path, streaming_update(QUERY_ID, 0), streaming_update(QUERY_ID, 1))

    sink = look(tmp_path)

    assert isinstance(sink, DeltaSink)
    assert (newest_batch(sink), recognises_batches(sink)) == (1, True)


@pytest.mark.parametrize("query_id", [OTHER_QUERY_ID, None])
def test_a_table_that_knows_nothing_of_the_query(tmp_path, query_id):
    write_table(tmp_path, streaming_update(QUERY_ID, 0))

    sink = look(tmp_path, query_id=query_id)

    assert (newest_batch(sink), recognises_batches(sink)) == (None, False)


def test_a_foreach_batch_is_known_by_the_id_that_is_given_and_proves_nothing(tmp_path):
    write_table(tmp_path, idempotent_write("orders-job", 7))

    sink = look(tmp_path, "orders-job")

    assert (newest_batch(sink), recognises_batches(sink)) == (7, False)


def test_a_file_sink_is_told_by_its_log(tmp_path):
    (tmp_path / "_spark_metadata").mkdir()
    for batch in range(3):
        (tmp_path / "_spark_metadata" / str(batch)).write_bytes(b"v1")

    sink = look(tmp_path)

    assert isinstance(sink, FileSink)
    assert (newest_batch(sink), recognises_batches(sink)) == (2, True)


def test_a_table_is_not_taken_for_files_that_once_lay_there(tmp_path):
    write_table(tmp_path, streaming_update(QUERY_ID, 0))
    (tmp_path / "_spark_metadata").mkdir()

    assert isinstance(look(tmp_path), DeltaSink)


@pytest.mark.parametrize("folder", ["nowhere", "plain", "emptied"])
def test_where_no_sink_lies(tmp_path, folder):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "part-0.parquet").write_bytes(b"x")
    (tmp_path / "emptied" / "_delta_log").mkdir(parents=True)

    assert look(tmp_path / folder) == MissingSink(address=f"file://{tmp_path / folder}")


def test_a_place_that_can_t_be_asked_is_no_missing_sink():
    storage = SwitchableStorage(MemoryStorage())
    storage.unreachable = "/"

    sink = read_sink(storage, "file:///out", query_id=QUERY_ID)

    assert isinstance(sink, UnreadSink)
    assert not sink.lacks_library
    assert newest_batch(sink) is None


def test_a_broken_table_is_unread_and_says_why(tmp_path):
    write_table(tmp_path, streaming_update(QUERY_ID, 0))
    (tmp_path / "_delta_log" / f"{1:020d}.json").write_text("{")

    sink = look(tmp_path)

    assert isinstance(sink, UnreadSink)
    assert sink.is_broken
    assert "is no JSON: Delta can't read such a table" in sink.reason


def test_an_installation_without_the_library_says_so(tmp_path, monkeypatch):
    write_table(tmp_path, streaming_update(QUERY_ID, 0))
    monkeypatch.setitem(sys.modules, "deltalake", None)

    sink = look(tmp_path)

    assert isinstance(sink, UnreadSink)
    assert sink.lacks_library


@settings(max_examples=50, deadline=None)
@given(
    content=st.binary(max_size=200)
    | st.builds(lambda cut, more: LINE[:cut] + more, st.integers(0, len(LINE)), st.binary(max_size=20))
)
def test_any_commit_gives_a_table_or_a_printable_reason(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("table")
    write_table(folder, streaming_update(QUERY_ID, 0))
    (folder / "_delta_log" / f"{1:020d}.json").write_bytes(content)

    sink = look(folder)

    assert isinstance(sink, DeltaSink | UnreadSink)
    assert isinstance(sink, DeltaSink) or sink.reason.isprintable()
