"""Records what queries without batches leave behind: `python -m recorder.low_latency`, from `tests/`.

On the Spark of this project only, with a broker of its own. A query that runs continuously tells of no progress, so that these
recordings have no `expected.json`; the test beside them says what is expected.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from support.cluster import Cluster, a_cluster

PROJECT = Path(__file__).parents[2]
RECORDINGS = PROJECT / "tests" / "data" / "low_latency"
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "continuous": ("append", {"continuous": "1 second"}),
    "real-time": ("update", {"realTime": "5 seconds"}),
}
"""Output mode and trigger."""
COMMITS = 3


def main() -> int:
    """Each query until it has committed three times; then its checkpoint replaces the old recording."""
    with tempfile.TemporaryDirectory() as folder, a_cluster(Path(folder)) as cluster:
        for topic in ("in", "out"):
            cluster.create(topic, partitions=2)
        for kind, (mode, trigger) in KINDS.items():
            checkpoint = Path(folder) / kind
            _run(_session(), cluster, checkpoint, mode=mode, trigger=trigger)
            shutil.rmtree(RECORDINGS / kind, ignore_errors=True)
            shutil.copytree(checkpoint, RECORDINGS / kind / "checkpoint")
    return 0


def _run(spark: Any, cluster: Cluster, checkpoint: Path, *, mode: str, trigger: dict[str, str]) -> None:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", cluster.bootstrap)
    rows = reader.option("subscribe", "in").option("startingOffsets", "earliest").load().select("key", "value")
    writer = (
        rows.writeStream.format("kafka").option("kafka.bootstrap.servers", cluster.bootstrap).option("topic", "out")
    )
    query = writer.outputMode(mode).option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()
    while query.isActive and len(list((checkpoint / "commits").glob("[0-9]*"))) < COMMITS:
        cluster.produce("in", 1)
        time.sleep(0.5)
    query.stop()


def _session() -> Any:
    from pyspark.sql import SparkSession

    jars = ",".join(str(jar) for jar in sorted((PROJECT / ".jars" / "spark").glob("*.jar")))
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jars).config("spark.ui.enabled", "false")
    return builder.getOrCreate()


if __name__ == "__main__":
    sys.exit(main())
