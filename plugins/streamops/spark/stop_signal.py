"""SIGTERM means a graceful stop, whichever process of the driver gets it.

A driver is two processes: the JVM of spark-submit, which a launcher, a container or a service manager knows by its pid,
and the job's Python. By itself the JVM would run its shutdown hooks on SIGTERM and end in the middle of a batch without
an exit record (seen with 4.2.0); here it only passes the wish on.
"""

import logging
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


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
