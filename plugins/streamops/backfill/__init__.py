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
from streamops.backfill.bounds import expired_between, find_range
from streamops.backfill.chunks import chunks_of
from streamops.backfill.estimate import BackfillEstimate, estimate_backfill
from streamops.backfill.progress import BackfillProgress, progress_of
from streamops.backfill.sink_effect import OwnSink, SinkChosen, SinkRefused, choose_sink

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
