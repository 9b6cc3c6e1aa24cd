"""Appending a batch to a Delta table once, however often it runs."""

from typing import TYPE_CHECKING

from streamops.spark.sinks.batch import query_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def append_once(batch: "DataFrame", table: str, number: int, *, name: str = "") -> None:
    """Append it to the table, unless the table has the batch of that number of this query.

    Delta keeps an application's newest transaction version in its log, and skips a write with none that is newer
    (`txnAppId`, `txnVersion`; Delta 2.0). The application is the query, as of Delta's own sink, so that `streamops check`
    finds the batch in the table. A second write of one batch to the same table would be skipped as a repetition: give each
    further one a `name`; those `streamops check` does not look for.
    """
    application = f"{query_id(batch)}/{name}" if name else query_id(batch)
    writer = batch.write.format("delta").mode("append")
    writer.option("txnAppId", application).option("txnVersion", number).save(table)
