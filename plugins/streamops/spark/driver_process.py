"""The driver as a process: its job file, its log, its stop signal, and workarounds for faults of Spark that hang it.

A driver is two processes: the JVM of spark-submit, which a launcher, a container or a service manager knows by its pid,
and the job's Python. By itself the JVM would run its shutdown hooks on SIGTERM and end in the middle of a batch without
an exit record (seen with 4.2.0); here it only passes the wish on.
"""

import hashlib
import logging
import os
import shutil
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamops.control.assignment import Assignment
from streamops.errors import JobChangedError

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


DEFAULT_CAP = 20 * 1024 * 1024
"""Bytes before the log is moved to `<log>.1`; so at most twice that is kept."""


class CappedLog:
    """Copies the log aside and empties it when it has grown past the cap.

    JVM and Python both append to the same open file (O_APPEND, opened by the launcher), so emptying it in place works
    for both where renaming would not; lines written between copy and truncation are lost.
    """

    def __init__(self, path: str, *, cap: int = DEFAULT_CAP) -> None:
        self._path = path
        self._cap = cap

    def cap(self) -> None:
        """Do it now if it is due. Trouble with the log never troubles the stream."""
        if not self._path:
            return
        with suppress(OSError):
            if os.path.getsize(self._path) > self._cap:
                shutil.copyfile(self._path, self._path + ".1")
                shutil.copymode(self._path, self._path + ".1")
                os.truncate(self._path, 0)


def refuse_changed_job(assignment: Assignment) -> None:
    """JobChangedError where the file has another hash than the claim; OSError where it can't be read.

    The file itself is compared, and nothing that it imports: modules beside it are the deployment's own business.
    """
    found = hashlib.sha256(Path(assignment.job).read_bytes()).hexdigest()
    if found != assignment.job_sha256:
        raise JobChangedError(
            f"[{JobChangedError.ERROR_CLASS}] {assignment.job} has changed since epoch {assignment.epoch} was claimed for it:"
            f" the claim says sha256 {assignment.job_sha256 or 'nothing'}, the file has {found}."
            " Nothing was run; the next claim takes the file as it is then"
        )


class StopSignal:
    """Whether anybody has sent SIGTERM."""

    def __init__(self) -> None:
        self._came = threading.Event()

    @property
    def has_come(self) -> bool:
        """Whether the driver is to stop."""
        return self._came.is_set()

    def listen(self) -> None:
        """From now on for this process; to be called from the main thread, before the session is made."""
        signal.signal(signal.SIGTERM, lambda *_: self._came.set())

    def listen_in_jvm(self, spark: "SparkSession") -> None:
        """From now on for the JVM as well. Where that can't be had, only a SIGTERM to Python is graceful."""
        from pyspark.java_gateway import ensure_callback_server_started

        gateway: Any = spark.sparkContext._gateway
        try:
            ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
            gateway.jvm.sun.misc.Signal.handle(gateway.jvm.sun.misc.Signal("TERM"), _JvmHandler(self._came))
        except Exception as error:
            log.warning("a SIGTERM to the JVM will end this driver in the middle of a batch: %s", error)


class _JvmHandler:
    """What the JVM calls on SIGTERM, through py4j."""

    def __init__(self, came: threading.Event) -> None:
        self._came = came

    def handle(self, signal_of_jvm: object) -> None:
        self._came.set()

    class Java:
        """Read by py4j."""

        implements = ("sun.misc.SignalHandler",)
