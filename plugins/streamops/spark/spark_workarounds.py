"""Faults of a Spark version that hang a driver, and the confs that go round them."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_ROWS_TO_PYTHON = {
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
    # A cached frame gives its columns to a function whatever the conf above says; read as rows it does not.
    "spark.sql.inMemoryColumnarStorage.enableVectorizedReader": "false",
}

WORKAROUNDS: Mapping[str, Mapping[str, str]] = {"4.2.0": _ROWS_TO_PYTHON, "4.2.1": _ROWS_TO_PYTHON}
"""Confs by the version that needs them.

4.2.0 and 4.2.1: a Python UDF over columns (a Parquet file, a Delta table, a cached frame) waits for ever. The JVM writes the
schema where the worker reads the number of functions, so each waits for the other's bytes (SPARK-58241, mended on the branch
behind 4.2.1; seen with both, and no more with 4.3.0). As rows they come in the same Arrow batches, with the same results.
"""


def go_round_faults(spark: "SparkSession") -> None:
    """Set the confs that this version of Spark needs; one that was declared stays, and the log tells what it risks.

    They hold for this session and those cloned from it, as queries and `foreachBatch` are; not for one that a job makes by
    `newSession()`.
    """
    declared = spark.sparkContext.getConf()
    for key, value in WORKAROUNDS.get(spark.version, {}).items():
        if declared.contains(key):
            log.warning("%s is declared: without %s a Python UDF can hang in Spark %s", key, value, spark.version)
        else:
            spark.conf.set(key, value)
