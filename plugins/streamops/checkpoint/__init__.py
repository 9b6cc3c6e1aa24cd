"""Facts on disk of a Structured Streaming checkpoint, read without Spark: names-only listings and bounded reads."""

from streamops.checkpoint.reader import CheckpointFacts, read_checkpoint

__all__ = ["CheckpointFacts", "read_checkpoint"]
