"""How long a backfill takes, by the batches that the stream's queries ran last. Pure."""

from dataclasses import dataclass
from datetime import timedelta

from streamops.progress import ProgressHistory
from streamops.retention.catch_up import throughput_of

START = timedelta(seconds=40)
"""From the submit of a driver until its first step has begun to write: 30 to 45 s on two busy cores, with Delta (measured)."""
STEP = timedelta(seconds=2)
"""What a step costs beside its records: 0.5 s around its batch, and a Delta append of a few records takes 2 s (measured)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillEstimate:
    """How long it takes from the submit on."""

    seconds: float | None
    """None where nobody can tell."""
    is_ceiling: bool = False
    """Whether it may be much less: the query was never seen with more to read than it could."""
    reason: str = ""


def estimate_backfill(records: int, steps: int, history: ProgressHistory) -> BackfillEstimate:
    """The estimate for so many records in so many steps, by a driver that reads as fast as the one of the history.

    Where that was given less to read than it could, a batch costs nearly as much time as a larger one: the estimate is a ceiling.
    """
    throughput = throughput_of(history)
    if throughput is None:
        return BackfillEstimate(seconds=None, reason="how fast the job reads is not known: no batch of it was seen")
    seconds = records / max(throughput.records_per_second, 0.001) + steps * STEP.total_seconds() + START.total_seconds()
    told = f"{throughput.records_per_second:.0f} records a second"
    return BackfillEstimate(
        seconds=round(seconds, 1),
        is_ceiling=not throughput.is_loaded,
        reason=f"by {told} of its last batches" if throughput.is_loaded else f"it was seen to read {told} at least",
    )
