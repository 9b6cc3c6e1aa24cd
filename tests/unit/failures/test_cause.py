"""The cause of an end in one line, never the head of a traceback nor a warning of the log."""

import pytest

from streamops.control.records import Outcome
from streamops.failures.classify import SHOWN, cause_of

QUERY = """Traceback (most recent call last):
  File "/lib/runner.py", line 10, in run
    query.awaitTermination()
pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 1, runId = 2] terminated with \
exception: [STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match. SQLSTATE: XXKST
=== Streaming Query ===
"""
IN_BATCH = """Traceback (most recent call last):
  File "/lib/runner.py", line 10, in run
pyspark.errors.exceptions.captured.StreamingQueryException: [STREAM_FAILED] Query [id = 1] terminated with exception: x
=== Streaming Query ===

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/jobs/orders.py", line 3, in batch
psycopg.errors.UniqueViolation: duplicate key
"""
JAVA = """Traceback (most recent call last):
  File "/lib/runner.py", line 10, in run
py4j.protocol.Py4JJavaError: An error occurred while calling o1.start.
: java.net.ConnectException: Connection refused
\tat java.base/sun.nio.ch.Net.connect
"""
LOG = """2026-03-01 12:00:00,000 INFO DAGScheduler: ready
2026-03-01 12:00:01,000 ERROR Executor: Exception in task 0.0
java.lang.IllegalStateException: outer
\tat org.apache.spark.X
Caused by: java.io.IOException: No space left on device
WARNING: Using incubator modules: jdk.incubator.vector
"""


@pytest.mark.parametrize(
    ("outcome", "text", "classes", "cause"),
    [
        (Outcome.FAILED, QUERY, (), "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match."),
        (Outcome.FAILED, IN_BATCH, ("py4j.Py4JException",), "psycopg.errors.UniqueViolation: duplicate key"),
        (Outcome.FAILED, JAVA, (), "java.net.ConnectException: Connection refused"),
        (Outcome.FAILED, "the claim could not be checked: no answer", (), "the claim could not be checked: no answer"),
        (Outcome.FAILED, "", ("DELTA_PROTOCOL_CHANGED",), "[DELTA_PROTOCOL_CHANGED]"),
        (Outcome.DIED, LOG, (), "java.io.IOException: No space left on device"),
        (Outcome.DIED, "2026-03-01 12:00:00 WARN X: position is out of range", (), ""),
        (Outcome.LAUNCH_FAILED, "WARNING: Using incubator\nError: no such class Main", (), "Error: no such class Main"),
        (Outcome.LEASE_LOST, "epoch 2 was claimed", (), "epoch 2 was claimed"),
        (Outcome.STOPPED, "person:ann: an upgrade", (), ""),
        (Outcome.KILLED, LOG, (), ""),
        (Outcome.CONFIRMED_DEAD, "", (), ""),
    ],
)
def test_the_cause_is_told_and_nothing_that_only_stands_beside_it(outcome, text, classes, cause):
    told = cause_of(outcome, text, classes)

    assert told.startswith(cause)
    assert bool(told) is bool(cause)


def test_a_long_cause_is_cut():
    assert len(cause_of(Outcome.FAILED, "x" * 10_000)) == SHOWN
