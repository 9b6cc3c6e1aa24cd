"""What a user declares: one stream, composed of the policies that live beside their judgements."""

from streamops.spec.sinks import (
    TRACKS_PROGRESS_ASYNC,
    CustomSink,
    FilesSink,
    JdbcSink,
    KafkaSink,
    RestSink,
    SinkSpec,
)
from streamops.spec.sources import CustomSource, DeltaTableSource, FileFormat, FilesSource, KafkaSource, Source
from streamops.spec.state import StateSpec, StateStore
from streamops.spec.stream import (
    AirflowSpec,
    CatchupSpec,
    Keep,
    LaunchSpec,
    Mode,
    Schedule,
    StreamSpec,
    Timings,
    Trigger,
    TriggerKind,
)

__all__ = [
    "TRACKS_PROGRESS_ASYNC",
    "AirflowSpec",
    "CatchupSpec",
    "CustomSink",
    "CustomSource",
    "DeltaTableSource",
    "FileFormat",
    "FilesSink",
    "FilesSource",
    "JdbcSink",
    "KafkaSink",
    "KafkaSource",
    "Keep",
    "LaunchSpec",
    "Mode",
    "RestSink",
    "Schedule",
    "SinkSpec",
    "Source",
    "StateSpec",
    "StateStore",
    "StreamSpec",
    "Timings",
    "Trigger",
    "TriggerKind",
]
