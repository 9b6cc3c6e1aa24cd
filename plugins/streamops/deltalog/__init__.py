"""Facts of Delta tables, read without Spark: which version, which table, and which batches of which query it holds."""

from streamops.deltalog.pending import NotableCommit, PendingVersions, RemovedFile, read_pending
from streamops.deltalog.table import DeltaTableFacts, QueryWrites, TableRetention, read_delta_table

__all__ = [
    "DeltaTableFacts",
    "NotableCommit",
    "PendingVersions",
    "QueryWrites",
    "RemovedFile",
    "TableRetention",
    "read_delta_table",
    "read_pending",
]
