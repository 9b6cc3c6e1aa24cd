"""The process with Spark, seen from outside: asked, waited for, and replaced when it hangs or dies."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark

from damage.queries import Kind
from recorder.environments import python_of
from streamops_sandbox.quick_start import SPAWN_CHEAPLY, SUBMIT_OPTIONS, submit_options
from support.provoke.sanitise import PROJECT

JARS = PROJECT / ".jars" / "spark"
ANSWER = "@answer "
"""What begins the lines of the driver that are meant for us."""
START_LIMIT = 120.0
RUN_LIMIT = 60.0
"""Seconds for one start: the slowest that goes well takes a tenth of it."""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "900m",
    # All that Spark compiles doesn't fit into the cache of code of a JVM with the first compiler alone, and is thrown out and
    # compiled again.
    "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m {SPAWN_CHEAPLY}",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
    "spark.sql.adaptive.enabled": "false",
    # A batch of two rows takes longer to compile than to run.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.stats.collect": "false",
}


class HarnessError(Exception):
    """The run itself went wrong, and nothing is known of the case."""


PINNED = pyspark.__version__
"""The version that the package is tested with, and the only one whose jars are here."""


class Spark:
    """One driver at a time, started when it is first needed."""

    def __init__(self, folder: Path, version: str = PINNED, bootstrap: str = "") -> None:
        self._folder = folder
        self.version = version
        self._process: subprocess.Popen[str] | None = None
        self._jvm = 0
        self.bootstrap = bootstrap
        self.restarts = -1

    @property
    def has_jars(self) -> bool:
        """Whether it reads and writes Delta tables and Kafka."""
        return self.version == PINNED

    def run(self, kind: Kind, folder: Path, limit: float = RUN_LIMIT) -> dict[str, Any]:
        """A start of the query in this folder."""
        return self._ask("run", kind, folder, limit)

    def rows(self, kind: Kind, folder: Path) -> dict[str, Any]:
        """What readers of its sink see."""
        return self._ask("read", kind, folder, RUN_LIMIT)

    def stop(self) -> None:
        """Both processes are gone afterwards."""
        if self._process is None:
            return
        for pid in (self._process.pid, self._jvm):
            if pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._process.wait(30)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process = None

    def _ask(self, do: str, kind: Kind, folder: Path, limit: float) -> dict[str, Any]:
        if self._process is None:
            self._start()
        task = {
            "folder": str(folder),
            "source": kind.source,
            "shape": kind.shape,
            "sink": kind.sink,
            "confs": kind.confs,
            "options": kind.options,
            "bootstrap": self.bootstrap,
            "limit": limit,
        }
        try:
            assert self._process is not None
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"do": do, "task": task}) + "\n")
            self._process.stdin.flush()
            answer = self._answer(limit + 20)
        except (OSError, HarnessError) as error:
            self.stop()
            raise HarnessError(f"{do}: {error}") from error
        if answer.get("hung"):
            self.stop()
        return answer

    def _start(self) -> None:
        self.restarts += 1
        self._folder.mkdir(parents=True, exist_ok=True)
        session = dict(SETTINGS)
        if self.has_jars:
            session |= {**DELTA, "spark.jars": ",".join(str(jar) for jar in sorted(JARS.glob("*.jar")))}
        session["spark.sql.warehouse.dir"] = str(self._folder / "warehouse")
        python = sys.executable if self.version == PINNED else str(python_of(self.version))
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}
        if self.version == PINNED:
            environment[SUBMIT_OPTIONS] = submit_options(PROJECT, os.environ)
        environment.pop("SPARK_HOME", None)
        with (self._folder / "spark.log").open("a") as log:
            self._process = subprocess.Popen(
                [python, "-m", "damage.driver", json.dumps(session)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment | {"PYTHONPATH": f"{PROJECT / 'tests'}:{PROJECT / 'plugins'}"},
                cwd=self._folder,
                text=True,
            )
        self._jvm = int(self._answer(START_LIMIT)["jvm"])

    def _answer(self, limit: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        until = time.monotonic() + limit
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._process.stdout], [], [], left)[0]:
                break
            line = self._process.stdout.readline()
            if not line:
                raise HarnessError(f"the driver is gone, see {self._folder / 'spark.log'}")
            if line.startswith(ANSWER):
                answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                return answer
        raise HarnessError(f"no answer within {limit:.0f} seconds")
