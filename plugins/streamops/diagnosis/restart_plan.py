"""What a start would do, as it is told before one. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from streamops.spec.sinks import SinkGuarantee


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


SAFETIES = (
    Safety.SAFE,
    Safety.SAFE_IF_IDEMPOTENT,
    Safety.UNKNOWN,
    Safety.BLOCKED,
    Safety.UNSAFE,
    Safety.FUTILE,
)
"""From best to worst."""


def accepts(guarantee: SinkGuarantee, safety: Safety) -> bool:
    """Whether a start with this safety may go ahead without a person, by what the sink makes of a batch that it gets twice."""
    if safety is Safety.SAFE_IF_IDEMPOTENT:
        return guarantee is not SinkGuarantee.EXACTLY_ONCE_OR_NOTHING
    return safety is Safety.SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRange:
    """What the first batch reads of one source, as the offset log has it; None for "not yet" and "not planned yet"."""

    start: str | None
    end: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPlan:
    """One answer before a start."""

    safety: Safety
    summary: str
    next_batch: int | None = None
    """The first batch that runs; None where none does."""
    reruns: tuple[int, ...] = ()
    """Batches that ran before and run again."""
    expected_error: str = ""
    """A piece of the error's text; empty where the start succeeds, or the text is not known."""
    ranges: tuple[SourceRange, ...] = ()
    """What the first batch reads of each source, where it runs again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    """What a start would do on one of a stream's checkpoints."""

    checkpoint: str
    """Its address; empty for one that can't be named."""
    plan: RestartPlan


UNREAD = RestartPlan(safety=Safety.UNKNOWN, summary="the checkpoint was not read while a driver may live")
