"""The pieces for `foreachBatch`, each with a batch that runs again after its write and before its commit."""

from pathlib import Path

import pytest

from streamops.control.assignment import FilesOutput, Outputs
from streamops.spark import StreamContext
from streamops.spark.sinks.append import append_once
from streamops.spark.sinks.batch import cached, query_id
from streamops.spark.sinks.files import replace_batch
from streamops.spark.sinks.postgres import merge_by_key, newest
from support.assignments import an_assignment
from support.replayed import ReplayedQuery

pytestmark = pytest.mark.spark

VERSIONED = "key STRING, value INT, version INT, is_deleted BOOLEAN"


@pytest.fixture
def query(spark, tmp_path: Path) -> ReplayedQuery:
    return ReplayedQuery(spark, tmp_path, "n INT")


@pytest.fixture
def versions(spark, tmp_path: Path) -> ReplayedQuery:
    return ReplayedQuery(spark, tmp_path, VERSIONED)


def a_version(key: str, value: int, version: int, *, is_deleted: bool = False) -> dict[str, object]:
    return {"key": key, "value": value, "version": version, "is_deleted": is_deleted}


def test_a_batch_that_runs_again_is_appended_once(query: ReplayedQuery) -> None:
    runs: list[int] = []

    def write(batch, number) -> None:
        runs.append(number)
        append_once(batch, query.table(), number)

    query.feed({"n": 1}, {"n": 2})
    query.feed({"n": 3})
    query.run(write)
    query.forget_last_commit()
    query.run(write)

    assert runs == [0, 1, 1]
    assert query.rows() == [(1,), (2,), (3,)]


def test_two_writes_of_one_batch_to_one_table_need_a_name(query: ReplayedQuery) -> None:
    def nameless(batch, number) -> None:
        append_once(batch, query.table("nameless"), number)
        append_once(batch.selectExpr("n + 100 AS n"), query.table("nameless"), number)

    def named(batch, number) -> None:
        nameless(batch, number)
        append_once(batch, query.table("named"), number, name="first")
        append_once(batch.selectExpr("n + 100 AS n"), query.table("named"), number, name="second")

    query.feed({"n": 1})
    query.run(named)

    assert query.rows("nameless") == [(1,)]
    assert query.rows("named") == [(1,), (101,)]


def test_the_query_id_is_that_of_the_checkpoint(query: ReplayedQuery) -> None:
    seen: set[str] = set()

    def write(batch, number) -> None:
        seen.add(query_id(batch))

    query.feed({"n": 1})
    query.run(write)
    query.feed({"n": 2})
    query.run(write)

    metadata = (query.root / "checkpoint" / "metadata").read_text()
    assert len(seen) == 1
    assert seen.pop() in metadata


def test_outside_of_a_batch_there_is_no_query(spark) -> None:
    with pytest.raises(RuntimeError, match="foreachBatch"):
        query_id(spark.range(1))


def test_spark_s_own_file_sink_writes_a_batch_that_runs_again_once(query: ReplayedQuery) -> None:
    to = FilesOutput(path=query.table("out"), format="json")
    context = StreamContext(an_assignment(outputs=Outputs(files=to)))

    def run() -> None:
        rows = query.spark.readStream.schema(query.schema).json(f"file://{query.root}/in")
        writer = context.to_files(rows).option("checkpointLocation", f"file://{query.root}/checkpoint")
        writer.trigger(availableNow=True).start().awaitTermination()

    query.feed({"n": 1}, {"n": 2})
    run()
    query.forget_last_commit()
    run()

    assert sorted(row.n for row in query.spark.read.json(to.path).collect()) == [1, 2]


def test_a_cached_batch_is_released_even_where_its_write_fails(spark) -> None:
    rows = spark.range(3)
    was_cached: list[bool] = []

    def fail() -> None:
        with cached(rows) as kept:
            was_cached.append(kept.is_cached)
            raise ValueError("the sink is away")

    with pytest.raises(ValueError, match="away"):
        fail()

    assert was_cached == [True]
    assert not rows.is_cached


def test_the_newest_row_of_each_key_wins_inside_a_batch(spark) -> None:
    rows = spark.createDataFrame(
        [("a", 1, 1, False), ("a", 2, 3, False), ("a", 3, 2, False), ("b", 9, 1, True)], VERSIONED
    )

    found = newest(rows, keys=["key"], newest_by=["version"])

    assert sorted(tuple(row) for row in found.collect()) == [("a", 2, 3, False), ("b", 9, 1, True)]
    assert found.columns == ["key", "value", "version", "is_deleted"]


def merged(versions: ReplayedQuery):
    def write(batch, number) -> None:
        merge_by_key(batch, versions.table(), keys=["key"], newest_by=["version"])

    return write


def test_a_merge_ends_with_the_newest_row_of_each_key(versions: ReplayedQuery) -> None:
    versions.feed(a_version("a", 1, 1), a_version("b", 1, 1), a_version("b", 2, 2))
    versions.feed(a_version("a", 5, 5), a_version("b", 0, 3, is_deleted=True), a_version("c", 1, 1))
    versions.run(merged(versions))

    assert versions.rows() == [("a", 5, 5, False), ("b", 0, 3, True), ("c", 1, 1, False)]


def test_an_older_row_changes_nothing_and_raises_no_deleted_one(versions: ReplayedQuery) -> None:
    """As from a batch that runs again, a backfill, or an event that comes late."""
    versions.feed(a_version("a", 5, 5), a_version("b", 0, 3, is_deleted=True))
    versions.feed(a_version("a", 1, 1), a_version("b", 2, 2))
    versions.run(merged(versions))
    versions.forget_last_commit()
    versions.run(merged(versions))

    assert versions.rows() == [("a", 5, 5, False), ("b", 0, 3, True)]


def test_a_merge_that_is_repeated_writes_nothing_new(versions: ReplayedQuery) -> None:
    versions.feed(a_version("a", 1, 1))
    versions.run(merged(versions))
    versions.forget_last_commit()
    versions.run(merged(versions))

    assert versions.rows() == [("a", 1, 1, False)]


def test_without_an_order_the_row_of_the_batch_wins(versions: ReplayedQuery) -> None:
    versions.feed(a_version("a", 7, 7))
    versions.feed(a_version("a", 1, 1))
    versions.run(lambda batch, number: merge_by_key(batch, versions.table(), keys=["key"]))

    assert versions.rows() == [("a", 1, 1, False)]


def test_a_key_that_is_null_is_a_key_as_well(versions: ReplayedQuery) -> None:
    versions.feed({"key": None, "value": 1, "version": 1, "is_deleted": False})
    versions.feed({"key": None, "value": 2, "version": 2, "is_deleted": False})
    versions.run(merged(versions))

    assert versions.rows() == [(None, 2, 2, False)]


def test_the_files_of_a_batch_that_runs_again_replace_those_that_it_left(query: ReplayedQuery) -> None:
    to = FilesOutput(path=query.table("out"), format="json")

    def write(batch, number) -> None:
        replace_batch(batch, to, number)

    query.feed({"n": 1}, {"n": 2})
    query.feed({"n": 3})
    query.run(write)
    query.forget_last_commit()
    query.run(write)

    assert sorted((row.n, row.batch) for row in query.spark.read.json(to.path).collect()) == [(1, 0), (2, 0), (3, 1)]


def test_rows_with_a_column_that_the_table_lacks_are_refused_and_not_cut(versions: ReplayedQuery) -> None:
    versions.feed(a_version("a", 1, 1))
    versions.run(merged(versions))
    versions.feed(a_version("a", 2, 2))
    before = temporary_views(versions.spark)

    def more(batch, number) -> None:
        merge_by_key(batch.selectExpr("*", "1 AS extra"), versions.table(), keys=["key"], newest_by=["version"])

    with pytest.raises(Exception, match="has key, value, version, is_deleted: add to the table"):
        versions.run(more)

    assert versions.rows() == [("a", 1, 1, False)]
    assert temporary_views(versions.spark) == before


def temporary_views(spark) -> set[str]:
    """Other tests of the session may have left some."""
    return {view.name for view in spark.catalog.listTables() if view.isTemporary}


def test_files_whose_rows_have_the_columns_of_their_folders_are_refused(spark) -> None:
    with pytest.raises(ValueError, match="the rows have batch"):
        replace_batch(spark.range(1).selectExpr("id AS Batch"), FilesOutput(path="file:///nowhere", format="json"), 0)
