"""Writing a batch to a table of PostgreSQL once, however often it runs; rows by their key, as a Delta table takes them by MERGE.

Spark's own JDBC writer commits each partition by itself, so a batch that fails half way and runs again is there one and a
half times. Here the executors fill a staging table, and one transaction of the driver takes it over and notes the batch.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from streamops.control.assignment import JdbcOutput
from streamops.errors import SettingsError
from streamops.spark.sinks.batch import query_id, read_secret

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from streamops.spark.json_records import Check


_RANK = "_streamops_rank"


def newest(rows: "DataFrame", *, keys: Sequence[str], newest_by: Sequence[str]) -> "DataFrame":
    """One row a key: the one with the greatest values of `newest_by`, compared in order.

    A batch may hold several rows of a key, and a MERGE that finds two for one row of its table fails.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    by_key = [f.col(_backquoted(key)) for key in keys]
    of_key = Window.partitionBy(*by_key).orderBy(*(f.col(_backquoted(name)).desc() for name in newest_by))
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
    is_same = " AND ".join(f"t.{_backquoted(key)} <=> s.{_backquoted(key)}" for key in keys)
    is_newer = f" AND {_struct('s', newest_by)} > {_struct('t', newest_by)}" if newest_by else ""
    return (
        f"MERGE INTO delta.{_backquoted(table)} t USING {view} s ON {is_same}"
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
    return f"struct({', '.join(f'{of}.{_backquoted(name)}' for name in columns)})"


def _backquoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


BATCHES = "streamops_batches"
"""The table that notes the newest batch of each query and table, beside the table that is written."""
STAGING = "streamops_staging_"
"""What the names of staging tables begin with, beside the table that is written."""
_DRIVER = "org.postgresql.Driver"
_LONGEST_NAME = 63
"""Bytes, unless the server was built otherwise."""
_LOCK_LIMIT = "5s"
_LOCK_NOT_AVAILABLE = "lock timeout"
"""In the text of PostgreSQL's error 55P03."""


def upsert_once(
    rows: "DataFrame", to: JdbcOutput, number: int, *, keys: Sequence[str], newest_by: Sequence[str] = ()
) -> bool:
    """Insert the rows, and write over those whose key the table has, unless it has the batch of that number of this query.

    Whether the batch was written (True) or known (False). The note and the rows are one transaction, so a batch is there as
    a whole or not at all; the note's row is locked, so of two drivers the second waits, and finds the batch known.

    With `newest_by` a row is only written over by one that is newer. A table that is missing is made with the keys as its
    primary key; one that is there needs a primary key or a unique constraint on just these columns. What the table can't
    hold fails the batch, and each run of it anew: keys must not be null, and for values there are `is_no_text` and
    `json_records.is_before_year_1`. SettingsError where the address is not PostgreSQL's.
    """
    if not to.url.startswith("jdbc:postgresql:"):
        raise SettingsError(f"sink.jdbc.url: {to.url} is not PostgreSQL's, and upsert_once writes its ON CONFLICT")
    _refuse_cut_twins(rows.columns)
    if newest_by:
        rows = newest(rows, keys=keys, newest_by=newest_by)
    query, login = query_id(rows), _login(to)
    with _connection(rows, to, login) as connection:
        if _newest_batch(connection, to, query) >= number:
            return False
        staging = _own_staging(connection, to, query)
        options = {"url": to.url, "dbtable": _table(staging), "driver": _DRIVER, **login}
        rows.write.format("jdbc").options(**options).mode("overwrite").save()
        _execute(connection, created_like(to.table, staging, keys=keys))
        is_new = _execute(connection, noted(_beside(to, BATCHES)), query, to.table, number) == 1
        if is_new:
            _execute(connection, upsert_statement(to.table, staging, rows.columns, keys=keys, newest_by=newest_by))
        _execute(connection, f"DROP TABLE IF EXISTS {_table(staging)}")
        connection.commit()
        return is_new


def is_no_text(name: str, text: "Column") -> "Check":
    """PostgreSQL's texts hold every character but the null character, which JSON can write as an escape."""
    from pyspark.sql import functions as f

    return f.contains(text, f.lit("\0")), f"{name} has a null character, which PostgreSQL can't hold"


def created_like(table: str, staging: str, *, keys: Sequence[str]) -> str:
    """The table with the columns of the rows, where there is none."""
    primary = ", ".join(_quoted(key) for key in keys)
    return f"CREATE TABLE IF NOT EXISTS {_table(table)} (LIKE {_table(staging)}, PRIMARY KEY ({primary}))"


def noted(batches: str) -> str:
    """Takes down a query's batch in a table; no row where that batch or a newer one is down already."""
    return (
        f"INSERT INTO {_table(batches)} AS known (query, target, batch) VALUES (?, ?, ?)"
        " ON CONFLICT (query, target) DO UPDATE SET batch = excluded.batch WHERE known.batch < excluded.batch"
    )


def upsert_statement(
    table: str, staging: str, columns: Sequence[str], *, keys: Sequence[str], newest_by: Sequence[str]
) -> str:
    """From the staging table into the table, by key."""
    names = ", ".join(_quoted(name) for name in columns)
    changed = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in columns if name not in keys)
    is_newer = f" WHERE ({_order('ours', newest_by)}) < ({_order('excluded', newest_by)})" if newest_by else ""
    conflict = f"DO UPDATE SET {changed}{is_newer}" if changed else "DO NOTHING"
    by_key = ", ".join(_quoted(key) for key in keys)
    # In the order of the keys: two that write the same rows would else lock them crosswise, and one be ended as a deadlock.
    return (
        f"INSERT INTO {_table(table)} AS ours ({names}) SELECT {names} FROM {_table(staging)} ORDER BY {by_key}"
        f" ON CONFLICT ({by_key}) {conflict}"
    )


def _order(of: str, newest_by: Sequence[str]) -> str:
    """Columns that compare as `merge.merge_by_key` does: a null is older than every value."""
    columns = [f"{of}.{_quoted(name)}" for name in newest_by]
    return ", ".join(f"{column} IS NOT NULL, {column}" for column in columns)


def _newest_batch(connection: Any, to: JdbcOutput, query: str) -> int:
    """The newest batch of this query that is noted of the table; -1 where none is."""
    batches = _beside(to, BATCHES)
    _execute(
        connection,
        f"CREATE TABLE IF NOT EXISTS {_table(batches)}"
        " (query text, target text, batch bigint NOT NULL, PRIMARY KEY (query, target))",
    )
    connection.commit()
    found = _strings(connection, f"SELECT batch FROM {_table(batches)} WHERE query = ? AND target = ?", query, to.table)
    return int(found[0]) if found else -1


def _own_staging(connection: Any, to: JdbcOutput, query: str) -> str:
    """A staging table that no other run writes; those that earlier runs of the query left are dropped.

    One that a driver still fills that was taken for dead is left to the next batch: it is not ours, whatever goes into it.
    """
    prefix = f"{STAGING}{query.replace('-', '')[:12]}_"
    schema = to.table.rpartition(".")[0]
    of_schema = "schemaname = ?" if schema else "schemaname = current_schema()"
    names = "SELECT tablename FROM pg_tables WHERE starts_with(tablename, ?) AND " + of_schema
    for left in _strings(connection, names, prefix, *([_folded(schema)] if schema else [])):
        _drop_unless_held(connection, _beside(to, left))
    return _beside(to, prefix + secrets.token_hex(4))


def _drop_unless_held(connection: Any, table: str) -> None:
    _execute(connection, f"SET LOCAL lock_timeout = '{_LOCK_LIMIT}'")
    try:
        _execute(connection, f"DROP TABLE IF EXISTS {_table(table)}")
        connection.commit()
    except Exception as error:
        if _LOCK_NOT_AVAILABLE not in str(error):
            raise
        connection.rollback()


def _beside(to: JdbcOutput, name: str) -> str:
    """A table of that name in the schema of the one that is written."""
    schema, dot, _ = to.table.rpartition(".")
    return f"{schema}{dot}{name}"


def _strings(connection: Any, sql: str, *values: str) -> list[str]:
    """The first column of what a query finds, as text."""
    statement = connection.prepareStatement(sql)
    try:
        for index, value in enumerate(values, start=1):
            statement.setString(index, value)
        found, rows = statement.executeQuery(), []
        while found.next():
            rows.append(str(found.getString(1)))
        return rows
    finally:
        statement.close()


def _execute(connection: Any, sql: str, *values: str | int) -> int:
    """Rows that the statement has changed."""
    statement = connection.prepareStatement(sql)
    try:
        for index, value in enumerate(values, start=1):
            statement.setObject(index, value)
        statement.execute()
        return int(statement.getUpdateCount())
    finally:
        statement.close()


@contextmanager
def _connection(rows: "DataFrame", to: JdbcOutput, login: Mapping[str, str]) -> Iterator[Any]:
    """A connection of the driver's JVM that commits when it is told to, closed however that ends."""
    jvm = rows.sparkSession._jvm
    assert jvm is not None, "a batch runs in a driver, which has a JVM"
    # Jars of the job lie outside of what java.sql.DriverManager sees; Spark's registry hands their drivers on.
    jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(_DRIVER)
    properties = jvm.java.util.Properties()
    for name, value in login.items():
        properties.setProperty(name, value)
    connection = jvm.java.sql.DriverManager.getConnection(to.url, properties)
    try:
        connection.setAutoCommit(False)
        yield connection
    finally:
        # What is not committed is rolled back.
        connection.close()


def _login(to: JdbcOutput) -> dict[str, str]:
    if not to.user:
        return {}
    return {"user": to.user, "password": read_secret(to.password_file, "sink.jdbc.password_file")}


def _refuse_cut_twins(columns: Sequence[str]) -> None:
    """ValueError for names that are one to PostgreSQL: it cuts what is too long, and would say that a column comes twice."""
    by_name: dict[bytes, str] = {}
    for name in columns:
        cut = name.encode()[:_LONGEST_NAME].decode(errors="ignore").encode()
        if (other := by_name.setdefault(cut, name)) != name:
            raise ValueError(
                f"columns {other} and {name} are one to PostgreSQL, which cuts names at {_LONGEST_NAME} bytes: rename one"
            )


def _table(name: str) -> str:
    """The table that SQL means by a name without quotation marks, in them: so it may be a reserved word."""
    schema, _, table = _folded(name).rpartition(".")
    return f"{_quoted(schema)}.{_quoted(table)}" if schema else _quoted(table)


def _folded(name: str) -> str:
    """As PostgreSQL reads a name: of its capitals those of ASCII are made small."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
