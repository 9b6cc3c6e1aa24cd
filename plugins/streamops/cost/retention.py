"""How long a source must keep its records, so that an outage loses none. Pure."""

from datetime import timedelta

from streamops.cost.figure import Estimate, Figure, Origin, Unit, lasting
from streamops.retention.catch_up import Throughput, catch_up
from streamops.retention.growth import LONGEST

_MILLISECOND = timedelta(milliseconds=1)

_FORMULA = "retention = outage + restart + catch-up"
_NOTES = (
    "outage and restart alone keep a record just until it is read; the catch-up is the margin for another stop meanwhile",
    "of a limit of size (retention.bytes) it says nothing: `streamops lag` tells what was seen to be deleted",
)


def retention(outage: Figure, restart: Figure, caught_up: Figure) -> Estimate:
    """Retention that lasts for the longest outage that is tolerated, the restart after it, and the catch-up."""
    return _needed((outage, restart, caught_up), caught_up.duration)


def retention_at_pace(outage: Figure, restart: Figure, rate: Figure, throughput: Figure, *, is_most: bool) -> Estimate:
    """The same with the catch-up by what is written and what is read a second; without a result where it never gets there.

    `is_most`: whether the query can read no more, so that reading too little means for ever.
    """
    waits = rate.number * (outage.duration + restart.duration).total_seconds()
    reads = Throughput(records_per_second=throughput.number, is_loaded=is_most)
    caught = catch_up(round(waits), reads, growth=rate.number)
    inputs = (outage, restart, rate, throughput)
    if caught.duration is None or caught.duration >= LONGEST:
        reason = (
            caught.reason
            if caught.duration is None
            else f"{caught.reason}: it takes {LONGEST.days} days or more to catch up"
        )
        return Estimate(inputs=inputs, results=(), formula=_FORMULA, notes=(reason,))
    told = Figure(name="waits then", value=waits, unit=Unit.RECORDS, origin=Origin.ESTIMATED)
    figure = lasting("catch-up", caught.duration, Origin.ESTIMATED, "what waits then / (throughput - rate)")
    return _needed((*inputs, told, figure), caught.duration)


def _needed(inputs: tuple[Figure, ...], caught_up: timedelta) -> Estimate:
    outage, restart, *_ = inputs
    needed = outage.duration + restart.duration + caught_up
    result = lasting("retention needed", needed, Origin.ESTIMATED, f"retention.ms {needed // _MILLISECOND}")
    return Estimate(inputs=inputs, results=(result,), formula=_FORMULA, notes=_NOTES)
