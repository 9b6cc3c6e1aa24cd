"""Faults of the job itself: its plan, its settings, its Python, and records that it can't digest."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StringType

from streamops.failures.failure_class import FailureClass, Remedy
from streamops.spark import runner
from streamops.spark.query_guard import QueryGuard, runner_starts
from support.provoke.bench import Bench
from support.provoke.case import Family

FAMILY = Family("code")

Change = Callable[[DataFrame], DataFrame]


def _to_delta(bench: Bench, *, name: str, change: Change) -> None:
    folder = bench.place(name)
    frame = change(bench.rows())
    bench.run(frame.writeStream.format("delta").option("path", str(folder / "table")), folder / "checkpoint")


def _udf_that_raises(error: Exception) -> Any:
    def fail(value: int) -> int:
        raise error

    return f.udf(fail, LongType())


# Each as the only column, `n`, of a Delta sink.
COLUMNS: list[tuple[str, str, Callable[[], Column], FailureClass, Remedy | None]] = [
    ("division-by-zero", "ANSI arithmetic", lambda: f.expr("n div (n - n)"), FailureClass.CODE_ERROR, None),
    ("invalid-cast", "a text that is no number", lambda: f.col("k").cast("int"), FailureClass.CODE_ERROR, None),
    ("overflow", "ANSI arithmetic", lambda: f.expr("9223372036854775807 + n"), FailureClass.CODE_ERROR, None),
    ("array-index", "beyond the end", lambda: f.expr("array(1, 2)[int(n) + 7]"), FailureClass.CODE_ERROR, None),
    (
        "malformed-record",
        "from_json in FAILFAST mode",
        lambda: f.from_json("k", "a int", {"mode": "FAILFAST"}),
        FailureClass.CODE_ERROR,
        None,
    ),
    ("assert-true", "assert_true", lambda: f.expr("string(assert_true(n < 0, 'no'))"), FailureClass.CODE_ERROR, None),
    (
        "raise-error",
        "raise_error",
        lambda: f.raise_error(f.lit("no such shop")).cast("string"),
        FailureClass.CODE_ERROR,
        None,
    ),
    ("unknown-column", "a column that is not there", lambda: f.col("customer"), FailureClass.CODE_ERROR, None),
    ("type-mismatch", "a number plus a map", lambda: f.expr("n + map(1, 2)"), FailureClass.CODE_ERROR, None),
    ("unknown-function", "a function that is not there", lambda: f.expr("to_cents(n)"), FailureClass.CODE_ERROR, None),
    (
        "udf-raises",
        "ValueError in a Python UDF",
        lambda: _udf_that_raises(ValueError("bad"))("n"),
        FailureClass.CODE_ERROR,
        Remedy.RETRY_FEW,
    ),
    (
        "udf-misses-a-name",
        "NameError in a Python UDF",
        lambda: f.udf(lambda value: no_such_name, LongType())("n"),  # type: ignore[name-defined]  # noqa: F821
        FailureClass.CODE_ERROR,
        None,
    ),
    (
        "python-worker-dies",
        "the Python worker of a UDF exits",
        lambda: f.udf(lambda value: os._exit(3), StringType())("n"),
        FailureClass.TRANSIENT,
        Remedy.RETRY_FEW,
    ),
]


def _select(bench: Bench, *, name: str, column: Callable[[], Column]) -> None:
    _to_delta(bench, name=name, change=lambda rows: rows.select(column().alias("n")))


for _id, _how, _column, _class, _remedy in COLUMNS:
    FAMILY.add(_id, _how, _class, partial(_select, name=f"code-{_id}", column=_column), remedy=_remedy)


@FAMILY.provokes(FailureClass.CODE_ERROR)
def sorted_stream(bench: Bench) -> None:
    """A stream is sorted without aggregation."""
    _to_delta(bench, name="code-sorted", change=lambda rows: rows.sort("n"))


@FAMILY.provokes(FailureClass.CODE_ERROR)
def outer_join(bench: Bench) -> None:
    """Streams are joined without watermark."""
    _to_delta(
        bench, name="code-outer-join", change=lambda rows: rows.join(rows.withColumnRenamed("k", "l"), "n", "left")
    )


def _raise_in_batch(bench: Bench, *, name: str, act: Callable[[DataFrame], object]) -> None:
    bench.run_foreach(f"batch-{name}", lambda frame, batch: act(frame))


def _import_missing(frame: DataFrame) -> None:
    import no_such_module  # noqa: F401


def _fill_memory(frame: DataFrame) -> None:
    bytearray(1 << 55)


def _fail_plainly(frame: DataFrame) -> None:
    raise RuntimeError("the batch was refused")


BATCHES: list[tuple[str, str, FailureClass, Remedy | None, Callable[[DataFrame], object]]] = [
    ("missing-module", "ModuleNotFoundError in foreachBatch", FailureClass.CODE_ERROR, None, _import_missing),
    (
        "attribute",
        "AttributeError in foreachBatch",
        FailureClass.CODE_ERROR,
        None,
        lambda frame: frame.no_such_method(),
    ),
    ("key", "KeyError in foreachBatch", FailureClass.CODE_ERROR, Remedy.RETRY_FEW, lambda frame: {}["customer"]),
    ("zero", "ZeroDivisionError in foreachBatch", FailureClass.CODE_ERROR, None, lambda frame: 1 / 0),
    (
        "assertion",
        "a failed assert in foreachBatch",
        FailureClass.CODE_ERROR,
        Remedy.RETRY_FEW,
        lambda frame: _must(frame.count() > 10**6),
    ),
    ("runtime-error", "RuntimeError in foreachBatch", FailureClass.CODE_ERROR, Remedy.RETRY_FEW, _fail_plainly),
    ("memory-error", "MemoryError in foreachBatch", FailureClass.OUT_OF_MEMORY, None, _fill_memory),
    (
        "analysis",
        "an unknown column inside foreachBatch",
        FailureClass.CODE_ERROR,
        None,
        lambda frame: frame.select("customer"),
    ),
    ("recursion", "endless recursion in foreachBatch", FailureClass.CODE_ERROR, None, lambda frame: _descend(1)),
    (
        "stack-overflow",
        "an expression too deep for the JVM",
        FailureClass.CODE_ERROR,
        None,
        lambda frame: frame.select(f.expr("+".join(["n"] * 20_000))).collect(),
    ),
    (
        "result-too-large",
        "collect beyond spark.driver.maxResultSize",
        FailureClass.OUT_OF_MEMORY,
        None,
        lambda frame: frame.sparkSession.sql("select uuid() from range(3000000)").collect(),
    ),
    (
        "jdbc-without-driver",
        "no driver class for the database",
        FailureClass.CODE_ERROR,
        None,
        lambda frame: frame.write.jdbc("jdbc:postgresql://127.0.0.1:1/orders", "orders"),
    ),
    (
        "unknown-format",
        "a sink that is not on the class path",
        FailureClass.CODE_ERROR,
        None,
        lambda frame: frame.write.format("org.example.sink").save("/tmp/x/nothing"),
    ),
]


def _must(claim: bool) -> None:
    assert claim, "too few rows"


def _descend(depth: int) -> int:
    return _descend(depth + 1)


for _id, _how, _class, _remedy, _act in BATCHES:
    FAMILY.add(f"batch-{_id}", _how, _class, partial(_raise_in_batch, name=_id, act=_act), remedy=_remedy)


@FAMILY.provokes(FailureClass.CODE_ERROR)
def misspelt_source(bench: Bench) -> None:
    """A source that is not on the class path."""
    bench.spark.readStream.format("kafkaa").load()


@FAMILY.provokes(FailureClass.CODE_ERROR)
def source_without_path(bench: Bench) -> None:
    """A file source without a folder."""
    bench.spark.readStream.schema("n long").json("").writeStream.format("noop").start()


@FAMILY.provokes(FailureClass.CODE_ERROR)
def missing_input_folder(bench: Bench) -> None:
    """A file source on a folder that is not there."""
    bench.spark.readStream.schema("n long").json(str(bench.root / "no-such-folder"))


@FAMILY.provokes(FailureClass.CODE_ERROR)
def no_checkpoint(bench: Bench) -> None:
    """A query without a checkpoint's address."""
    bench.rows().writeStream.format("json").option("path", str(bench.place("no-checkpoint"))).start()


@FAMILY.provokes(FailureClass.CODE_ERROR)
def continuous_aggregation(bench: Bench) -> None:
    """Continuous processing can't aggregate."""
    rows = bench.spark.readStream.format("rate").load().groupBy("value").count()
    writer = rows.writeStream.format("noop").outputMode("complete").trigger(continuous="1 second")
    writer.option("checkpointLocation", str(bench.place("continuous"))).start().awaitTermination(30)


@FAMILY.provokes(FailureClass.CODE_ERROR)
def interval_that_is_none(bench: Bench) -> None:
    """A trigger interval that can't be read."""
    bench.rows().writeStream.format("noop").trigger(processingTime="soon").start()


@FAMILY.provokes(FailureClass.CODE_ERROR)
def job_file_missing(bench: Bench) -> None:
    """The job's file is not there."""
    runner.load_define(str(bench.root / "no_such_job.py"))


@FAMILY.provokes(FailureClass.CODE_ERROR)
def job_without_define(bench: Bench) -> None:
    """The job's file has no function `define`."""
    runner.load_define(_job(bench, "no_define", "RATE = 5\n"))


@FAMILY.provokes(FailureClass.CODE_ERROR)
def job_that_is_no_python(bench: Bench) -> None:
    """The job's file has a syntax error."""
    runner.load_define(_job(bench, "no_python", "def define(spark, stream)\n    return None\n"))


@FAMILY.provokes(FailureClass.CODE_ERROR)
def job_that_lacks_a_package(bench: Bench) -> None:
    """The job imports what is not installed."""
    runner.load_define(_job(bench, "no_package", "import no_such_package\n"))


@FAMILY.provokes(FailureClass.JOB_STARTS_QUERIES)
def script_starts_query(bench: Bench) -> None:
    """A script as it ran before: it starts its query when it is imported, and has no `define`."""
    script = "rows = SparkSession.active().readStream.format('rate').load()\nrows.writeStream.format('noop').start()\n"
    job = _job(bench, "script", f"from pyspark.sql import SparkSession\n\n{script}")
    with QueryGuard(bench.spark, job) as guard, guard.watching():
        runner.load_define(job)


@FAMILY.provokes(FailureClass.JOB_STARTS_QUERIES)
def batch_starts_query(bench: Bench) -> None:
    """The function of a batch starts a query of its own."""

    def write(frame: DataFrame, batch: int) -> None:
        frame.sparkSession.readStream.format("rate").load().writeStream.format("noop").start()

    with QueryGuard(bench.spark, "/jobs/orders.py"), runner_starts():
        bench.run_foreach("starts-a-query", write)


def _job(bench: Bench, name: str, text: str) -> str:
    file: Path = bench.place(f"job-{name}") / f"{name}.py"
    file.write_text(text)
    sys.modules.pop("streamops_job", None)
    return str(file)
