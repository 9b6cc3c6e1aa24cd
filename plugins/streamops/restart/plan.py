"""What Spark 4.2 will do if started on a checkpoint now, and whether that is acceptable.

The rows rest on damaged checkpoints restarted on real Spark 4.2; the codes in brackets name the kind of damage.
"""

from dataclasses import dataclass
from enum import StrEnum

from streamops.checkpoint import CheckpointFacts
from streamops.control.records import Position


class Safety(StrEnum):
    """What a start would mean for the data."""

    SAFE = "safe"
    """Nothing is repeated, nothing is lost."""
    SAFE_IF_IDEMPOTENT = "safe-if-idempotent"
    """A batch that the sink may have accepted already is run again."""
    FUTILE = "futile"
    """It can only fail, the same way each time."""
    UNSAFE = "unsafe"
    """It would lose or repeat data in silence."""
    BLOCKED = "blocked"
    """Something else must be settled first: another owner, a person's word."""
    UNKNOWN = "unknown"
    """What decides the next batch could not be read."""


class SinkGuarantee(StrEnum):
    """What the sink makes of a batch that it gets twice."""

    IDEMPOTENT = "idempotent"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE_OR_NOTHING = "exactly-once-or-nothing"
    """A repeated batch would be wrong, and the sink can't recognise it."""

    def accepts(self, safety: Safety) -> bool:
        """Whether a start with this safety may go ahead without a person."""
        if safety is Safety.SAFE_IF_IDEMPOTENT:
            return self is not SinkGuarantee.EXACTLY_ONCE_OR_NOTHING
        return safety is Safety.SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPlan:
    """One answer before a start."""

    safety: Safety
    summary: str
    next_batch: int | None = None
    reruns: tuple[int, ...] = ()
    expected_error: str = ""


def plan_restart(facts: CheckpointFacts, *, known: Position | None) -> RestartPlan:
    """The plan for a start now; `known` is the position that the control log recorded last.

    Order: what keeps Spark from starting at all comes first, then what it would do in silence, then the healthy shapes.
    """
    for rule in (_broken_file, _missing_metadata, _moved_back, _commits_ahead, _missing_previous):
        if plan := rule(facts, known):
            return plan
    if facts.is_new:
        return RestartPlan(safety=Safety.SAFE, summary="new checkpoint: batch 0 is the first", next_batch=0)
    if facts.has_pending_batch:
        return RestartPlan(
            safety=Safety.SAFE_IF_IDEMPOTENT,
            summary=f"batch {facts.last_offset} was planned but not committed: it runs again with exactly its range",
            next_batch=facts.last_offset,
            reruns=(facts.last_offset,),
        )
    return RestartPlan(
        safety=Safety.SAFE,
        summary=f"batch {facts.last_commit} is committed: batch {facts.last_commit + 1} is planned next",
        next_batch=facts.last_commit + 1,
    )


def _broken_file(facts: CheckpointFacts, known: Position | None) -> RestartPlan | None:
    """A file that Spark reads at the start can't be read: the query fails each time [P7, P8, P11, P15]."""
    if not facts.broken:
        return None
    first = facts.broken[0]
    return RestartPlan(
        safety=Safety.FUTILE,
        summary=f"{first.file} can't be read: {first.reason}",
        expected_error="Incomplete log file" if "empty" in first.reason else first.reason,
    )


def _missing_metadata(facts: CheckpointFacts, known: Position | None) -> RestartPlan | None:
    """Logs without `metadata`: 4.2 refuses the start [P11a]."""
    if facts.query_id or facts.is_new:
        return None
    return RestartPlan(
        safety=Safety.FUTILE,
        summary="metadata is missing while batches are logged: put the file with the old query id back",
        expected_error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    )


def _moved_back(facts: CheckpointFacts, known: Position | None) -> RestartPlan | None:
    """The checkpoint is behind its own past: Delta would drop the re-used batch ids in silence [P16c, restored backup]."""
    if known is None or not known.query_id or known.offset < 0:
        return None
    has_lost_batches = facts.last_offset < known.offset
    if not has_lost_batches or (facts.query_id and facts.query_id != known.query_id):
        return None
    return RestartPlan(
        safety=Safety.UNSAFE,
        summary=f"the control log has seen batch {known.offset}, the checkpoint ends at {facts.last_offset}: it was"
        " restored from an older copy or partly deleted; idempotent sinks would drop the batches that come again",
        next_batch=max(facts.last_offset, 0),
    )


def _commits_ahead(facts: CheckpointFacts, known: Position | None) -> RestartPlan | None:
    """A commit without its offset entry: Spark runs an old batch again and then fails, at every start [P2, P10]."""
    if facts.last_commit <= facts.last_offset:
        return None
    return RestartPlan(
        safety=Safety.UNSAFE,
        summary=f"commits reach batch {facts.last_commit}, offsets only {facts.last_offset}: each start would write batch"
        f" {max(facts.last_offset, 0)} again before it fails",
        next_batch=max(facts.last_offset, 0),
        reruns=(max(facts.last_offset, 0),),
        expected_error="CONCURRENT_STREAM_LOG_UPDATE",
    )


def _missing_previous(facts: CheckpointFacts, known: Position | None) -> RestartPlan | None:
    """Spark always reads the entry below the newest as well [P4]."""
    if facts.has_previous_offset:
        return None
    missing = facts.last_offset - 1
    return RestartPlan(
        safety=Safety.FUTILE,
        summary=f"offsets/{missing} is missing, and Spark reads it at each start: restore it",
        expected_error=f"batch {missing} doesn't exist",
    )
