"""What a sink that knows batches makes of a start: fresh batches that it would drop, a repeated one that it passes over."""

from dataclasses import replace

from streamops.checkpoint import CheckpointFacts
from streamops.restart.plan import RestartPlan, Safety
from streamops.sink import SinkView, newest_batch, recognises_batches


def with_sink(plan: RestartPlan, facts: CheckpointFacts, view: SinkView) -> RestartPlan:
    """The plan as it is once the sink was asked.

    A sink that is ahead comes first: it drops batches whether one runs again or not. A plan that already is worse than
    `safe-if-idempotent` stays, for no sink makes it better.
    """
    if plan.safety not in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT) or plan.next_batch is None:
        return plan
    ahead = newest_batch(view.before)
    if ahead is not None and ahead > facts.last_offset:
        return replace(
            plan,
            safety=Safety.UNSAFE,
            summary=f"{plan.summary}; but the sink has batch {ahead} of this query already, and drops every batch up to that"
            " without an error",
        )
    latest = newest_batch(view.latest)
    if plan.safety is Safety.SAFE or latest is None or not recognises_batches(view.latest):
        return plan
    drops = (
        f"the sink has it, and drops it then: nothing is repeated, batch {facts.last_offset + 1} is the next to count"
    )
    is_had = latest >= facts.last_offset
    return replace(
        plan,
        safety=Safety.SAFE,
        summary=f"{plan.summary}; {drops if is_had else 'the sink does not have it yet'}",
    )
