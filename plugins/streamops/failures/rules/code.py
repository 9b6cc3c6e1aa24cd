"""The job's own faults: its plan, its settings, its Python, records that it can't digest, software that is too old."""

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
