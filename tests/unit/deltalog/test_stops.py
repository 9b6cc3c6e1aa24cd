"""Which commits stop a query that reads a Delta table."""

import json

import pytest

from streamops.deltalog import PendingVersions, read_pending
from streamops.deltalog.pending import stop_of
from streamops.storage.memory import MemoryStorage

TABLE = "file:///tables/orders"
ADD = {"add": {"path": "a.parquet", "dataChange": True}}
REMOVE = {"remove": {"path": "b.parquet", "dataChange": True}}
MOVED = [{"add": {"path": "c.parquet", "dataChange": False}}, {"remove": {"path": "b.parquet", "dataChange": False}}]


def metadata(*columns):
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
    schema = json.dumps({"type": "struct", "fields": fields})
    return {"metaData": {"id": "1", "schemaString": schema, "configuration": {"delta.enableChangeDataFeed": "false"}}}


N, A, TEXT = ("n", "long"), ("a", "long"), ("n", "string")


def pending(*commits, first=1) -> PendingVersions:
    storage = MemoryStorage()
    for version, actions in enumerate(commits):
        lines = "\n".join(map(json.dumps, actions))
        storage.write(f"{TABLE}/_delta_log/{version:020d}.json", lines.encode())
    return read_pending(storage, TABLE, first=first)


def stops(*commits, options=()):
    found = pending([metadata(N)], *commits)
    given = [(name, "true") for name in options]
    return [stop.error or stop.what for commit in found.notable if (stop := stop_of(commit, found, given))]


@pytest.mark.parametrize("options", [(), ("ignoreChanges",), ("readChangeFeed",)])
@pytest.mark.parametrize("content", [b'{"add":{}}\n\n', b'{"add":{}}\n\n{"add":{}}\n', b"\n", b'{"add":{}}\n \n'])
def test_a_blank_line_stops_it_whatever_it_is_told(content, options):
    storage = MemoryStorage()
    storage.write(f"{TABLE}/_delta_log/{1:020d}.json", content)
    found = read_pending(storage, TABLE, first=1)

    (commit,) = found.notable
    stop = stop_of(commit, found, [(name, "true") for name in options])

    assert stop is not None
    assert stop.error == "end-of-input"


def test_the_end_of_the_last_line_is_no_blank_line():
    storage = MemoryStorage()
    storage.write(f"{TABLE}/_delta_log/{1:020d}.json", b'{"add":{}}\n')

    assert read_pending(storage, TABLE, first=1).notable == ()


@pytest.mark.parametrize(
    ("commit", "options", "error"),
    [
        pytest.param([ADD], (), None, id="rows come"),
        pytest.param(MOVED, (), None, id="OPTIMIZE"),
        pytest.param([REMOVE], (), "DELTA_SOURCE_IGNORE_DELETE", id="DELETE"),
        pytest.param([REMOVE], ("ignoreDeletes",), None, id="DELETE, allowed"),
        pytest.param([REMOVE], ("skipchangecommits",), None, id="DELETE, left out; option names have no case"),
        pytest.param([REMOVE, ADD], (), "DELTA_SOURCE_TABLE_IGNORE_CHANGES", id="overwrite"),
        pytest.param(
            [REMOVE, ADD], ("ignoreDeletes",), "DELTA_SOURCE_TABLE_IGNORE_CHANGES", id="overwrite is no delete"
        ),
        pytest.param([REMOVE, ADD], ("ignoreChanges",), None, id="overwrite, allowed"),
        pytest.param([REMOVE, ADD], ("readChangeFeed",), None, id="the change feed has them all"),
        pytest.param(
            [metadata(N)], ("readChangeFeed",), None, id="changes are no more recorded, and rows come all the same"
        ),
        pytest.param([metadata(N, A)], (), None, id="a column more"),
        pytest.param([metadata(TEXT)], (), "SCHEMA", id="another type"),
        pytest.param([metadata(A)], (), "SCHEMA", id="renamed"),
        pytest.param([metadata(A)], ("schemaTrackingLocation",), None, id="the query follows the columns"),
        pytest.param(
            [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}}],
            (),
            None,
            id="a feature that every reader has",
        ),
        pytest.param(
            [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["newThing"]}}],
            (),
            "asks its readers for newThing",
            id="a feature that nobody here knows",
        ),
    ],
)
def test_a_commit_stops_a_query_or_does_not(commit, options, error):
    assert stops(commit, options=options) == ([error] if error else [])


def test_a_column_that_came_and_went_again_stops_the_query_at_its_coming():
    assert stops([metadata(N, A)], [metadata(N)]) == ["SCHEMA", "SCHEMA"]


def test_without_the_columns_before_nobody_can_tell():
    found = pending([ADD], [metadata(TEXT)])

    assert stop_of(found.notable[0], found, ()).is_doubt
