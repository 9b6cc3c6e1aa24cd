"""What a start meets in the input folder of a file source."""

from dataclasses import replace

from streamops.checkpoint.input_files import InputFacts
from streamops.restart.plan import RestartPlan, Safety


def with_input(plan: RestartPlan, found: InputFacts) -> RestartPlan:
    """The plan as it is once the folder was looked into. One that is worse already stays.

    In a folder without anything that was read before, a start fails with `Wrong basePath` while the last batch is planned
    again, or reads all files there as new (3.5 to 4.3).
    """
    if plan.safety not in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT) or not found.is_moved:
        return plan
    return replace(
        plan,
        safety=Safety.UNSAFE,
        summary=f"{plan.summary}; but nothing that was read lies below {found.address!r}: it fails, or reads all files there"
        " as new",
    )
