"""One Spark for the tests of this folder that need no process of their own."""

import sys
from pathlib import Path

import pytest

from streamops.supervision.bundle import driver_bundle

SPARK_SUBMIT = Path(sys.executable).parent / "spark-submit"
JARS = Path(__file__).parents[2] / ".jars" / "spark"


@pytest.fixture(scope="session")
def spark():
    """A small local session. Connections that are refused are not tried again, and time is told in UTC."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("streamops-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.hadoop.ipc.client.connect.max.retries", "0")
        .config("spark.jars", ",".join(str(jar) for jar in sorted(JARS.glob("*.jar"))))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def workers(spark, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The Python workers have the library as those of a driver have it: from the zip that travels."""
    spark.sparkContext.addPyFile(driver_bundle(f"file://{tmp_path_factory.mktemp('bundle')}").library)


@pytest.fixture(scope="session")
def spark_submit() -> str:
    """The spark-submit beside the interpreter that runs the tests."""
    return str(SPARK_SUBMIT)
