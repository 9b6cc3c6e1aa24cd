"""Python functions in a driver's query: their workers answer, wherever the rows come from."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from streamops.control.records import ClaimMode, Outcome
from streamops.spec import DeltaTableSource, Trigger, TriggerKind
from streamops.storage.address import local_path
from support.backfill_drivers import BackfillBench

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(400)]

# Each of the two UDFs hangs with Spark 4.2.0 as it comes (SPARK-58241); partitions that Python reads by itself do not.
# All of them are the job's own functions, so a worker must get them whole: it has no module of the job's name.
EVERY_WAY = """
from pyspark.sql import functions as f

def twice(n):
    return 2 * n

double = f.udf(twice, "long")

def doubled(rows):
    for row in rows:
        yield (twice(row.n),)

def define(spark, stream):
    table = stream.table

    def write(rows, batch):
        kept = rows.persist()
        kept.count()
        of_cached = kept.select(double("n").alias("n"))
        by_hand = kept.rdd.mapPartitions(doubled).toDF("n long")
        of_cached.union(by_hand).write.format("delta").mode("append").save(table)
        kept.unpersist()

    return stream.from_delta(spark).select(double("n").alias("n")).writeStream.foreachBatch(write)
"""


@pytest.fixture
def bench(tmp_path, spark_submit):
    """A stream that reads a Delta table, and ends with what is there."""
    write_deltalake(tmp_path / "raw", pa.table({"n": pa.array([1, 2, 3], pa.int64())}))
    source = DeltaTableSource(table=f"file://{tmp_path}/raw")
    one = BackfillBench(Path(tmp_path / "bench"), spark_submit, job=EVERY_WAY, source=source)
    one.spec = replace(one.spec, trigger=Trigger(kind=TriggerKind.AVAILABLE_NOW))
    yield one
    one.end()


def test_a_python_function_over_a_table_and_over_a_cached_batch_gives_its_rows(bench):
    trace = bench.run(mode=ClaimMode.CATCHUP)

    assert trace.exit is not None
    assert trace.exit.outcome is Outcome.FINISHED, bench.driver_log[-3000:]
    rows = DeltaTable(local_path(bench.spec.sink.table)).to_pyarrow_table()["n"].to_pylist()
    assert sorted(rows) == [4, 4, 8, 8, 12, 12]
