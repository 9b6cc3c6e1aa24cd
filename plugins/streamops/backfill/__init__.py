"""Judgement on bounded backfills: from where to where, in which steps, how long, and what the sink makes of it. Pure."""

from streamops.backfill.asked import (
    Expired,
    Missing,
    OffsetBound,
    PatternBound,
    RangeFound,
    RangeRefused,
    RequestedRange,
    StepsFound,
    TimeBound,
    VersionBound,
)
from streamops.backfill.bounds import chunks_of, expired_between, find_range
from streamops.backfill.effects import (
    BackfillEstimate,
    BackfillProgress,
    OwnSink,
    SinkChosen,
    SinkRefused,
    choose_sink,
    estimate_backfill,
    progress_of,
)

__all__ = [
    "BackfillEstimate",
    "BackfillProgress",
    "Expired",
    "Missing",
    "OffsetBound",
    "OwnSink",
    "PatternBound",
    "RangeFound",
    "RangeRefused",
    "RequestedRange",
    "SinkChosen",
    "SinkRefused",
    "StepsFound",
    "TimeBound",
    "VersionBound",
    "choose_sink",
    "chunks_of",
    "estimate_backfill",
    "expired_between",
    "find_range",
    "progress_of",
]
