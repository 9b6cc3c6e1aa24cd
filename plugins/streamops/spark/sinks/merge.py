"""Rows by their key: the newest of each key, and a MERGE that keeps it so in a Delta table."""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RANK = "_streamops_rank"


def newest(rows: "DataFrame", *, keys: Sequence[str], newest_by: Sequence[str]) -> "DataFrame":
    """One row a key: the one with the greatest values of `newest_by`, compared in order.

    A batch may hold several rows of a key, and a MERGE that finds two for one row of its table fails.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    by_key = [f.col(_quoted(key)) for key in keys]
    of_key = Window.partitionBy(*by_key).orderBy(*(f.col(_quoted(name)).desc() for name in newest_by))
    return rows.withColumn(_RANK, f.row_number().over(of_key)).where(f.col(_RANK) == 1).drop(_RANK)


def merge_by_key(rows: "DataFrame", table: str, *, keys: Sequence[str], newest_by: Sequence[str] = ()) -> None:
    """Put the newest row of each key into the table, where the table has none of that key that is as new.

    So a batch may run again, an old range may be read again, and late events may come: the table ends with the newest row of
    each key. That needs columns that tell which is newer; a deletion must be a row as well (a flag), since a row that is gone
    can't tell that it was newer. Without `newest_by` each key must come once a batch, and the batch's row always wins: right
    for totals that the query itself keeps. ValueError where the table has other columns than the rows.
    """
    if newest_by:
        rows = newest(rows, keys=keys, newest_by=newest_by)
    _create_if_missing(rows, table)
    _refuse_other_columns(rows, table)
    # Two merges of one batch may run at once, in threads of the job.
    view = f"_streamops_merge_{secrets.token_hex(4)}"
    rows.createOrReplaceTempView(view)
    try:
        rows.sparkSession.sql(merge_statement(table, view, keys=keys, newest_by=newest_by))
    finally:
        rows.sparkSession.catalog.dropTempView(view)


def merge_statement(table: str, view: str, *, keys: Sequence[str], newest_by: Sequence[str]) -> str:
    """The MERGE of a view into a table by its address."""
    is_same = " AND ".join(f"t.{_quoted(key)} <=> s.{_quoted(key)}" for key in keys)
    is_newer = f" AND {_struct('s', newest_by)} > {_struct('t', newest_by)}" if newest_by else ""
    return (
        f"MERGE INTO delta.{_quoted(table)} t USING {view} s ON {is_same}"
        f" WHEN MATCHED{is_newer} THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def _create_if_missing(rows: "DataFrame", table: str) -> None:
    """An empty table of these columns; what is there already is left as it is."""
    rows.limit(0).write.format("delta").mode("ignore").save(table)


def _refuse_other_columns(rows: "DataFrame", table: str) -> None:
    """`UPDATE SET *` and `INSERT *` drop columns that the table lacks without a word (Delta 4.4)."""
    has = rows.sparkSession.read.format("delta").load(table).columns
    if sorted(has) != sorted(rows.columns):
        raise ValueError(
            f"the rows have the columns {', '.join(rows.columns)}, and the table {table} has {', '.join(has)}: add to the table"
            " what it lacks (ALTER TABLE … ADD COLUMNS), or give the rows what they lack"
        )


def _struct(of: str, columns: Sequence[str]) -> str:
    return f"struct({', '.join(f'{of}.{_quoted(name)}' for name in columns)})"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
