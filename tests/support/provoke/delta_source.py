"""Delta as source: rows that were rewritten, log and data files that are gone, tables that were replaced or changed."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.bench import Bench
from support.provoke.case import Family, preparing
from support.provoke.delta import a_table, forget_tables, log_entry, run_sql

FAMILY = Family("delta")

# As a source: one batch is read, then something happens to the table, then the query starts again.

HAPPENINGS: list[tuple[str, str, FailureClass, Remedy | None, Callable[[Bench, Path], object]]] = [
    (
        "deleted-rows",
        "rows were deleted",
        FailureClass.DATA_LOSS,
        None,
        lambda bench, table: run_sql(bench, table, "delete from TABLE_HERE"),
    ),
    (
        "updated-rows",
        "rows were updated",
        FailureClass.DATA_LOSS,
        None,
        lambda bench, table: run_sql(bench, table, "update TABLE_HERE set k = 'x' where n = 1"),
    ),
    (
        "log-cut-off",
        "the log entries that come next were removed",
        FailureClass.DATA_LOSS,
        None,
        lambda bench, table: _cut_log(bench, table),
    ),
    (
        "replaced",
        "the table was deleted and made anew",
        FailureClass.DATA_LOSS,
        None,
        lambda bench, table: _replace(bench, table),
    ),
    (
        "files-gone",
        "data files were removed, as by VACUUM",
        FailureClass.DATA_LOSS,
        None,
        lambda bench, table: _lose_files(bench, table),
    ),
    (
        # The text is that of an address that was never a table.
        "table-gone",
        "the table is not there any more",
        FailureClass.CODE_ERROR,
        None,
        lambda bench, table: _lose_table(bench, table),
    ),
]


def _add_rows(bench: Bench, table: Path) -> None:
    bench.spark.range(2).selectExpr("id as n", "'k' as k").write.format("delta").mode("append").save(str(table))


def _cut_log(bench: Bench, table: Path) -> None:
    for _ in range(3):
        _add_rows(bench, table)
    bench.spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(bench.spark._jsparkSession, str(table)).checkpoint()
    for version in range(3):
        log_entry(table, version).unlink()


def _replace(bench: Bench, table: Path) -> None:
    shutil.rmtree(table)
    forget_tables(bench)
    bench.spark.range(3).selectExpr("id as n", "'k' as k").write.format("delta").save(str(table))


def _lose_files(bench: Bench, table: Path) -> None:
    before = set(table.glob("*.parquet"))
    _add_rows(bench, table)
    for file in set(table.glob("*.parquet")) - before:
        file.unlink()


def _lose_table(bench: Bench, table: Path) -> None:
    shutil.rmtree(table)


def _source(bench: Bench, *, name: str, happen: Callable[[Bench, Path], object]) -> None:
    table = a_table(bench, f"delta-source-{name}")

    def read() -> None:
        rows = bench.spark.readStream.format("delta").load(str(table))
        bench.run(rows.writeStream.format("noop"), table.parent / "checkpoint")

    with preparing():
        read()
        happen(bench, table)
        forget_tables(bench)
    read()


for _id, _how, _class, _remedy, _happen in HAPPENINGS:
    FAMILY.add(f"source-{_id}", _how, _class, partial(_source, name=_id, happen=_happen), remedy=_remedy)


@FAMILY.provokes(FailureClass.SCHEMA_CHANGE, remedy=Remedy.RETRY_FEW, has_progressed=True)
def source_changed_while_it_runs(bench: Bench) -> None:
    """A column is added to the source's table between two batches of a running query."""
    table = a_table(bench, "delta-source-live")
    rows = bench.spark.readStream.format("delta").load(str(table))
    query = rows.writeStream.format("noop").option("checkpointLocation", str(table.parent / "checkpoint")).start()
    query.processAllAvailable()
    run_sql(bench, table, "alter table TABLE_HERE add columns (shop string)")
    bench.spark.range(1).selectExpr("id as n", "'k' as k", "'s' as shop").write.format("delta").mode("append").save(
        str(table)
    )
    query.awaitTermination(60)


@FAMILY.provokes(FailureClass.SCHEMA_CHANGE)
def source_column_renamed(bench: Bench) -> None:
    """A column of the source's table was renamed, with column mapping."""
    mapping = {"columnMapping.mode": "name", "minReaderVersion": "2", "minWriterVersion": "5"}
    table = a_table(bench, "delta-source-renamed", **mapping)

    def read() -> None:
        rows = bench.spark.readStream.format("delta").load(str(table))
        bench.run(rows.writeStream.format("noop"), table.parent / "checkpoint")

    read()
    run_sql(bench, table, "alter table TABLE_HERE rename column k to key")
    read()


@FAMILY.provokes(FailureClass.CODE_ERROR)
def source_not_there(bench: Bench) -> None:
    """The source's address was never a table."""
    bench.spark.readStream.format("delta").load(str(bench.place("delta-nothing")))


@FAMILY.provokes(FailureClass.CODE_ERROR)
def source_from_a_version_to_come(bench: Bench) -> None:
    """startingVersion names a version that the table has not reached."""
    table = a_table(bench, "delta-version")
    rows = bench.spark.readStream.format("delta").option("startingVersion", 40).load(str(table))
    bench.run(rows.writeStream.format("noop"), table.parent / "checkpoint")
