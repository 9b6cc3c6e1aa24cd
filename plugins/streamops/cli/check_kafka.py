"""`streamops check --kafka`: the broker that is asked."""

from typing import Annotated

import typer

from streamops.cli.check_answer import Answer
from streamops.cli.wiring import Wiring
from streamops.diagnosis.checkup import Checkup
from streamops.kafka.access import access_of
from streamops.retention.checkup_with_kafka import with_kafka, with_kafka_coverage
from streamops.retention.source_coverage import SourceCoverage, declared_access
from streamops.spec import StreamSpec, TriggerKind
from streamops.storage.kinds import storage_for

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
