"""`streamops check --sink` and `--delta`: where to look for the sink and the source's table, and how the sink is told."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from streamops.diagnosis.observe_sink import SinkPlace
from streamops.diagnosis.source_table import SourceTable
from streamops.errors import MissingLibraryError
from streamops.sink import DeltaSink, FileSink, Sink, UnreadSink
from streamops.storage.address import canonical_address
from streamops.storage.kinds import storage_for

SinkPath = Annotated[
    str,
    typer.Option(
        "--sink",
        metavar="PATH",
        help="The Delta table or the file sink's folder that the query writes to: compared with the checkpoint.",
        show_default=False,
    ),
]
Applications = Annotated[
    list[str] | None,
    typer.Option(
        "--txn-app-id",
        metavar="ID",
        help="`txnAppId` of a foreachBatch that writes to the sink, if it is not the query's id; may be repeated.",
        show_default=False,
    ),
]
DeltaPath = Annotated[
    str,
    typer.Option(
        "--delta",
        metavar="TABLE",
        help="The Delta table that the query reads: compared with the offsets.",
        show_default=False,
    ),
]


def source_table(path: str) -> SourceTable | None:
    """Where to look; None where no table was named."""
    if not path:
        return None
    address = canonical_address(path, base=os.getcwd())
    return SourceTable(storage=storage_for(address), address=address)


def sink_place(path: str, applications: Sequence[str] | None) -> SinkPlace | None:
    """Where to look; None where no sink was named."""
    if not path:
        return None
    address = canonical_address(path, base=os.getcwd())
    return SinkPlace(storage=storage_for(address), address=address, applications=tuple(applications or ()))


def refuse_without_library(sink: Sink | None) -> None:
    """MissingLibraryError where the sink was asked for and this installation can't read it."""
    if isinstance(sink, UnreadSink) and sink.lacks_library:
        raise MissingLibraryError(sink.reason)


def sink_fields(sink: Sink | None) -> dict[str, object] | None:
    """The sink as JSON has it; None where nobody asked for it."""
    if sink is None:
        return None
    kind = {DeltaSink: "delta", FileSink: "files"}.get(type(sink), "unknown")
    fields: dict[str, object] = {"address": sink.address, "kind": kind}
    if isinstance(sink, DeltaSink | FileSink):
        fields |= {"newest_batch": sink.newest_batch, "recognises_batches": sink.recognises_batches}
    if isinstance(sink, DeltaSink):
        fields |= {"table_id": sink.table.table_id, "table_version": sink.table.version}
    return fields
