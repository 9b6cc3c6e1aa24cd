"""`streamops check --kafka`, `--sink`, `--delta`: the broker that is asked, and where sink and source table lie."""

import os
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from streamops.cli.wiring import Wiring
from streamops.diagnosis.checkup import Checkup
from streamops.diagnosis.declared_places import SinkPlace, SourceTable
from streamops.errors import MissingLibraryError
from streamops.kafka.broker import access_of
from streamops.places.sink import DeltaSink, FileSink, Sink, UnreadSink
from streamops.retention.checkup_with_kafka import with_kafka, with_kafka_coverage
from streamops.retention.source_coverage import SourceCoverage, declared_access
from streamops.spec import StreamSpec, TriggerKind
from streamops.storage.address import canonical_address
from streamops.storage.kinds import storage_for


class Answer(StrEnum):
    """One answer."""

    YES = "yes"
    NO = "no"
    AUTO = "auto"
    """Not known: judged by what is there."""

    @property
    def known(self) -> bool | None:
        """None where nobody has said."""
        return {Answer.YES: True, Answer.NO: False}.get(self)


Bootstrap = Annotated[
    str,
    typer.Option(
        "--kafka",
        metavar="BOOTSTRAP",
        help="The servers of the Kafka that the query reads, `host:port,…`: is what it needs still there?",
        show_default=False,
    ),
]


AvailableNow = Annotated[
    Answer,
    typer.Option("--available-now", help="Whether the next start has the trigger availableNow; auto: not known."),
]


def asked_kafka(checkup: Checkup, bootstrap: str, wiring: Wiring, *, is_available_now: bool | None = None) -> Checkup:
    """The checkup with what Kafka adds, where servers are named. SettingsError where they can't be asked at all."""
    if not bootstrap:
        return checkup
    broker = wiring.broker(access_of(bootstrap), wiring.clock)
    return with_kafka(checkup, broker, clock=wiring.clock, is_available_now=is_available_now)


def asked_kafka_of(checkup: Checkup, spec: StreamSpec, wiring: Wiring) -> Checkup:
    """The checkup of a declared stream with what the Kafka that it reads adds, asked as its supervisor asks before a start."""
    if not spec.reads_kafka:
        return checkup
    look = SourceCoverage(
        spec,
        lambda asked: wiring.broker(declared_access(asked), wiring.clock),
        storage=storage_for(spec.checkpoint),
        clock=wiring.clock,
    )
    for coverage in look.of([checkup.snapshot], on_record=()):
        checkup = with_kafka_coverage(
            checkup,
            coverage,
            is_available_now=spec.trigger.kind is TriggerKind.AVAILABLE_NOW,
            fails_on_data_loss=spec.fails_on_data_loss,
        )
    return checkup


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
