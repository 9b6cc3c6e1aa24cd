"""What a user declares: one stream, composed of the policies that live beside their judgements."""

from streamops.spec.sources import DeltaTableSource, FileFormat, FilesSource, KafkaSource, Source
from streamops.spec.stream import (
    CatchupSpec,
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
    "DeltaTableSource",
    "FileFormat",
    "FilesSource",
    "KafkaSource",
    "LaunchSpec",
    "Mode",
    "Schedule",
    "SinkSpec",
    "Source",
    "StreamSpec",
    "Timings",
    "Trigger",
    "TriggerKind",
]
