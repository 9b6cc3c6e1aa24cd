"""What a function given to `foreachBatch` needs to know of its batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_QUERY_ID = "sql.streaming.queryId"
"""StreamExecution.QUERY_ID_KEY (4.2): a local property of the thread that runs the batch."""


def query_id(batch: "DataFrame") -> str:
    """Id of the query that runs the batch: the same as long as its checkpoint lasts, whichever driver runs it.

    RuntimeError outside of a batch, where there is none.
    """
    found = batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
    if not found:
        raise RuntimeError("no query runs in this thread: call it in the function that is given to foreachBatch")
    return found


@contextmanager
def cached(batch: "DataFrame") -> "Iterator[DataFrame]":
    """The batch, computed once for all that is written of it, and released however that ends.

    Without it each write reads the source and computes the batch anew.
    """
    kept = batch.persist()
    try:
        yield kept
    finally:
        kept.unpersist()
