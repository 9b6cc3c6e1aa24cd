"""What a function given to `foreachBatch` needs to know of its batch, and where a sink's secrets lie."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamops.errors import SettingsError

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


def read_secret(path: str, setting: str) -> str:
    """The first line of the file.

    SettingsError, with the setting that names it, where it can't be read, others may read it, or the line is empty.
    """
    try:
        with open(path, encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise SettingsError(f"{setting}: {path} has mode {mode:04o}, and others may read it: chmod 600 {path}")
            secret = file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{setting}: {path} can't be read: {error}") from error
    if not secret:
        raise SettingsError(f"{setting}: {path} holds nothing in its first line")
    return secret
