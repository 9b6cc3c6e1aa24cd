"""Queries that a job starts itself: none begins through PySpark's writers, and one that goes round them is stopped."""

import importlib
import sys
import threading
from contextlib import suppress
from types import SimpleNamespace

import pytest

from streamops.errors import JobStartsQueriesError
from streamops.spark.query_guard import QueryGuard, runner_starts
from streamops.spark.runner import load_define
from support.waiting import eventually

pytestmark = pytest.mark.spark


@pytest.fixture
def writer(spark, tmp_path):
    """Of a stream of one row a second; its checkpoint shows whether a query has begun."""
    rows = spark.readStream.format("rate").load()
    return rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))


@pytest.fixture
def guard(spark):
    with QueryGuard(spark, "job.py") as guard:
        yield guard
    for query in active(spark):
        query.stop()


def run(guard, job) -> None:
    with guard.watching():
        job()


def start_in_silence(writer) -> None:
    with suppress(JobStartsQueriesError):
        writer.start()


def active(spark):
    """Of all sessions."""
    return list(spark._jsparkSession.sharedState().activeStreamingQueries().values())


def test_a_query_that_a_job_starts_does_not_begin(guard, writer, tmp_path):
    with pytest.raises(
        JobStartsQueriesError, match=r"job\.py calls start of a query in line \d+ of .*/test_query_guard\.py"
    ):
        run(guard, writer.start)

    assert not (tmp_path / "checkpoint").exists()


def test_a_query_into_a_table_does_not_begin(guard, writer, tmp_path):
    with pytest.raises(JobStartsQueriesError, match="calls toTable of a query"):
        run(guard, lambda: writer.toTable("rates"))

    assert not (tmp_path / "checkpoint").exists()


def test_a_job_that_swallows_the_error_is_refused_all_the_same(guard, writer):
    with pytest.raises(JobStartsQueriesError, match="return the writer from `define`"):
        run(guard, lambda: start_in_silence(writer))


def test_what_the_job_started_matters_more_than_what_failed_after_it(guard, writer):
    def job() -> None:
        start_in_silence(writer)
        raise ImportError("job.py has no function define(spark, stream)")

    with pytest.raises(JobStartsQueriesError) as caught:
        run(guard, job)

    assert isinstance(caught.value.__cause__, ImportError)


def test_the_failure_of_a_job_that_starts_nothing_stays_what_it_is(guard):
    with pytest.raises(ImportError, match="no_such_package"):
        run(guard, lambda: importlib.import_module("no_such_package"))


@pytest.mark.parametrize("kind", ["the same session", "a new session"])
def test_a_query_that_goes_round_the_writers_is_stopped_and_a_script_that_waits_for_it_comes_back(
    spark, guard, tmp_path, kind
):
    session = spark if kind == "the same session" else spark.newSession()
    rows = session.readStream.format("rate").load()
    java_writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))._jwrite

    with pytest.raises(JobStartsQueriesError, match="past the writers of PySpark"):
        run(guard, lambda: java_writer.start().awaitTermination())

    assert eventually(lambda: active(spark) == [], within=30)


def test_queries_of_the_runner_are_left_alone(spark, guard, writer):
    with guard.watching():
        pass

    with runner_starts():
        query = writer.start()
    guard.refuse_strangers()

    assert query.isActive
    query.stop()


def test_a_query_that_takes_the_place_of_the_stream_s_own_is_a_stranger(spark, guard, writer):
    """On the same checkpoint it has the same id, and Spark stops the other without a word."""
    with guard.watching():
        pass
    with runner_starts():
        own = writer.start()

    other = writer._jwrite.start()

    assert str(other.id().toString()) == str(own.id)
    assert not own.isActive
    with pytest.raises(JobStartsQueriesError, match="past the writers of PySpark"):
        guard.refuse_strangers()
    assert eventually(lambda: active(spark) == [], within=30)


def test_a_thread_that_starts_a_query_later_is_noticed_at_the_next_look(guard, writer, tmp_path):
    with guard.watching():
        pass
    thread = threading.Thread(target=start_in_silence, args=(writer,))

    thread.start()
    thread.join()

    with pytest.raises(JobStartsQueriesError):
        guard.refuse_strangers()
    assert not (tmp_path / "checkpoint").exists()


def test_a_main_program_beside_define_is_no_query(spark, guard, tmp_path):
    job = tmp_path / "job.py"
    job.write_text("def define(spark, stream):\n    return 1\n\nif __name__ == '__main__':\n    define(1, 2).start()\n")

    with guard.watching():
        define = load_define(str(job))

    assert define(spark, None) == 1


def test_a_script_that_ends_its_program_is_told_and_ends_no_driver(tmp_path):
    job = tmp_path / "job.py"
    job.write_text("import sys\n\nsys.exit(0)\n")

    with pytest.raises(ImportError, match="ends its program when it is imported"):
        load_define(str(job))


def test_without_a_guard_writers_are_as_they_were(spark, guard, writer, tmp_path):
    guard.__exit__(None, None, None)

    query = writer.start()

    assert query.isActive
    query.stop()


def test_writers_of_spark_connect_are_guarded_once_a_job_has_imported_them(guard, monkeypatch):
    """Their queries run in another application, which this JVM can't see."""

    class DataStreamWriter:
        def start(self) -> None:
            pytest.fail("it started")

    def job() -> None:
        module = SimpleNamespace(DataStreamWriter=DataStreamWriter)
        monkeypatch.setitem(sys.modules, "pyspark.sql.connect.streaming.readwriter", module)
        assert eventually(lambda: hasattr(DataStreamWriter.start, "__wrapped__"), within=10)
        DataStreamWriter().start()

    with pytest.raises(JobStartsQueriesError):
        run(guard, job)
