"""Which jobs keep state, by the plans that real Spark makes of them."""

import pytest
from pyspark.sql import functions as f

from streamops.spark.backfill_run import PINNED_CONFS, pinned_confs, stateful_operators

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def rows(spark):
    return spark.readStream.format("rate").load()


def operators(frame):
    return list(stateful_operators(frame._jdf.queryExecution().analyzed()))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda rows: rows.where("value > 3").selectExpr("value + 1 as value"), id="filtered and projected"
        ),
        pytest.param(lambda rows: rows.union(rows.select("timestamp", "value")), id="the same rows twice"),
        pytest.param(lambda rows: rows.withWatermark("timestamp", "1 minute"), id="a watermark alone"),
        pytest.param(lambda rows: rows.join(table(rows), "value"), id="beside a table"),
        pytest.param(
            lambda rows: rows.join(table(rows).groupBy("value").count(), "value"), id="beside counts of a table"
        ),
    ],
)
def test_a_job_without_state(rows, make):
    assert operators(make(rows)) == []


def table(rows):
    return rows.sparkSession.range(10).withColumnRenamed("id", "value")


@pytest.mark.parametrize(
    ("make", "operator"),
    [
        pytest.param(lambda rows: rows.groupBy("value").count(), "Aggregate", id="counts"),
        pytest.param(
            lambda rows: rows.withWatermark("timestamp", "1 minute").groupBy(f.window("timestamp", "1 minute")).count(),
            "Aggregate",
            id="counts in windows",
        ),
        pytest.param(lambda rows: rows.dropDuplicates(["value"]), "Deduplicate", id="without duplicates"),
        pytest.param(
            lambda rows: rows.withWatermark("timestamp", "1 minute").dropDuplicatesWithinWatermark(["value"]),
            "DeduplicateWithinWatermark",
            id="without duplicates for a while",
        ),
        pytest.param(lambda rows: rows.distinct(), "Deduplicate", id="distinct"),
        pytest.param(lambda rows: rows.limit(5), "GlobalLimit", id="the first ones"),
        pytest.param(
            lambda rows: rows.join(rows.selectExpr("value", "timestamp as t"), "value"), "Join", id="two streams"
        ),
        pytest.param(
            lambda rows: rows.groupBy("value").applyInPandasWithState(
                lambda key, frames, state: frames, "value long", "n long", "append", "NoTimeout"
            ),
            "FlatMapGroupsInPandasWithState",
            id="a state of its own",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_a_job_with_state(rows, make, operator):
    assert operator in operators(make(rows))


def test_this_spark_pins_what_it_knows_of(spark):
    found = pinned_confs(spark)

    assert found["spark.sql.shuffle.partitions"] == "1"
    # Of 4.3.
    assert set(PINNED_CONFS) - found.keys() == {
        "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
        "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled",
    }
