"""Facts of Delta tables, read without Spark: which version, which table, and which batches of which query it holds."""

from streamops.deltalog.table import DeltaTableFacts, QueryWrites, read_delta_table

__all__ = ["DeltaTableFacts", "QueryWrites", "read_delta_table"]
