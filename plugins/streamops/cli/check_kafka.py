"""`streamops check --kafka`: the broker that is asked."""

from typing import Annotated

import typer

from streamops.cli.check_answer import Answer
from streamops.cli.wiring import Wiring
from streamops.kafka.access import access_of
from streamops.supervisor.checks.checkup import Checkup
from streamops.supervisor.checks.kafka_look import with_kafka

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
