"""The checkpoint: another writer, files that are damaged, a job that no longer fits it."""

import re

from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.rules.rule import FailureRule

WRITERS = (
    FailureRule(
        id="two-drivers",
        failure_class=FailureClass.CONCURRENT_WRITER,
        words=(
            "[CONCURRENT_STREAM_LOG_UPDATE]",
            "[CONCURRENT_QUERY]",
            "Multiple streaming queries are concurrently using",
            "Multiple streaming jobs detected for",
            "Race while writing batch",
            "SparkConcurrentModificationException",
            "as another query with same id is already active",
        ),
        source="Spark 2 to 4.2, SPARK-26425, SPARK-43542; also damage: recorded case checkpoint-commits-ahead",
    ),
    FailureRule(
        id="checkpoint-file-taken",
        failure_class=FailureClass.CONCURRENT_WRITER,
        pattern=re.compile(
            r"/(?:offsets/\d+|commits/\d+|metadata|sources/\d+/\S{1,300}|state/\d+/\d+/\S{1,300}|_spark_metadata/\d+)"
            r" already exists"
        ),
        beside=("FileAlreadyExistsException",),
        source="Spark 4.2, without a class of its own: recorded case writers-4-2-0-state-unique-ids-together-first",
    ),
    FailureRule(
        id="one-query-twice",
        failure_class=FailureClass.CONCURRENT_WRITER,
        words=("[DELTA_CONCURRENT_TRANSACTION]", "ConcurrentTransactionException", "ProducerFencedException"),
        source="Delta 4.4, Kafka 3.9: the same application id in two transactions",
    ),
)

WRITERS_OF_FILES = (
    FailureRule(
        id="other-job-cleaned-up",
        failure_class=FailureClass.CONCURRENT_WRITER,
        pattern=re.compile(r"/_temporary\S{0,300} does not exist|does not exist: \S{1,300}/_temporary"),
        source="Hadoop, FileOutputCommitter: the other removed it; recorded case writers-4-2-0-files-function-parquet-held-first",
    ),
)

TRANSIENT_STATE = (
    FailureRule(
        id="state-held-by-another-task",
        failure_class=FailureClass.TRANSIENT,
        words=(
            "[CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR]",
            "RocksDB instance could not be acquired by",
            "[STATE_STORE_OPERATION_OUT_OF_ORDER]",
            "[STATE_STORE_INVALID_STAMP]",
            "[STATE_STORE_UNEXPECTED_EMPTY_FILE_IN_ROCKSDB_ZIP]",
            "[CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT]",
            "[STATE_STORE_BASE_CHECKPOINT_ID_MISMATCH]",
        ),
        source="Spark 3.5 to 4.2 error classes, SPARK-42794",
    ),
)

INCOMPATIBLE = (
    FailureRule(
        id="no-source-in-offsets",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        words=("There are [0] sources in the checkpoint offsets",),
        source="Spark 4.2, OffsetSeq: an entry whose lines are missing; recorded case checkpoint-no-source-line",
    ),
    FailureRule(
        id="other-sources",
        failure_class=FailureClass.STATE_INCOMPATIBLE,
        pattern=re.compile(r"There are \[\d+\] sources in the checkpoint offsets"),
        words=("All sources should be named at this point", "Wrong basePath"),
        source="Spark 4.2, OffsetSeq, SPARK-23565; recorded case checkpoint-input-moved",
    ),
    FailureRule(
        id="other-spark",
        failure_class=FailureClass.STATE_INCOMPATIBLE,
        words=("[INVALID_LOG_VERSION.", "UnsupportedLogVersion"),
        source="Spark 3.5 to 4.2, SPARK-19721, SPARK-50652",
    ),
    FailureRule(
        id="other-state",
        failure_class=FailureClass.STATE_INCOMPATIBLE,
        words=(
            "[STREAMING_STATEFUL_OPERATOR_",
            "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE]",
            "[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE]",
            "StateSchemaNotCompatible",
            "[STATE_STORE_INVALID_CONFIG_AFTER_RESTART]",
            "[STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE]",
            "[STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION]",
            "[STATE_STORE_VALUE_SCHEMA_EVOLUTION_THRESHOLD_EXCEEDED]",
            "[STATE_STORE_STATE_SCHEMA_FILES_THRESHOLD_EXCEEDED]",
            "[STATE_STORE_COLUMN_FAMILY_SCHEMA_INCOMPATIBLE]",
            "[STREAM_STREAM_JOIN_INCOMPATIBLE_STATE_STORE_CONFIGS]",
        ),
        source="Spark 3.5 to 4.2 error classes, SPARK-27237; recorded case state-operator-added",
    ),
    FailureRule(
        id="other-query",
        failure_class=FailureClass.STATE_INCOMPATIBLE,
        words=(
            "[STREAMING_QUERY_EVOLUTION_ERROR.",
            "[STREAMING_UNFINISHED_REPARTITION_DETECTED]",
            "[STATE_REPARTITION_",
        ),
        source="Spark 4.2 error classes",
    ),
)

DAMAGED = (
    FailureRule(
        id="torn-log",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        words=(
            "Incomplete log file",
            "[MALFORMED_LOG_FILE]",
            "failed to read correct log version",
            "next on empty iterator",
            "WatermarkTracker.currentWatermark()",
            "JsonEOFException",
            "No content to map due to end-of-input",
        ),
        source="Spark 4.2, HDFSMetadataLog; recorded cases checkpoint-empty-offset, checkpoint-source-line-cut",
    ),
    FailureRule(
        id="hole-in-log",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        pattern=re.compile(r"batch \d+ (?:doesn't exist|not found in offset log)"),
        words=("exist (startId:", "compactInterval:"),
        source="SPARK-38033, SPARK-26629; recorded cases checkpoint-hole, checkpoint-async-tracking-switched-off",
    ),
    FailureRule(
        id="source-log-gone",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        pattern=re.compile(r"/sources/\d+/\S{1,300} does not exist"),
        source="qubole/kinesis-sql#57",
    ),
    FailureRule(
        id="half-deleted",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        words=(
            "[STREAMING_CHECKPOINT_MISSING_METADATA_FILE]",
            "[STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY]",
            "Invalid UUID string",
        ),
        source="Spark 4.2, SPARK-55058; recorded case checkpoint-metadata-no-uuid",
    ),
    FailureRule(
        id="bare-assertion",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        has_progressed=False,
        words=("java.lang.AssertionError: assertion failed\n",),
        source="Spark 4.2, offsets gone while commits are there: recorded case checkpoint-offsets-gone",
    ),
    FailureRule(
        id="state-file-gone",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        own_remedy=Remedy.RETRY_FEW,
        words=(
            "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_",
            "[CANNOT_LOAD_STATE_STORE.AUTO_SNAPSHOT_REPAIR_FAILED]",
            "[CANNOT_LOAD_STATE_STORE.CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT]",
            "[CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE]",
            "[CANNOT_LOAD_STATE_STORE.INVALID_CHECKPOINT_LINEAGE]",
            "[CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED]",
            "[STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED]",
            "Error reading delta file",
            "Error reading snapshot file",
            "Error reading streaming state file",
            "Mismatch in unique ID on table file",
            "Sst file size mismatch",
        ),
        source="Spark 3.5 to 4.2, SPARK-51717; recorded case state-newest-delta-gone, or the object store for once",
    ),
)

UNREADABLE_STATE = (
    FailureRule(
        id="state-unreadable",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        own_remedy=Remedy.RETRY_FEW,
        words=("[CANNOT_LOAD_STATE_STORE.", "Stream is corrupted"),
        source="Spark 4.2 error classes; recorded case state-delta-cut",
    ),
    FailureRule(
        id="end-of-file",
        failure_class=FailureClass.CORRUPT_CHECKPOINT,
        words=("java.io.EOFException",),
        source="Spark 4.2, an emptied schema file of the state: recorded case state-schema-empty",
    ),
)
