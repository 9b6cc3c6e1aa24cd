"""Why a driver ended: what beats what, and what noise must not do."""

from dataclasses import replace

import pytest

from streamops.control.records import Outcome
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.case import read_cases

FAILED, DIED = Outcome.FAILED, Outcome.DIED
EXPLAINED = [
    case
    for case in read_cases()
    if case.ending.text.startswith("Traceback")
    and case.failure_class is not FailureClass.UNKNOWN
    and not case.is_held_out
]
"""What the runner would log, had it been killed before it could leave a record."""

STREAM_FAILED = "pyspark.errors.StreamingQueryException: [STREAM_FAILED] Query [id = 7b] terminated with exception: "
WRAPPERS = [
    "",
    STREAM_FAILED,
    "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. Reason: ",
    "[TASK_WRITE_FAILED] Task failed while writing rows to file:/tables/orders. SQLSTATE: 58030\nCaused by (JVM): ",
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: Lost task 0.3: ",
]
WARNINGS = """\
26/01/01 00:00:00 WARN NetworkClient: [AdminClient clientId=a] Connection to node -1 (broker:9092) could not be established.
26/01/01 00:00:00 WARN TaskSetManager: Lost task 0.0 in stage 7.0 (TID 12) (worker executor 1): java.net.ConnectException: \
Connection refused
\tat java.base/java.net.Socket.connect(Socket.java:633)
Caused by: java.io.EOFException
"""
AFTERMATH = """\
26/01/01 00:00:00 ERROR Utils: Uncaught exception in thread shutdown-hook-0
java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.
26/01/01 00:00:00 ERROR ShutdownHookManager: Exception while deleting Spark temp dir: /tmp/spark-0
java.io.IOException: Failed to delete: /tmp/spark-0: Permission denied
Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/py4j/clientserver.py", line 438, in connect
    self.socket.connect((self.java_address, self.java_port))
ConnectionRefusedError: [Errno 111] Connection refused
"""


def found(text: str, outcome: Outcome = FAILED, **more: object):
    return classify(DriverEvidence(outcome=outcome, text=text, **more))


# What beats what


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(
    ("cause", "failure_class"),
    [
        ("org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero.", FailureClass.CODE_ERROR),
        ("java.lang.OutOfMemoryError: Java heap space", FailureClass.OUT_OF_MEMORY),
        ("java.io.IOException: No space left on device", FailureClass.DISK_FULL),
        ("[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] no 4.delta", FailureClass.CORRUPT_CHECKPOINT),
        ("[KAFKA_DATA_LOSS.PARTITIONS_DELETED] Partitions have been deleted.", FailureClass.DATA_LOSS),
        ("org.apache.kafka.common.errors.TopicAuthorizationException: orders", FailureClass.CREDENTIALS),
    ],
)
def test_a_nested_cause_beats_each_wrapper(wrapper, cause, failure_class):
    assert found(wrapper + cause).failure_class is failure_class


@pytest.mark.parametrize(
    ("text", "failure_class", "why"),
    [
        pytest.param(
            "java.lang.OutOfMemoryError: Java heap space\nCaused by (JVM): [DIVIDE_BY_ZERO] x",
            FailureClass.OUT_OF_MEMORY,
            "without memory anything fails in any words",
            id="memory before code",
        ),
        pytest.param(
            "org.apache.kafka.common.errors.TimeoutException: x\nCaused by (JVM): "
            "org.apache.kafka.common.errors.SaslAuthenticationException: refused",
            FailureClass.CREDENTIALS,
            "a refused login ends in a time-out as well",
            id="credentials before unavailable",
        ),
        pytest.param(
            "java.util.concurrent.TimeoutException: Cannot fetch record for offset 12 in 120000 milliseconds\n"
            "Caused by (JVM): [KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE] x",
            FailureClass.DATA_LOSS,
            "lost records are asked for again until the time is over",
            id="data loss before source unavailable",
        ),
        pytest.param(
            "[CONCURRENT_STREAM_LOG_UPDATE] x\nCaused by (JVM): org.apache.hadoop.fs.s3a.RemoteFileChangedException: "
            "Status Code: 403",
            FailureClass.CONCURRENT_WRITER,
            "on an object store the loser of a race sees the store's error",
            id="second writer before credentials",
        ),
        pytest.param(
            "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] x\nCaused by (JVM): java.net.SocketTimeoutException: Read timed out: s3a://b",
            FailureClass.STORAGE_UNAVAILABLE,
            "the state is whole, the store did not answer",
            id="storage before state that can't be read",
        ),
        pytest.param(
            "[CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR] RocksDB instance could not be acquired by x",
            FailureClass.TRANSIENT,
            "the earlier attempt still holds it",
            id="held state before damaged state",
        ),
        pytest.param(
            "[FOREACH_BATCH_USER_FUNCTION_ERROR] x\nCaused by (JVM): java.net.ConnectException: Connection refused: "
            "hdfs://namenode",
            FailureClass.SINK_UNAVAILABLE,
            "what is refused below the user's function is the sink's",
            id="sink before storage",
        ),
        pytest.param(
            "AnalysisException: [DELTA_SCHEMA_CHANGED_WITH_VERSION] Detected schema change in version 4",
            FailureClass.SCHEMA_CHANGE,
            "a changed column is an AnalysisException, too",
            id="columns before plan",
        ),
        pytest.param(
            "psycopg2.errors.DiskFull: could not extend file: No space left on device",
            FailureClass.SINK_UNAVAILABLE,
            "the disk is the database's",
            id="a database's disk before ours",
        ),
    ],
)
def test_the_order_of_the_rules(text, failure_class, why):
    assert found(text).failure_class is failure_class, why


def test_a_failed_stream_without_a_reason_is_unknown():
    answer = found(STREAM_FAILED + "the moon was full", error_classes=("STREAM_FAILED",))

    assert (answer.failure_class, answer.remedy) == (FailureClass.UNKNOWN, Remedy.RETRY_FEW)


def test_a_failed_function_without_a_reason_is_tried_a_few_times():
    """A sink that is down may look like this."""
    answer = found("[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred")

    assert (answer.failure_class, answer.remedy) == (FailureClass.CODE_ERROR, Remedy.RETRY_FEW)


@pytest.mark.fault("B65")
@pytest.mark.parametrize(
    ("ending", "failure_class"),
    [
        pytest.param(
            DriverEvidence(outcome=FAILED, text=STREAM_FAILED + "[DIVIDE_BY_ZERO]", exit_code=0),
            FailureClass.CODE_ERROR,
            id="with a record",
        ),
        pytest.param(
            DriverEvidence(outcome=DIED, text=STREAM_FAILED + "[DIVIDE_BY_ZERO]", exit_code=0),
            FailureClass.CODE_ERROR,
            id="with a log",
        ),
        pytest.param(DriverEvidence(outcome=DIED, exit_code=0), FailureClass.UNKNOWN, id="with nothing"),
        pytest.param(
            DriverEvidence(outcome=Outcome.FINISHED, error_classes=("DIVIDE_BY_ZERO",), exit_code=0),
            FailureClass.CODE_ERROR,
            id="said to have finished",
        ),
    ],
)
def test_exit_code_0_with_a_failed_query_is_a_failure(ending, failure_class):
    """kubeflow/spark-operator#1402."""
    assert classify(ending).failure_class is failure_class


@pytest.mark.parametrize(
    ("code", "failure_class"),
    [
        (52, FailureClass.OUT_OF_MEMORY),
        (137, FailureClass.KILLED),
        (143, FailureClass.KILLED),
        (134, FailureClass.KILLED),
        (1, FailureClass.KILLED),
        (None, FailureClass.KILLED),
    ],
)
def test_without_words_the_exit_code_speaks(code, failure_class):
    assert found("", DIED, exit_code=code).failure_class is failure_class


def test_a_log_may_tell_why_somebody_killed():
    assert found("java.lang.OutOfMemoryError: Java heap space", DIED, exit_code=137).failure_class is (
        FailureClass.OUT_OF_MEMORY
    )


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.LEASE_LOST, Outcome.NEVER_STARTED])
def test_what_the_supervisor_recorded_needs_no_words(outcome):
    """The reason of a stop is a person's text, and may hold anything."""
    quiet, loud = found("", outcome), found("java.lang.OutOfMemoryError: Java heap space", outcome)

    assert quiet == loud


def test_a_class_that_the_shortened_text_no_longer_shows_counts():
    answer = found(STREAM_FAILED + "… 40000 characters left out …", error_classes=("STREAM_FAILED", "DIVIDE_BY_ZERO"))

    assert (answer.failure_class, answer.evidence) == (FailureClass.CODE_ERROR, "[DIVIDE_BY_ZERO]")


def test_a_bare_assertion_is_the_checkpoints_only_before_the_first_batch():
    text = STREAM_FAILED + "assertion failed\nCaused by (JVM): java.lang.AssertionError: assertion failed\n"

    assert found(text).failure_class is FailureClass.CORRUPT_CHECKPOINT
    assert found(text, has_progressed=True).failure_class is FailureClass.UNKNOWN


# Noise


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in EXPLAINED])
def test_log_noise_before_and_after_a_cause_changes_nothing(case):
    noisy = replace(case.ending, outcome=DIED, error_classes=(), text=WARNINGS + case.ending.text + "\n" + AFTERMATH)

    assert classify(noisy).failure_class is case.failure_class


@pytest.mark.parametrize("noise", [WARNINGS, AFTERMATH, WARNINGS + AFTERMATH])
def test_log_noise_alone_explains_nothing(noise):
    assert found(noise, DIED, exit_code=1).failure_class is FailureClass.KILLED


def test_a_log_that_begins_in_the_middle_of_a_stack_trace_is_not_judged_by_it():
    """The end of a log is cut by size; what the trace belonged to may have been survived."""
    text = "Caused by: java.net.ConnectException: Connection refused\n\tat java.base/java.net.Socket.connect(Socket.java:633)\n"

    assert found(text + WARNINGS, DIED, exit_code=137).failure_class is FailureClass.KILLED


def test_a_warned_broker_does_not_hide_a_full_heap():
    text = WARNINGS + "java.lang.OutOfMemoryError: Java heap space\nDumping heap to java_pid1.hprof ...\n" + AFTERMATH

    assert found(text, DIED, exit_code=1).failure_class is FailureClass.OUT_OF_MEMORY


def test_words_of_the_users_query_are_no_cause():
    plan = "=== Streaming Query ===\nLogical Plan:\nProject [No space left on device AS java.lang.OutOfMemoryError]\n\n"

    assert (
        found(STREAM_FAILED + "oops\n" + plan + "Caused by (JVM): org.example.Oops: oops").failure_class
        is FailureClass.UNKNOWN
    )


def test_source_lines_in_a_traceback_are_no_cause():
    frame = 'Traceback (most recent call last):\n  File "/opt/job.py", line 4, in write\n'
    source = '    raise Oops("No space left on device")\n'

    assert found(frame + source + "org.example.Oops: oops").failure_class is FailureClass.UNKNOWN
