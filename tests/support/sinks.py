"""Sinks as a look at them finds them."""

from streamops.deltalog import DeltaTableFacts, QueryWrites
from streamops.places.sink import DeltaSink, FileSink, SinkView
from streamops.places.sink_log import read_sink_log
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.base_checkpoint import BASE_ID
from support.delta_table import TABLE_ID

TABLE = "file:///tables/orders"
OUTPUT = "file:///out/orders"


def delta_sink(newest=None, *, query_id=BASE_ID, writers=None, applications=()):
    """A table that Delta's own sink wrote for the query of the base checkpoint, up to a batch; none for None.

    `writers`: pairs of query id and newest batch in the last commits, where they are others.
    """
    if writers is None:
        writers = () if newest is None else ((query_id, newest),)
    transactions = () if newest is None else ((applications[0] if applications else query_id, newest),)
    table = DeltaTableFacts(
        address=TABLE,
        table_id=TABLE_ID,
        version=9,
        transactions=transactions,
        recent_writers=tuple(QueryWrites(query_id=writer, newest_batch=batch) for writer, batch in writers),
    )
    return DeltaSink(table=table, query_id=query_id, applications=tuple(applications))


def file_sink(*names):
    """A file sink's directory with these names in its log."""
    storage = MemoryStorage()
    for name in names:
        storage.write(join(OUTPUT, "_spark_metadata", str(name)), b"v1")
    return FileSink(log=read_sink_log(storage, OUTPUT))


def still(sink):
    """A sink that did not change while the checkpoint was read."""
    return SinkView(before=sink, latest=sink)
