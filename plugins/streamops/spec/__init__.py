"""What a user declares: one stream, composed of the policies that live beside their judgements."""

from streamops.spec.stream import (
    CatchupSpec,
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

__all__ = [
    "CatchupSpec",
    "KafkaSource",
    "LaunchSpec",
    "Mode",
    "Schedule",
    "SinkSpec",
    "StreamSpec",
    "Timings",
    "Trigger",
    "TriggerKind",
]
