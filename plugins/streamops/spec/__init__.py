"""What a user declares: one stream, composed of the policies that live beside their judgements."""

from streamops.spec.stream import KafkaSource, LaunchSpec, Mode, SinkSpec, StreamSpec, Timings, Trigger, TriggerKind

__all__ = ["KafkaSource", "LaunchSpec", "Mode", "SinkSpec", "StreamSpec", "Timings", "Trigger", "TriggerKind"]
