"""A restart plan as it is once Kafka was asked. Pure."""

from dataclasses import replace

from streamops.coverage import Coverage
from streamops.coverage.start_effect import Effect, start_effect
from streamops.restart import RestartPlan, Safety

_WAY_OUT = (
    'to go on without them, set `failOnDataLoss: "false"` in the options of the source, release the stream with'
    " --accept-unsafe, and take it back after the first batch"
)


def with_coverage(plan: RestartPlan, coverage: Coverage, *, fails_on_data_loss: bool) -> RestartPlan:
    """What the checkpoint alone forbids stays forbidden; what it allows may still find its records gone."""
    if plan.safety in (Safety.FUTILE, Safety.BLOCKED):
        return plan
    found = start_effect([coverage], fails_on_data_loss=fails_on_data_loss)
    if found.effect is Effect.FAILS:
        summary = f"{found.summary}; {_WAY_OUT}"
        return replace(plan, safety=Safety.FUTILE, summary=summary, expected_error=found.expected_error)
    if found.effect is Effect.LOSES:
        return replace(plan, safety=Safety.UNSAFE, summary=found.summary)
    if found.effect is Effect.UNCONFIRMED and plan.safety is not Safety.UNSAFE:
        return replace(plan, safety=Safety.UNKNOWN, summary=found.summary)
    return plan
