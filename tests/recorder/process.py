"""One process of Spark that runs a plan, and how it comes to its end."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorder.environments import PROJECT, python_of

SCRIPT = Path(__file__).parent / "scripts" / "record_queries.py"
LIMIT_SECONDS = 1500
LOOK_SECONDS = 0.2

# RocksDB writes the name of the host into its files. A UTS namespace gives the process another one, for root at least;
# without root a user namespace does.
_UNNAMED = ("unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--uts", "sh", "-c")
_RENAMED = 'hostname localhost && exec "$@"'

SESSION = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
}
DELTA_AND_KAFKA = {
    "spark.jars": ",".join(str(jar) for jar in sorted((PROJECT / ".jars" / "spark").glob("*.jar"))),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkProcess:
    """Spark of one version, with a folder for what the process leaves behind."""

    version: str
    work: Path
    has_jars: bool
    """Whether the jars of Kafka and Delta fit."""

    def run(
        self,
        tasks: list[dict[str, Any]],
        *,
        at_once: int = 1,
        kill_when: Callable[[list[dict[str, Any]]], bool] | None = None,
    ) -> list[dict[str, Any]]:
        """The report of these tasks; with `kill_when` until that holds of it, then SIGKILL ends it all."""
        self.work.mkdir(parents=True, exist_ok=True)
        plan, report, log = self.work / "plan.json", self.work / "report.jsonl", self.work / "log"
        plan.write_text(json.dumps({"session": self._session(at_once), "at_once": at_once, "tasks": tasks}))
        report.unlink(missing_ok=True)
        command = [*_UNNAMED, _RENAMED, "sh", str(python_of(self.version)), str(SCRIPT), str(plan), str(report)]
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=self.work, stdout=out, stderr=out, env=self._environment(), start_new_session=True
            )
        try:
            _watch(process, lambda: kill_when is not None and kill_when(_lines(report)))
        finally:
            _end(process)
        if kill_when is None and process.returncode != 0:
            raise RuntimeError(f"Spark {self.version} ended with {process.returncode}:\n{log.read_text()[-3000:]}")
        return _lines(report)

    def _session(self, at_once: int) -> dict[str, str]:
        # Two threads for each query: one that rests keeps its thread.
        own = {
            "spark.master": f"local[{2 * at_once}]",
            "spark.local.dir": str(self.work / "local"),
            "spark.sql.warehouse.dir": str(self.work / "warehouse"),
        }
        return SESSION | own | (DELTA_AND_KAFKA if self.has_jars else {})

    def _environment(self) -> dict[str, str]:
        """Nothing of the project's own PySpark, and no name of the machine."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "JAVA_HOME", "LANG")}
        python = str(python_of(self.version))
        names = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost", "SPARK_USER": "streamops"}
        # Workers of Python look for the scripts' modules as well.
        paths = {"PYTHONPATH": str(SCRIPT.parent), "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
        return kept | names | paths


def _lines(report: Path) -> list[dict[str, Any]]:
    """The report so far; a last line that is not whole yet is left out."""
    if not report.exists():
        return []
    return [json.loads(line) for line in report.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _watch(process: subprocess.Popen[bytes], is_time: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while process.poll() is None and not is_time():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Spark still runs after {LIMIT_SECONDS} s")
        time.sleep(LOOK_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Python and the JVM at once: both belong to the group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
