"""Builders of stream specs and of the people around them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from streamops.control.records import Author
from streamops.failures.policy import RestartPolicy
from streamops.spec import (
    KafkaSource,
    LaunchSpec,
    Mode,
    Schedule,
    SinkSpec,
    StreamSpec,
    Timings,
    Trigger,
    TriggerKind,
)
from streamops.spec.sinks import SinkGuarantee

SUPERVISOR = Author(actor="supervise", host="host-1", pid=11)
PERSON = Author(actor="person:ana", host="desk", pid=5)

CHECKPOINT = "file:///data/checkpoints/orders"


def a_stream(
    name: str = "orders",
    *,
    checkpoint: str = CHECKPOINT,
    guarantee: SinkGuarantee = SinkGuarantee.IDEMPOTENT,
    restart: RestartPolicy | None = None,
    **changes: Any,
) -> StreamSpec:
    """A declared stream; its job is a file that exists: this one."""
    spec = StreamSpec(
        name=name,
        job=__file__,
        source=KafkaSource(bootstrap_servers="127.0.0.1:9092", topics=("orders",)),
        sink=SinkSpec(table=f"file:///data/{name}", dead_letters=f"file:///data/{name}_dead", guarantee=guarantee),
        checkpoint=checkpoint,
        launch=LaunchSpec(spark_submit="/opt/spark/bin/spark-submit"),
        restart=restart or RestartPolicy(jitter=0),
    )
    return replace(spec, **changes)


def a_scheduled_stream(name: str = "orders", **changes: Any) -> StreamSpec:
    """A declared stream that runs every hour until it has read all that there is."""
    ending = Trigger(kind=TriggerKind.AVAILABLE_NOW)
    return a_stream(
        name, **{"mode": Mode.SCHEDULED, "schedule": Schedule(cron="@hourly"), "trigger": ending, **changes}
    )


def seconds(number: float) -> timedelta:
    """A duration."""
    return timedelta(seconds=number)


TIMINGS = Timings()
