"""Is what a query needs next still there, and until when? Pure: positions and broker facts in, judgement out."""

from streamops.retention.cover import SECOND_LOOK, Coverage, OffsetRange, PartitionCoverage, PartitionState, cover
from streamops.retention.needs import PartitionNeed, SourceNeeds, needs_of

__all__ = [
    "SECOND_LOOK",
    "Coverage",
    "OffsetRange",
    "PartitionCoverage",
    "PartitionNeed",
    "PartitionState",
    "SourceNeeds",
    "cover",
    "needs_of",
]
