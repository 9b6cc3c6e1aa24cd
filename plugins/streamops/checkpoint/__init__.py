"""Facts on disk of a Structured Streaming checkpoint, read without Spark: names-only listings and bounded reads."""

from streamops.checkpoint.layout import Damage
from streamops.checkpoint.reader import BrokenFile, CheckpointFacts, read_checkpoint

__all__ = ["BrokenFile", "CheckpointFacts", "Damage", "read_checkpoint"]
