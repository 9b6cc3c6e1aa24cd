"""Writing a batch as files that its next run replaces."""

from typing import TYPE_CHECKING

from streamops.control.assignment import FilesOutput
from streamops.spark.sinks.batch import query_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def replace_batch(rows: "DataFrame", to: FilesOutput, number: int) -> None:
    """Write the rows into `query=<id>/batch=<number>/` below the folder, in place of what an earlier run left there.

    Readers get both as columns; ValueError where the rows have one of that name. A reader that looks while the batch runs
    again finds its folder empty for a moment; the rows that it finds later are the same.
    """
    if taken := {"query", "batch"} & {name.lower() for name in rows.columns}:
        raise ValueError(
            f"the rows have {', '.join(sorted(taken))}, which is how readers find query and batch: rename it"
        )
    folder = f"{to.path}/query={query_id(rows)}/batch={number}"
    rows.write.format(to.format).mode("overwrite").save(folder)
