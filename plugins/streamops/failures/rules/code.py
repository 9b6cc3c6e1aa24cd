"""The job's own faults, and what its source has lost, rewritten or changed."""

import re

from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.rules.rule import FailureRule

STARTS = (
    FailureRule(
        id="job-starts-queries",
        failure_class=FailureClass.JOB_STARTS_QUERIES,
        words=("streamops.errors.JobStartsQueriesError",),
        source="streamops: the runner met a query that it did not start; the next driver meets the same",
    ),
)

PLAN = (
    FailureRule(
        id="backfill-refused",
        failure_class=FailureClass.CODE_ERROR,
        words=("streamops.errors.BackfillError",),
        source="streamops: plan, job and checkpoint of a backfill do not fit each other; the next driver finds the same",
    ),
    FailureRule(
        id="records",
        failure_class=FailureClass.CODE_ERROR,
        words=(
            "[DIVIDE_BY_ZERO]",
            "[REMAINDER_BY_ZERO]",
            "[CAST_INVALID_INPUT]",
            "[CAST_OVERFLOW",
            "[ARITHMETIC_OVERFLOW",
            "[NUMERIC_VALUE_OUT_OF_RANGE",
            "[INVALID_ARRAY_INDEX",
            "[MALFORMED_RECORD_IN_PARSING",
            "[USER_RAISED_EXCEPTION]",
            "[KAFKA_NULL_TOPIC_IN_DATA]",
            "[DELTA_VIOLATE_CONSTRAINT",
            "[DELTA_NOT_NULL_CONSTRAINT_VIOLATED]",
            "[DELTA_EXCEED_CHAR_VARCHAR_LIMIT]",
            "RecordTooLargeException",
            "RecordBatchTooLargeException",
            "SerializationException",
        ),
        source="Spark 4.2, Delta 4.4 and Kafka error classes: the same batch fails the same way",
    ),
    FailureRule(
        id="plan",
        failure_class=FailureClass.CODE_ERROR,
        words=(
            "AnalysisException",
            "ParseException",
            "[DATA_SOURCE_NOT_FOUND]",
            "[STREAMING_OUTPUT_MODE",
            "[STREAMING_REAL_TIME_MODE",
            "[INVALID_INTERVAL_FORMAT",
            "[STATE_STORE_COMMIT_VALIDATION_FAILED]",
            "[FAILED_TO_PARSE_TOO_COMPLEX]",
        ),
        source="Spark 4.2 error classes; recorded case code-unknown-column",
    ),
    FailureRule(
        id="software",
        failure_class=FailureClass.CODE_ERROR,
        words=(
            "[DELTA_UNSUPPORTED_FEATURES_FOR_",
            "[DELTA_INVALID_PROTOCOL_VERSION]",
            "ClassNotFoundException",
            "NoClassDefFoundError",
            "NoSuchMethodError",
            "UnsupportedClassVersionError",
            "NotSerializableException",
            "No suitable driver",
            "StackOverflowError",
        ),
        source="Delta 4.4, OpenJDK 17: a jar is missing or of another version",
    ),
    FailureRule(
        id="settings",
        failure_class=FailureClass.CODE_ERROR,
        words=(
            "Wrong FS:",
            "UnsupportedFileSystemException",
            "No FileSystem for scheme",
            "NoSuchBucketException",
            "UnknownStoreException",
            "Could not parse Master URL",
            "must be at least",
            "above the max threshold",
            "Unrecognized option",
            "User did not initialize spark context",
            "[KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED]",
            "[KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED]",
            "No offset matched from request of topic-partition",
            "you must specify all TopicPartitions",
            "[DELTA_VERSION_NOT_FOUND]",
            "exists and is not a directory",
            "ParentNotDirectoryException",
            "as a query with that name is already active",
            "IllegalArgumentException",
            "ConfigException",
            "NumberFormatException",
        ),
        source="Spark 4.2, Kafka clients 3.9, Hadoop 3.5; recorded case kafka-setting-two-strategies",
    ),
)

SQL_STATES = (
    FailureRule(
        id="sql-state",
        failure_class=FailureClass.CODE_ERROR,
        pattern=re.compile(r"SQLSTATE: (?:0A|21|22|23|42)"),
        source="Spark 4.2, error-states.json: not supported, cardinality, data, constraint, syntax or access rule",
    ),
)

PYTHON = (
    FailureRule(
        id="python-fault",
        failure_class=FailureClass.CODE_ERROR,
        pattern=re.compile(
            r"^(?:NameError|UnboundLocalError|AttributeError|TypeError|ImportError|ModuleNotFoundError|SyntaxError"
            r"|IndentationError|ZeroDivisionError|RecursionError|NotImplementedError|FileNotFoundError)\b",
            re.MULTILINE,
        ),
        words=("PySparkTypeError", "PySparkValueError", "PySparkAttributeError", "can't open file"),
        source="Python: the same line fails the same way",
    ),
    FailureRule(
        id="python-data",
        failure_class=FailureClass.CODE_ERROR,
        own_remedy=Remedy.RETRY_FEW,
        pattern=re.compile(
            r"^(?:ValueError|KeyError|IndexError|LookupError|AssertionError|RuntimeError|UnicodeDecodeError"
            r"|json\.decoder\.JSONDecodeError)\b",
            re.MULTILINE,
        ),
        source="Python: what the world outside answers may be the reason",
    ),
)


LOSS = (
    FailureRule(
        id="kafka-offsets-lost",
        failure_class=FailureClass.DATA_LOSS,
        pattern=re.compile(r"Added partition \S{1,300} starts from \d+ instead of 0"),
        words=(
            "[KAFKA_DATA_LOSS.",
            "Cannot fetch offset ",
            "Cannot fetch records in ",
            "offset was changed from",
            "are gone. Some data",
            "Cannot find earliest offsets of",
            "Cannot find initial offsets for",
            "OffsetOutOfRangeException",
            "Some data may have been lost because they are not available in Kafka any more",
        ),
        source="Kafka connector 3.5 to 4.2, SPARK-47135; recorded cases kafka-recreated-shorter, kafka-partitions-gone",
    ),
    FailureRule(
        id="event-hubs-sequence-lost",
        failure_class=FailureClass.DATA_LOSS,
        words=("is less than the received seqNo",),
        source="Azure/azure-event-hubs-spark#462",
    ),
    FailureRule(
        id="delta-log-lost",
        failure_class=FailureClass.DATA_LOSS,
        words=(
            "[DELTA_MISSING_FILES_UNEXPECTED_VERSION]",
            "[DELTA_STREAMING_TRAILING_COMMIT_MISSING]",
            "[DELTA_VERSIONS_NOT_CONTIGUOUS]",
            "[DELTA_LOG_FILE_NOT_FOUND",
            "[DELTA_TRUNCATED_TRANSACTION_LOG]",
            "[DELTA_MISSING_PART_FILES]",
            "[DELTA_FILE_NOT_FOUND]",
            "[DELTA_CHANGE_DATA_FILE_NOT_FOUND]",
            "'reservoirVersion' moved back",
        ),
        source="Delta 4.4, delta-io/delta#3254; recorded case delta-source-log-cut-off",
    ),
    FailureRule(
        id="delta-log-file-gone",
        failure_class=FailureClass.DATA_LOSS,
        pattern=re.compile(r"_delta_log/\d{20}\.json:? (?:File )?does not exist"),
        words=("[DELTA_SCHEMA_NOT_SET]",),
        has_progressed=True,
        source="delta-io/delta#2590, #1616: it was there when the driver began",
    ),
    FailureRule(
        id="delta-source-rewritten",
        failure_class=FailureClass.DATA_LOSS,
        words=(
            "[DELTA_SOURCE_IGNORE_DELETE]",
            "[DELTA_SOURCE_TABLE_IGNORE_CHANGES]",
            "Detected a data update",
            "Detected deleted data",
            "[DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE]",
            "[DELTA_INVALID_SOURCE_",
        ),
        source="Delta 4.4, delta-io/delta#693; recorded case delta-source-updated-rows",
    ),
    FailureRule(
        id="parquet-columns",
        failure_class=FailureClass.SCHEMA_CHANGE,
        words=("[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH]",),
        source="Spark 4.2 error classes",
    ),
    FailureRule(
        id="input-file-gone",
        failure_class=FailureClass.DATA_LOSS,
        words=("[FAILED_READ_FILE.FILE_NOT_EXIST]", "[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER]"),
        source="Spark 4.2 error classes; recorded case sink-input-file-gone",
    ),
)

SCHEMA = (
    FailureRule(
        id="delta-schema-changed",
        failure_class=FailureClass.SCHEMA_CHANGE,
        own_remedy=Remedy.RETRY_FEW,
        words=(
            "[DELTA_SCHEMA_CHANGED",
            "[DELTA_STREAMING_METADATA_EVOLUTION]",
            "[DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART]",
            "[DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS]",
        ),
        source="Delta 4.4, delta-io/delta#5032: a new process reads the new columns",
    ),
    FailureRule(
        id="delta-schema-incompatible",
        failure_class=FailureClass.SCHEMA_CHANGE,
        words=(
            "[DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE",
            "[DELTA_STREAMING_CANNOT_CONTINUE_",
            "[DELTA_STREAMING_SCHEMA_LO",
            "[DELTA_FAILED_TO_MERGE_FIELDS]",
            "[DELTA_MERGE_INCOMPATIBLE_",
            "[DELTA_METADATA_MISMATCH",
            "[DELTA_SCHEMA_NOT_CONSISTENT_WITH_TARGET]",
            "[DELTA_INSERT_COLUMN_",
            "[INSERT_COLUMN_ARITY_MISMATCH",
            "[INCOMPATIBLE_DATA_FOR_TABLE",
            "A schema mismatch detected when writing to the Delta table",
        ),
        source="Delta 2 to 4.4, Spark 4.2 error classes",
    ),
    FailureRule(
        id="database-columns",
        failure_class=FailureClass.SCHEMA_CHANGE,
        words=("errors.UndefinedColumn", "has no column named", "Unknown column"),
        pattern=re.compile(r"PSQLException: ERROR: column \S{1,200} (?:of relation \S{1,200} )?does not exist"),
        source="PostgreSQL, SQLite, MySQL; recorded case server-sink-postgres-column",
    ),
)

CONFLICTS = (
    FailureRule(
        id="delta-conflict",
        failure_class=FailureClass.CONCURRENT_WRITER,
        own_remedy=Remedy.BACK_OFF,
        words=(
            "[DELTA_CONCURRENT_",
            "[DELTA_METADATA_CHANGED]",
            "[DELTA_PROTOCOL_CHANGED]",
            "[DELTA_MAX_COMMIT_RETRIES_EXCEEDED]",
            "ConcurrentAppendException",
            "ConcurrentDeleteReadException",
            "ConcurrentDeleteDeleteException",
            "ConcurrentWriteException",
            "MetadataChangedException",
            "ProtocolChangedException",
        ),
        source="Delta 4.4: another job's commit came first, a new try may do: recorded case delta-conflict-delete",
    ),
)
