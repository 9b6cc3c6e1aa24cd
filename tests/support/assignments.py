"""A builder of assignments."""

from typing import Any

from streamops.control.assignment import Assignment, KafkaInput
from streamops.control.records import ClaimMode
from support.specs import CHECKPOINT, TIMINGS, seconds


def an_assignment(**changes: Any) -> Assignment:
    """The work of a driver of the stream `orders`."""
    return Assignment(
        **{
            "stream": "orders",
            "epoch": 1,
            "token": "t-1",
            "mode": ClaimMode.LIVE,
            "job": "/jobs/orders.py",
            "job_sha256": "0" * 64,
            "checkpoint": CHECKPOINT,
            "source": KafkaInput(bootstrap_servers="broker:9092", topics=("orders",)),
            "table": "file:///data/orders",
            "dead_letters": "file:///data/orders_dead",
            "trigger_kind": "processing_time",
            "trigger_interval": seconds(10),
            "beat": TIMINGS.beat,
            "halt": TIMINGS.halt,
            "stop": TIMINGS.stop,
            **changes,
        }
    )
