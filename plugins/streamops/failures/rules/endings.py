"""How a driver ended: the outcome that the supervisor recorded, the exit code, and wrappers that hide a cause."""

from streamops.control.records import Outcome
from streamops.errors import JobChangedError
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.rules.rule import FailureRule

DECIDED = (
    FailureRule(
        id="stopped",
        failure_class=FailureClass.STOPPED_BY_REQUEST,
        outcomes=(Outcome.STOPPED,),
        source="streamops: its text is a person's reason, and may hold anything",
    ),
    FailureRule(
        id="finished", failure_class=FailureClass.ENDED_BY_ITSELF, outcomes=(Outcome.FINISHED,), source="streamops"
    ),
    FailureRule(
        id="job-changed",
        failure_class=FailureClass.JOB_CHANGED,
        words=(f"[{JobChangedError.ERROR_CLASS}]",),
        outcomes=(Outcome.LEASE_LOST,),
        source="streamops: the driver compares the job's file with its claim before it runs it",
    ),
    FailureRule(
        id="lease-lost", failure_class=FailureClass.LEASE_LOST, outcomes=(Outcome.LEASE_LOST,), source="streamops"
    ),
    FailureRule(
        id="never-started",
        failure_class=FailureClass.LAUNCH_FAILED,
        own_remedy=Remedy.NOW,
        outcomes=(Outcome.NEVER_STARTED,),
        source="streamops: the supervisor died between claim and submit, nothing has failed",
    ),
    FailureRule(
        id="exit-52",
        failure_class=FailureClass.OUT_OF_MEMORY,
        exit_codes=(52,),
        source="Spark 4.2, SparkExitCode.OOM; what the log says after it is aftermath",
    ),
)

SIGNALS = (
    FailureRule(
        id="killed-by-signal",
        failure_class=FailureClass.KILLED,
        exit_codes=(134, 137, 143),
        source="128 + SIGABRT, SIGKILL, SIGTERM; the kernel's memory killer can't be told from a person",
    ),
)

WRAPPERS = (
    FailureRule(
        id="context-closed",
        failure_class=FailureClass.KILLED,
        words=("SparkContext was shut down", "Cannot call methods on a stopped SparkContext"),
        source="Spark 4.2, SparkContext: the JVM was asked to end and closed Spark itself",
    ),
    FailureRule(
        id="function-failed",
        failure_class=FailureClass.CODE_ERROR,
        own_remedy=Remedy.RETRY_FEW,
        words=(
            "[FOREACH_BATCH_USER_FUNCTION_ERROR]",
            "[FOREACH_USER_FUNCTION_ERROR]",
            "Found error inside foreachBatch Python process",
            "[PYTHON_EXCEPTION]",
            "PythonException",
            "[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR]",
            "An exception was raised by the Python Proxy",
        ),
        source="Spark 3.5 to 4.2 error classes; a sink that is down may look like this: recorded case sink-unique-key",
    ),
    FailureRule(
        id="delta-refused",
        failure_class=FailureClass.CODE_ERROR,
        own_remedy=Remedy.RETRY_FEW,
        words=("[DELTA_",),
        source="Delta 4.4: most of its 500 error classes refuse what the job asks for",
    ),
)

FALLBACKS = (
    FailureRule(
        id="query-failed-unexplained",
        failure_class=FailureClass.UNKNOWN,
        words=("[STREAM_FAILED]", "terminated with error"),
        source="Spark 4.2, StreamingQueryException: it says only that the query failed",
    ),
    FailureRule(
        id="failed-unexplained",
        failure_class=FailureClass.UNKNOWN,
        outcomes=(Outcome.FAILED,),
        source="streamops: no rule matches",
    ),
    FailureRule(
        id="exit-0-without-record",
        failure_class=FailureClass.UNKNOWN,
        outcomes=(Outcome.DIED,),
        exit_codes=(0,),
        source="kubeflow/spark-operator#1402: no exit record is a failure whatever the code says",
    ),
    FailureRule(
        id="gone",
        failure_class=FailureClass.KILLED,
        outcomes=(Outcome.DIED, Outcome.KILLED, Outcome.CONFIRMED_DEAD),
        source="streamops: gone without a word",
    ),
    FailureRule(
        id="launch-failed",
        failure_class=FailureClass.LAUNCH_FAILED,
        outcomes=(Outcome.LAUNCH_FAILED,),
        source="streamops: ended before its first beat",
    ),
)
