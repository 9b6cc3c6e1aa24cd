"""Which confs a version of Spark is given, without Spark."""

import logging
from dataclasses import dataclass, field

import pytest

from streamops.spark.driver_process import go_round_faults

COLUMNAR = "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled"
CACHED = "spark.sql.inMemoryColumnarStorage.enableVectorizedReader"


@dataclass
class FakeConf:
    """Confs of a context, and those of a session."""

    values: dict[str, str] = field(default_factory=dict)

    def contains(self, key: str) -> bool:
        return key in self.values

    def set(self, key: str, value: str) -> None:
        self.values[key] = value


@dataclass
class FakeSession:
    """A session of some version, begun with the confs that somebody declared."""

    version: str
    declared: FakeConf = field(default_factory=FakeConf)
    conf: FakeConf = field(default_factory=FakeConf)

    @property
    def sparkContext(self) -> "FakeSession":  # noqa: N802 # Spark's name
        return self

    def getConf(self) -> FakeConf:  # noqa: N802 # Spark's name
        return self.declared


@pytest.mark.parametrize("version", ["4.2.0", "4.2.1"])
def test_a_spark_that_hangs_on_columns_gives_python_rows(version):
    spark = FakeSession(version)

    go_round_faults(spark)

    assert spark.conf.values == {COLUMNAR: "false", CACHED: "false"}


def test_another_version_is_left_alone():
    spark = FakeSession("4.1.4")

    go_round_faults(spark)

    assert spark.conf.values == {}


def test_what_was_declared_stays_and_the_log_tells_what_it_risks(caplog):
    spark = FakeSession("4.2.0", declared=FakeConf({COLUMNAR: "true"}))

    with caplog.at_level(logging.WARNING):
        go_round_faults(spark)

    assert spark.conf.values == {CACHED: "false"}
    assert f"{COLUMNAR} is declared: without false a Python UDF can hang in Spark 4.2.0" in caplog.text
