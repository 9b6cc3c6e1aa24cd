"""The functions of a job on batch frames: its module, and Kafka records with given values."""

import importlib.util
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOBS = Path(__file__).parents[2] / "jobs"
COLUMNS = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
ARRIVED = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)


def load_job(name: str) -> ModuleType:
    """The module of a job, as the runner loads it."""
    spec = importlib.util.spec_from_file_location(name, JOBS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kafka_records(spark: "SparkSession", topic: str, values: Iterable[bytes | None]) -> "DataFrame":
    """Records with these values and no key, one after the other in partition 0, all arrived at `ARRIVED`."""
    rows = [(None, value, topic, 0, offset, ARRIVED) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, COLUMNS)
