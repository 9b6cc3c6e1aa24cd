"""What the registry adds to a plan: a checkpoint that was there before and is not there now is missing, not new."""

from dataclasses import replace

from streamops.checkpoint import CheckpointFacts
from streamops.control.registry import RegistryEntry
from streamops.restart.plan import RestartPlan, Safety


def has_run(entry: RegistryEntry | None, checkpoint: str) -> bool:
    """Whether the registry knows that a driver was on a checkpoint, so that its control log has a claim, wherever it is."""
    return entry is not None and entry.checkpoint == checkpoint and (entry.was_submitted or bool(entry.query_id))


def is_missing(entry: RegistryEntry | None, facts: CheckpointFacts, *, has_claims: bool) -> bool:
    """Whether nothing is there of a checkpoint that a query had, by the registry's word.

    A known query id says so. Without one, a driver that was submitted may have died before it wrote anything: then the log
    has its claim. A log that has not is gone as well, as happens where a volume is not mounted.
    """
    if not has_run(entry, facts.address) or facts.query_id or not facts.is_new or facts.broken:
        return False
    return bool(entry and entry.query_id) or not has_claims


def with_registry(
    plan: RestartPlan, facts: CheckpointFacts, entry: RegistryEntry | None, *, has_claims: bool
) -> RestartPlan:
    """The plan as it is once the registry was asked; one that is worse already stays."""
    if plan.safety not in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT) or entry is None:
        return plan
    if not is_missing(entry, facts, has_claims=has_claims):
        return plan
    known = f"query {entry.query_id}" if entry.query_id else "a driver of this stream"
    lost = "" if has_claims else ", nor is its control log"
    return replace(
        plan,
        safety=Safety.UNSAFE,
        summary=f"the registry knows {known} on this checkpoint, and nothing is there{lost}: its volume is not mounted, or it"
        " was deleted; a start would begin anew, and lose or repeat what the query has read",
    )
