"""Facts on disk of a Structured Streaming checkpoint, read without Spark: names-only listings and bounded reads."""

from streamops.checkpoint.commits import CommitEntry, OperatorStateIds
from streamops.checkpoint.listing import LogListing, Names
from streamops.checkpoint.offsets import OffsetEntry, OffsetHeader
from streamops.checkpoint.reader import BrokenFile, CheckpointFacts, read_checkpoint
from streamops.checkpoint.source_offsets import (
    ContinuousRateOffset,
    DeltaOffset,
    FileOffset,
    KafkaOffset,
    RateMicroBatchOffset,
    RateOffset,
    SourceOffset,
    UnknownOffset,
)

__all__ = [
    "BrokenFile",
    "CheckpointFacts",
    "CommitEntry",
    "ContinuousRateOffset",
    "DeltaOffset",
    "FileOffset",
    "KafkaOffset",
    "LogListing",
    "Names",
    "OffsetEntry",
    "OffsetHeader",
    "OperatorStateIds",
    "RateMicroBatchOffset",
    "RateOffset",
    "SourceOffset",
    "UnknownOffset",
    "read_checkpoint",
]
