"""What kinds of failure there are, and what helps against each."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class FailureClass(StrEnum):
    """Why a driver ended; the words go into records, alerts and `status`, so they never change."""

    SCHEMA_CHANGE = "schema-change"
    """The columns of source, sink or query no longer fit each other."""
    DATA_LOSS = "data-loss"
    """The source no longer has what the checkpoint asks for, or has rewritten it: a decision about data."""
    CONCURRENT_WRITER = "concurrent-writer"
    """Somebody else writes the same checkpoint or table."""
    CORRUPT_CHECKPOINT = "corrupt-checkpoint"
    """A file of the checkpoint is missing, cut off, or of another query."""
    STATE_INCOMPATIBLE = "state-incompatible"
    """The job, its settings or its Spark no longer fit what the checkpoint holds: roll back, or begin anew."""
    CODE_ERROR = "code-error"
    """The job, its settings, its libraries, or a record that it can't digest."""
    JOB_STARTS_QUERIES = "job-starts-queries"
    """The job starts queries itself, which nobody would supervise; a job returns its writer from `define`."""
    SINK_UNAVAILABLE = "sink-unavailable"
    SOURCE_UNAVAILABLE = "source-unavailable"
    CREDENTIALS = "credentials"
    """Not known, not allowed, or expired."""
    OUT_OF_MEMORY = "out-of-memory"
    DISK_FULL = "disk-full"
    """No space, or no quota, left where something must be written."""
    CLUSTER_CAPACITY = "cluster-capacity"
    """The manager has no room for driver or executors, or took it away."""
    STORAGE_UNAVAILABLE = "storage-unavailable"
    """The storage of the checkpoint or of the control folder does not answer, or only at times."""
    TRANSIENT = "transient"
    """Known to be healed by a restart."""
    STOPPED_BY_REQUEST = "stopped-by-request"
    ENDED_BY_ITSELF = "ended-by-itself"
    """The query ended without an error."""
    LEASE_LOST = "lease-lost"
    JOB_CHANGED = "job-changed"
    """The job's file was replaced between claim and driver: the next claim is for the file as it is then."""
    KILLED = "killed"
    """Gone without a word, or killed as hung; nothing in the text says more."""
    LAUNCH_FAILED = "launch-failed"
    UNKNOWN = "unknown"


class Remedy(StrEnum):
    """What a supervisor should do next; how long it waits and how often it tries is the policy's."""

    NOW = "now"
    BACK_OFF = "back-off"
    WAIT_FOR_SOURCE = "wait-for-source"
    WAIT_FOR_SINK = "wait-for-sink"
    RETRY_FEW = "retry-few"
    """Twice, then never."""
    NEVER = "never"
    """A restart can only fail the same way, or do harm: a person first."""


DEFAULT_REMEDIES: Mapping[FailureClass, Remedy] = MappingProxyType(
    {
        FailureClass.SCHEMA_CHANGE: Remedy.NEVER,
        FailureClass.DATA_LOSS: Remedy.NEVER,
        FailureClass.CONCURRENT_WRITER: Remedy.NEVER,
        FailureClass.CORRUPT_CHECKPOINT: Remedy.NEVER,
        FailureClass.STATE_INCOMPATIBLE: Remedy.NEVER,
        FailureClass.CODE_ERROR: Remedy.NEVER,
        FailureClass.JOB_STARTS_QUERIES: Remedy.NEVER,
        FailureClass.SINK_UNAVAILABLE: Remedy.WAIT_FOR_SINK,
        FailureClass.SOURCE_UNAVAILABLE: Remedy.WAIT_FOR_SOURCE,
        # Expired tickets are renewed by somebody else and then a restart heals; more tries may lock an account.
        FailureClass.CREDENTIALS: Remedy.RETRY_FEW,
        FailureClass.OUT_OF_MEMORY: Remedy.RETRY_FEW,
        # Room comes back: a log is rotated, a volume grows. A start on a disk that is still full may leave a torn file,
        # which the judgement before the next start finds.
        FailureClass.DISK_FULL: Remedy.RETRY_FEW,
        FailureClass.CLUSTER_CAPACITY: Remedy.BACK_OFF,
        FailureClass.STORAGE_UNAVAILABLE: Remedy.BACK_OFF,
        FailureClass.TRANSIENT: Remedy.BACK_OFF,
        FailureClass.STOPPED_BY_REQUEST: Remedy.NEVER,
        FailureClass.ENDED_BY_ITSELF: Remedy.BACK_OFF,
        FailureClass.LEASE_LOST: Remedy.NOW,
        FailureClass.JOB_CHANGED: Remedy.NOW,
        FailureClass.KILLED: Remedy.NOW,
        FailureClass.LAUNCH_FAILED: Remedy.BACK_OFF,
        FailureClass.UNKNOWN: Remedy.RETRY_FEW,
    }
)
"""What helps unless the rule that recognised the failure knows better."""


ADVICE: Mapping[FailureClass, str] = MappingProxyType(
    {
        FailureClass.CONCURRENT_WRITER: (
            "somebody else writes its checkpoint or table (an old script, a unit that starts it again): find and stop that;"
            " where nobody does, a log of the checkpoint is damaged, which Spark tells in the same words and `streamops check`"
            " tells apart"
        ),
        FailureClass.JOB_STARTS_QUERIES: "let `define` return the writer, and let the runner start it",
    }
)
"""What a person who finds the stream parked should do, where the class alone misleads."""
