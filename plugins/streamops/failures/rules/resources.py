"""Memory, disk and room on the cluster, and how a driver ended when nothing else tells."""

from streamops.control.records import Outcome
from streamops.errors import JobChangedError
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.rules.rule import FailureRule, Loudness

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


MEMORY = (
    FailureRule(
        id="container-over-memory",
        failure_class=FailureClass.OUT_OF_MEMORY,
        words=("exceeding physical memory limits", "exceeding virtual memory limits", "OOMKilled"),
        source="YARN, ContainersMonitorImpl; Kubernetes, the reason of a container that ended",
        faintest=Loudness.WARNING,
    ),
    FailureRule(
        id="executor-killed",
        failure_class=FailureClass.OUT_OF_MEMORY,
        words=("Exit status: 137", "exited with code 137", "exited with code 52", "Exit code is 137"),
        beside=("ExecutorLostFailure",),
        source="Spark 4.2, SparkExitCode: 137; recorded case process-executor-heap",
    ),
    FailureRule(
        id="no-native-memory",
        failure_class=FailureClass.OUT_OF_MEMORY,
        words=(
            "insufficient memory for the Java Runtime Environment",
            "Could not reserve enough space",
            "unable to create native thread",
            "Cannot allocate memory",
        ),
        source="OpenJDK 17; errno 12 of Linux",
    ),
    FailureRule(
        id="heap",
        failure_class=FailureClass.OUT_OF_MEMORY,
        words=(
            "java.lang.OutOfMemoryError",
            "OutOfMemory encountered",
            "GC overhead limit exceeded",
            "SparkOutOfMemoryError",
            "[UNABLE_TO_ACQUIRE_MEMORY]",
            "STORE_PROVIDER_OUT_OF_MEMORY]",
        ),
        source="OpenJDK 17, Spark 4.2 error classes; recorded case process-heap-crash",
        faintest=Loudness.WARNING,
    ),
    FailureRule(
        id="python-memory",
        failure_class=FailureClass.OUT_OF_MEMORY,
        words=("\nMemoryError", "ArrayMemoryError", "Unable to allocate "),
        source="Python, numpy",
    ),
    FailureRule(
        id="result-too-large",
        failure_class=FailureClass.OUT_OF_MEMORY,
        words=("spark.driver.maxResultSize",),
        source="Spark 4.2, TaskSetManager",
    ),
)

DISK = (
    FailureRule(
        id="database-disk",
        failure_class=FailureClass.SINK_UNAVAILABLE,
        words=("errors.DiskFull", "could not extend file"),
        source="PostgreSQL: it is the database's disk, not ours",
    ),
    FailureRule(
        id="disk-full",
        failure_class=FailureClass.DISK_FULL,
        words=("No space left on device", "Not enough space left", "[Errno 28]"),
        source="errno 28 of Linux; recorded case sink-delta-table-full",
        faintest=Loudness.WARNING,
    ),
    FailureRule(
        id="quota",
        failure_class=FailureClass.DISK_FULL,
        words=("DSQuotaExceededException", "NSQuotaExceededException", "Disk quota exceeded", "[Errno 122]"),
        source="HDFS, QuotaExceededException; errno 122 of Linux",
    ),
)

CAPACITY = (
    FailureRule(
        id="no-room-for-driver",
        failure_class=FailureClass.CLUSTER_CAPACITY,
        words=(
            "Insufficient memory",
            "Insufficient cpu",
            "Unschedulable",
            "exceeded quota",
            "AM resource limit exceeded",
            "reason: Evicted",
            "was low on resource",
        ),
        source="Kubernetes scheduler and quotas, YARN queues",
        faintest=Loudness.WARNING,
    ),
    FailureRule(
        id="no-room-for-executors",
        failure_class=FailureClass.CLUSTER_CAPACITY,
        words=("Initial job has not accepted any resources", "was preempted"),
        source="Spark 4.2, TaskSchedulerImpl and YarnAllocator",
        faintest=Loudness.WARNING,
    ),
    FailureRule(
        id="manager-away",
        failure_class=FailureClass.CLUSTER_CAPACITY,
        words=("All masters are unresponsive",),
        source="Spark 4.2, StandaloneSchedulerBackend",
    ),
    FailureRule(
        id="resource-manager-away",
        failure_class=FailureClass.CLUSTER_CAPACITY,
        words=("Connection refused", "NoRouteToHost", "SocketTimeout"),
        beside=("YarnClientImpl", "ResourceManager"),
        source="Hadoop 3.5, YARN client",
    ),
)

LOST_EXECUTORS = (
    FailureRule(
        id="executor-lost",
        failure_class=FailureClass.TRANSIENT,
        words=("ExecutorLostFailure", "FetchFailedException", "an output location for shuffle"),
        faintest=Loudness.VERDICT,
        source="Spark 4.2, TaskEndReason and MapOutputTracker",
    ),
    FailureRule(
        id="interrupted",
        failure_class=FailureClass.TRANSIENT,
        words=("java.lang.InterruptedException", "cancelled part of cancelled job group"),
        faintest=Loudness.VERDICT,
        source="SPARK-39218, SPARK-48717: a stop reached the batch inside a Python function",
    ),
    FailureRule(
        id="cluster-too-slow",
        failure_class=FailureClass.TRANSIENT,
        words=("Futures timed out after", "RpcTimeoutException", "Could not execute broadcast in"),
        faintest=Loudness.VERDICT,
        source="Spark 4.2: calls between driver and executors, broadcasts",
    ),
    FailureRule(
        id="python-worker-gone",
        failure_class=FailureClass.TRANSIENT,
        own_remedy=Remedy.RETRY_FEW,
        words=("Python worker exited unexpectedly", "Python worker failed to connect back"),
        faintest=Loudness.VERDICT,
        source="Spark 4.2, PythonRunner: native code of a library, or the kernel's memory killer",
    ),
    FailureRule(
        id="jvm-crash",
        failure_class=FailureClass.TRANSIENT,
        own_remedy=Remedy.RETRY_FEW,
        words=("A fatal error has been detected by the Java Runtime Environment",),
        source="OpenJDK 17",
    ),
)
