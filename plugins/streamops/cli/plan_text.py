"""A restart plan for people: what would happen, in one sentence, and then what that rests on."""

from collections.abc import Iterator

from streamops.diagnosis.plan import Safety
from streamops.formatting import moment
from streamops.operations.forecast import StartForecast


def outlook_lines(outlook: StartForecast) -> Iterator[str]:
    """Line by line."""
    plan = outlook.plan
    yield f"{outlook.stream}: a start is {plan.safety}: {plan.summary}"
    if plan.expected_error:
        yield f"  Spark will say: {plan.expected_error}"
    for source in plan.ranges:
        yield f"  its range: {source.start or 'the beginning'} to {source.end or 'open'}"
    if len(outlook.checkpoints) > 1:
        for one in outlook.checkpoints:
            yield f"  {one.checkpoint or 'a companion'}: {one.plan.safety}: {one.plan.summary}"
    if outlook.living_epoch:
        yield f"  the driver of epoch {outlook.living_epoch} may live: this is for the moment after its end"
    if not outlook.is_accepted:
        yield f"  {_refusal(outlook)}"
    until = f" until {moment(outlook.until)} UTC" if outlook.until else ""
    yield f"  next step of its supervisor: {outlook.next_step}{until}, {outlook.reason}"


def _refusal(outlook: StartForecast) -> str:
    if outlook.plan.safety is Safety.UNKNOWN:
        return "no supervisor starts this before what decides can be read"
    return (
        "no supervisor starts this without a person's word:"
        f" `streamops release {outlook.stream} --accept-unsafe --reason …`"
    )
