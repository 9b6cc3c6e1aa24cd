"""Where failures are made: one Spark session with Kafka and Delta, and a folder to break things in."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter

from support.provoke.sanitise import PROJECT

JARS = ",".join(str(jar) for jar in sorted((PROJECT / ".jars" / "spark").glob("*.jar")))
LIMIT_SECONDS = 120

SESSION = {
    "spark.jars": JARS,
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.maxResultSize": "32m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # pyarrow is not among the project's packages.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "100",
    "spark.hadoop.ipc.client.connect.max.retries": "0",
    "spark.hadoop.dfs.http.client.retry.policy.enabled": "false",
    "spark.hadoop.dfs.http.client.failover.max.attempts": "0",
    "spark.hadoop.dfs.http.client.retry.max.attempts": "0",
}


class Bench:
    """One session, one folder; each provocation takes a place of its own in it."""

    def __init__(
        self, spark: SparkSession, root: Path, *, bootstrap: Callable[[], str] = lambda: "127.0.0.1:1"
    ) -> None:
        self.spark = spark
        self.root = root
        self._bootstrap = bootstrap
        self._known: dict[str, Path] = {}

    @classmethod
    def start(cls, root: Path, *, bootstrap: Callable[[], str] = lambda: "127.0.0.1:1") -> "Bench":
        builder = SparkSession.builder.master("local[4]").appName("provoke")
        for name, value in SESSION.items():
            builder = builder.config(name, value)
        builder = builder.config("spark.sql.warehouse.dir", str(root / "warehouse"))
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        return cls(spark, root, bootstrap=bootstrap)

    @property
    def bootstrap(self) -> str:
        """The broker, started when first asked for."""
        return self._bootstrap()

    def place(self, name: str) -> Path:
        """A new folder."""
        folder = self.root / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def once(self, name: str, make: Callable[[Path], None]) -> Path:
        """A folder that several provocations begin with; made at the first call."""
        if name not in self._known:
            folder = self.place(name)
            make(folder)
            self._known[name] = folder
        return self._known[name]

    def copy(self, folder: Path, name: str) -> Path:
        """A copy to be damaged."""
        copy = self.root / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        return copy

    def files(
        self, folder: Path, *, options: Mapping[str, str] | None = None, schema: str = "n long, k string"
    ) -> DataFrame:
        """A stream of JSON files, one file a batch."""
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.options(**dict(options or {})).json(str(folder))

    def rows(self, count: int = 4) -> DataFrame:
        """A stream of one batch with the numbers from 0 on, as `n`, and a key."""
        folder = self.once(f"rows-{count}", lambda folder: write_rows(folder, "0", rows=count))
        return self.files(folder)

    def run(self, writer: DataStreamWriter, checkpoint: Path | str) -> None:
        """The query until its end, as the driver runs it; raises what it fails with."""
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        try:
            if not query.awaitTermination(LIMIT_SECONDS):
                raise AssertionError(f"the query still runs after {LIMIT_SECONDS} s")
        finally:
            query.stop()

    def run_foreach(self, name: str, function: Callable[[DataFrame, int], Any], frame: DataFrame | None = None) -> None:
        """One batch into a Python function."""
        rows = self.rows() if frame is None else frame
        self.run(rows.writeStream.foreachBatch(function), self.place(name) / "checkpoint")

    def setting(self, name: str, value: str) -> "Setting":
        """`with` it, a session setting holds."""
        return Setting(self.spark, name, value)


class Setting:
    """One session setting for a while."""

    def __init__(self, spark: SparkSession, name: str, value: str) -> None:
        self._spark, self._name, self._value = spark, name, value
        self._before = spark.conf.get(name, None)

    def __enter__(self) -> None:
        self._spark.conf.set(self._name, self._value)

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            self._spark.conf.unset(self._name)
        else:
            self._spark.conf.set(self._name, self._before)


def write_rows(folder: Path, name: str, *, rows: int = 2) -> None:
    """One input file."""
    text = "".join(json.dumps({"n": number, "k": f"k{number % 3}"}) + "\n" for number in range(rows))
    (folder / f"{name}.json").write_text(text)
