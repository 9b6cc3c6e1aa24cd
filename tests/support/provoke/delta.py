"""Delta as sink: columns, records that are refused, conflicts with other writers."""

import json
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StringType

from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.bench import Bench
from support.provoke.case import Family

FAMILY = Family("delta")


def a_table(bench: Bench, name: str, *, sql: str = "select n, k", rows: int = 4, **properties: str) -> Path:
    """A table of numbers and keys."""
    table = bench.place(name) / "table"
    source = bench.spark.range(rows).selectExpr("id as n", "concat('k', id % 3) as k")
    source.createOrReplaceTempView("provoke_rows")
    # One file, one task: the tasks that wait for another commit must leave a core for it.
    frame = bench.spark.sql(f"{sql} from provoke_rows").coalesce(1)
    frame.write.format("delta").options(**{f"delta.{key}": value for key, value in properties.items()}).save(str(table))
    return table


def run_sql(bench: Bench, table: Path, statement: str) -> None:
    bench.spark.sql(statement.replace("TABLE_HERE", f"delta.`{table}`"))


def _append(bench: Bench, table: Path, frame: DataFrame, *, name: str = "checkpoint") -> None:
    bench.run(frame.writeStream.format("delta").option("path", str(table)), table.parent / name)


Change = Callable[[DataFrame], DataFrame]

WRITES: list[tuple[str, str, FailureClass, Remedy | None, str, Change]] = [
    (
        "extra-column",
        "a column that the table does not have",
        FailureClass.SCHEMA_CHANGE,
        None,
        "",
        lambda rows: rows.withColumn("shop", f.lit("a")),
    ),
    (
        # Delta casts what it gets to the table's type: the text tells of a record, not of a column.
        "other-type",
        "a text where the table has a number",
        FailureClass.CODE_ERROR,
        None,
        "",
        lambda rows: rows.select(f.col("k").alias("n")),
    ),
    (
        "constraint",
        "a row that a CHECK constraint forbids",
        FailureClass.CODE_ERROR,
        None,
        "alter table TABLE_HERE add constraint small check (n < 100)",
        lambda rows: rows.select((f.col("n") + 1000).alias("n"), "k"),
    ),
    (
        "not-null",
        "a null in a column that takes none",
        FailureClass.CODE_ERROR,
        None,
        "alter table TABLE_HERE alter column n set not null",
        lambda rows: rows.select(f.lit(None).cast("long").alias("n"), "k"),
    ),
]


def _write(bench: Bench, *, name: str, sql: str, change: Change) -> None:
    table = a_table(bench, f"delta-{name}")
    if sql:
        run_sql(bench, table, sql)
    _append(bench, table, change(bench.rows()))


for _id, _how, _class, _remedy, _statement, _change in WRITES:
    FAMILY.add(f"sink-{_id}", _how, _class, partial(_write, name=_id, sql=_statement, change=_change), remedy=_remedy)


@FAMILY.provokes(FailureClass.CODE_ERROR)
def sink_partitioned_otherwise(bench: Bench) -> None:
    """The query partitions by another column than the table."""
    table = a_table(bench, "delta-partitions")
    writer = bench.rows().writeStream.format("delta").partitionBy("k").option("path", str(table))
    bench.run(writer, table.parent / "checkpoint")


@FAMILY.provokes(FailureClass.CODE_ERROR)
def sink_of_a_newer_protocol(bench: Bench) -> None:
    """The table asks for features that this Delta does not know."""
    table = a_table(bench, "delta-protocol")
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["warp"], "writerFeatures": ["warp"]}
    (table / "_delta_log" / f"{1:020}.json").write_text(json.dumps({"protocol": protocol}) + "\n")
    _append(bench, table, bench.rows())


@FAMILY.provokes(FailureClass.CODE_ERROR)
def sink_that_is_parquet(bench: Bench) -> None:
    """The sink's address holds a folder of Parquet files."""
    table = bench.place("delta-parquet") / "table"
    bench.spark.range(3).write.parquet(str(table))
    bench.spark.read.format("delta").load(str(table))


@FAMILY.provokes(FailureClass.DATA_LOSS, has_progressed=True)
def sink_log_gone(bench: Bench) -> None:
    """A log file of the sink's table, needed to read it, was removed."""
    table = a_table(bench, "delta-sink-log")
    for _ in range(2):
        bench.spark.range(2).selectExpr("id as n", "'k' as k").write.format("delta").mode("append").save(str(table))
    log_entry(table, 1).unlink()
    forget_tables(bench)
    _append(bench, table, bench.rows())


def log_entry(table: Path, version: int) -> Path:
    return table / "_delta_log" / f"{version:020}.json"


def forget_tables(bench: Bench) -> None:
    bench.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


# Conflicts: a merge whose function waits while somebody else commits.

CONFLICTS: list[tuple[str, str, FailureClass, Remedy | None, str]] = [
    (
        "append",
        "rows are added while an update reads the table",
        FailureClass.CONCURRENT_WRITER,
        Remedy.BACK_OFF,
        "insert into TABLE_HERE values (99, 'k')",
    ),
    (
        "delete",
        "the rows of an update are deleted meanwhile",
        FailureClass.CONCURRENT_WRITER,
        Remedy.BACK_OFF,
        "delete from TABLE_HERE where n = 1",
    ),
    (
        "metadata",
        "a column is added meanwhile",
        FailureClass.CONCURRENT_WRITER,
        Remedy.BACK_OFF,
        "alter table TABLE_HERE add columns (shop string)",
    ),
]


def _conflict(bench: Bench, *, name: str, statement: str) -> None:
    table = a_table(bench, f"delta-conflict-{name}")
    folder = table.parent
    waits = _wait_for_the_other(str(folder / "begun"), str(folder / "go"))

    def act() -> None:
        _until(folder / "begun")
        try:
            run_sql(bench, table, statement)
        finally:
            (folder / "go").touch()

    def write(frame: DataFrame, batch: int) -> None:
        from delta.tables import DeltaTable

        target = DeltaTable.forPath(frame.sparkSession, str(table))
        target.update(condition=f.col("n") >= 0, set={"k": waits("k")})

    other = threading.Thread(target=act)
    other.start()
    try:
        bench.run(bench.rows().writeStream.foreachBatch(write), folder / "checkpoint")
    finally:
        (folder / "begun").touch()
        other.join()


def _wait_for_the_other(begun: str, go: str) -> Callable[..., object]:
    def wait(value: str) -> str:
        Path(begun).touch()
        deadline = time.monotonic() + 60
        while not Path(go).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        return value + "!"

    return f.udf(wait, StringType())


def _until(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)


for _id, _how, _class, _remedy, _statement in CONFLICTS:
    FAMILY.add(f"conflict-{_id}", _how, _class, partial(_conflict, name=_id, statement=_statement), remedy=_remedy)


@FAMILY.provokes(FailureClass.CONCURRENT_WRITER)
def conflict_of_one_query_with_itself(bench: Bench) -> None:
    """Two writes with the same application id at the same time: two runs of one query."""
    table = a_table(bench, "delta-conflict-txn")
    folder = table.parent
    waits = _wait_for_the_other(str(folder / "begun"), str(folder / "go"))

    def save(frame: DataFrame, version: int) -> None:
        writer = frame.write.format("delta").mode("append").option("txnAppId", "orders").option("txnVersion", version)
        writer.save(str(table))

    def act() -> None:
        _until(folder / "begun")
        save(bench.spark.range(1).selectExpr("id as n", "'k' as k"), 8)
        (folder / "go").touch()

    other = threading.Thread(target=act)
    other.start()
    bench.run_foreach("delta-txn", lambda frame, batch: save(frame.withColumn("k", waits("k")), 7))
    other.join()
