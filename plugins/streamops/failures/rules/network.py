"""Sinks, sources and storage that don't answer. The same words come from all three: who speaks is looked up beside them."""

import re

from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.rules.reading import Loudness
from streamops.failures.rules.rule import FailureRule

UNREACHABLE = (
    "Connection refused",
    "ConnectionRefusedError",
    "Connection reset",
    "ConnectionResetError",
    "SocketTimeoutException",
    "Read timed out",
    "timed out",
    "TimeoutError",
    "NoRouteToHost",
    "No route to host",
    "UnknownHostException",
    "Name or service not known",
    "name resolution",
    "Broken pipe",
    "BrokenPipeError",
    "RemoteDisconnected",
    "Network is unreachable",
)
"""errno 32, 101, 104, 110, 111, 113 of Linux and their names in Java and Python."""

FUNCTION = ("[FOREACH_BATCH_USER_FUNCTION_ERROR]", "[FOREACH_USER_FUNCTION_ERROR]", "_call_proxy")
TABLE = ("[TASK_WRITE_FAILED]", "org.apache.spark.sql.delta", "java.sql.", "JdbcUtils")
FILE_SYSTEM = (
    "s3a:",
    "S3AFileSystem",
    "awssdk",
    "hdfs:",
    "DFSClient",
    "webhdfs",
    "WebHdfs",
    "abfs",
    "gs:",
    "org.apache.hadoop",
    "Call From ",
    "No Route to Host from ",
    "DestHost:destPort",
    "CheckpointFileManager",
    "/offsets/",
    "/commits/",
    "[CANNOT_LOAD_CHECKPOINT_FILE_MANAGER.",
    "the claim could not be checked",
)

TRANSIENT = (
    FailureRule(
        id="available-now-partitions",
        failure_class=FailureClass.TRANSIENT,
        own_remedy=Remedy.RETRY_FEW,
        words=(
            "_PREFETCHED]",
            "_TRIGGER_AVAILABLENOW]",
            "pre-fetched offset",
            "during running query with Trigger.AvailableNow",
        ),
        source="SPARK-41387, SPARK-53560; real 4.0.1 and 4.2.0 say it without the error class",
    ),
    FailureRule(
        id="python-runner-start",
        failure_class=FailureClass.TRANSIENT,
        own_remedy=Remedy.RETRY_FEW,
        words=("[STREAMING_PYTHON_RUNNER_INITIALIZATION_",),
        source="Spark 4.2 error classes",
    ),
    FailureRule(
        id="stop-timeout",
        failure_class=FailureClass.TRANSIENT,
        pattern=re.compile(r"failed to stop within \d+ milliseconds"),
        source="Spark 4.2, spark.sql.streaming.stopTimeout",
    ),
    FailureRule(
        id="port-taken",
        failure_class=FailureClass.TRANSIENT,
        words=("Address already in use", "java.net.BindException"),
        faintest=Loudness.VERDICT,
        source="Linux errno 98: often a predecessor that still ends",
    ),
    FailureRule(
        id="too-many-files",
        failure_class=FailureClass.TRANSIENT,
        own_remedy=Remedy.RETRY_FEW,
        words=("Too many open files",),
        source="Linux errno 24: what leaks is closed by the restart",
    ),
)

SINK = (
    FailureRule(
        id="kafka-sink",
        failure_class=FailureClass.SINK_UNAVAILABLE,
        pattern=re.compile(r"Topic \S{1,300} not present in metadata after|Expiring \d+ record"),
        words=("NotEnoughReplicas",),
        source="Kafka clients 3.9, the producer",
    ),
    FailureRule(
        id="database-away",
        failure_class=FailureClass.SINK_UNAVAILABLE,
        words=(
            "OperationalError",
            "PSQLException: Connection",
            "PSQLException: FATAL: terminating connection",
            "PSQLException: FATAL: the database system is",
            "PSQLException: FATAL: sorry, too many clients already",
            "PSQLException: FATAL: remaining connection slots",
            "PSQLException: An I/O error occurred",
            "PSQLException: This connection has been closed",
            "PSQLException: ERROR: deadlock detected",
            "PSQLException: ERROR: canceling statement due to",
            "PSQLException: ERROR: cannot execute INSERT in a read-only transaction",
            "Communications link failure",
            "CommunicationsException",
            "database is locked",
            "DeadlockDetected",
            "ServerSelectionTimeoutError",
            "redis.exceptions.ConnectionError",
            "The TCP/IP connection to the host",
            "The Network Adapter could not establish the connection",
            "NoHostAvailableException",
            "AllNodesFailedException",
            "EsHadoopNoNodesLeftException",
        ),
        source="DB-API: psycopg, sqlite3, PyMySQL; JDBC of PostgreSQL and MySQL; PyMongo; redis-py;"
        " SQL Server, Oracle, Cassandra, Elasticsearch; recorded case server-sink-postgres-deadlock",
    ),
    FailureRule(
        id="endpoint-away",
        failure_class=FailureClass.SINK_UNAVAILABLE,
        pattern=re.compile(r"EndpointError: \S{1,2000} took no row in \d+ attempts"),
        source="streamops.spark.sinks.rest, whatever the last answer was; recorded case server-sink-rest-503",
    ),
    FailureRule(
        id="http-sink-away",
        failure_class=FailureClass.SINK_UNAVAILABLE,
        pattern=re.compile(
            r"HTTP Error (?:5\d\d|429)|\b(?:5\d\d Server Error|429 Client Error)|ApiError\((?:5\d\d|429)"
        ),
        words=(
            "ConnectError",
            "Max retries exceeded",
            "ReadTimeout",
            "ConnectTimeout",
            "ThroughputExceeded",
            "Throttling",
        ),
        source="urllib, requests, httpx, elasticsearch-py, botocore",
    ),
    FailureRule(
        id="function-sink-away",
        failure_class=FailureClass.SINK_UNAVAILABLE,
        words=UNREACHABLE,
        beside=FUNCTION,
        source="sockets below foreachBatch: the user's function writes the sink; recorded case sink-connection-reset",
    ),
    FailureRule(
        id="table-storage-away",
        failure_class=FailureClass.SINK_UNAVAILABLE,
        words=(*UNREACHABLE, "Status Code: 503", "SlowDown"),
        beside=TABLE,
        source="sockets below a task that writes rows",
    ),
)

SOURCE = (
    FailureRule(
        id="kafka-topic-unknown",
        failure_class=FailureClass.SOURCE_UNAVAILABLE,
        own_remedy=Remedy.RETRY_FEW,
        words=("UnknownTopicOrPartitionException",),
        source="Kafka clients 3.9; short, then a person, the topic may be gone: recorded case kafka-topic-deleted",
    ),
    FailureRule(
        id="kafka-name-unknown",
        failure_class=FailureClass.SOURCE_UNAVAILABLE,
        own_remedy=Remedy.RETRY_FEW,
        words=("No resolvable bootstrap urls",),
        source="Kafka clients 3.9: name service or misspelling",
    ),
    FailureRule(
        id="kafka-away",
        failure_class=FailureClass.SOURCE_UNAVAILABLE,
        words=(
            "Cannot fetch record for offset",
            "org.apache.kafka.common.errors.TimeoutException",
            "DisconnectException",
            "NotLeaderOrFollowerException",
            "LeaderNotAvailableException",
            "BrokerNotAvailableException",
            "CoordinatorNotAvailableException",
            "Failed to construct kafka consumer",
        ),
        source="Kafka connector 4.2, Kafka clients 3.9; recorded case kafka-broker-unreachable",
    ),
    FailureRule(
        id="socket-source-away",
        failure_class=FailureClass.SOURCE_UNAVAILABLE,
        words=UNREACHABLE,
        beside=("TextSocket",),
        source="Spark 4.2, socket source",
    ),
)

STORAGE = (
    FailureRule(
        id="storage-busy",
        failure_class=FailureClass.STORAGE_UNAVAILABLE,
        words=(
            "Status Code: 503",
            "Status Code: 500",
            "SlowDown",
            "503 Service Unavailable",
            "response: code=503",
            "response: code=500",
            "AWSServiceThrottledException",
            "AWSStatus500Exception",
            "SafeModeException",
            "is in safe mode",
            "StandbyException",
            "is not supported in state standby",
            "could only be written to 0 of the",
            "BlockMissingException",
            "All datanodes ",
            "LeaseExpiredException",
            "Stale file handle",
            "Input/output error",
            "Read-only file system",
            "Mkdirs failed to create",
        ),
        pattern=re.compile(r"mkdir of \S{1,2000} failed"),
        source="S3, GCS, HDFS, NFS; recorded case sink-storage-503",
    ),
    FailureRule(
        id="log-write-failed",
        failure_class=FailureClass.STORAGE_UNAVAILABLE,
        pattern=re.compile(r"rename from \S{1,2000} to \S{1,2000} failed"),
        words=("[STREAMING_CHECKPOINT_LOG_WRITE_FAILURE", "[STREAMING_ASYNC_OPERATION_FAILED]"),
        source="Spark 4.3 error classes, SPARK-40826, delta-io/delta#1396",
    ),
    FailureRule(
        id="storage-away",
        failure_class=FailureClass.STORAGE_UNAVAILABLE,
        words=UNREACHABLE,
        beside=FILE_SYSTEM,
        source="sockets below a Hadoop file system; recorded case sink-storage-hangs-up",
    ),
    FailureRule(
        id="network",
        failure_class=FailureClass.TRANSIENT,
        words=tuple(word for word in UNREACHABLE if word != "timed out"),
        faintest=Loudness.VERDICT,
        source="a connection of nobody in particular: recorded case sink-socket-source-refused",
    ),
)
