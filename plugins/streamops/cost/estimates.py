"""Estimates from given figures: what a watermark lets in, how long a record takes, how long a source must keep it. Pure."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from datetime import timedelta

from streamops.cost.figure import Estimate, Figure, Origin, Unit, lasting
from streamops.retention.growth import LONGEST, Throughput, catch_up

_NOTES = (
    "the watermark follows the newest event that was seen, once a batch, so Spark drops fewer; events that bear a time of the"
    " future move it on, and it drops more",
    "what comes behind the watermark is dropped only if its window is over, too",
)


def included_by(delays: Sequence[timedelta], watermark: timedelta) -> Estimate:
    """The share of events whose delay the watermark covers: P(delay <= watermark). ValueError for an empty sample."""
    ordered = _ordered(delays)
    within = bisect_right(ordered, watermark)
    return Estimate(
        inputs=(_sample(ordered), lasting("watermark", watermark, Origin.GIVEN)),
        results=(
            Figure(
                name="included",
                value=within / len(ordered),
                unit=Unit.SHARE,
                origin=Origin.ESTIMATED,
                note=f"{within} of {len(ordered)}",
            ),
        ),
        formula="included = P(delay <= watermark)",
        notes=(*_NOTES, *_beyond(ordered, watermark)),
    )


def watermark_for(delays: Sequence[timedelta], share: float) -> Estimate:
    """The shortest watermark that covers this share of the sample, by nearest rank. ValueError for an empty sample.

    `share` is above 0, and 1 at most.
    """
    ordered = _ordered(delays)
    needed = ordered[math.ceil(share * len(ordered)) - 1]
    return Estimate(
        inputs=(
            _sample(ordered),
            Figure(name="share", value=share, unit=Unit.SHARE, origin=Origin.GIVEN),
        ),
        results=(
            lasting("watermark needed", needed, Origin.ESTIMATED, "the smallest delay that so many do not exceed"),
        ),
        formula="the smallest delay d with P(delay <= d) >= share",
        notes=(*_NOTES, *_too_few(len(ordered), share)),
    )


def _ordered(delays: Sequence[timedelta]) -> list[timedelta]:
    if not delays:
        raise ValueError("the sample is empty")
    return sorted(delays)


def _sample(ordered: Sequence[timedelta]) -> Figure:
    middle, longest = ordered[(len(ordered) - 1) // 2], ordered[-1]
    return Figure(
        name="sample",
        value=len(ordered),
        unit=Unit.RECORDS,
        origin=Origin.MEASURED,
        note=f"delays from {ordered[0].total_seconds():g} s to {longest.total_seconds():g} s,"
        f" half of them {middle.total_seconds():g} s or less",
    )


def _beyond(ordered: Sequence[timedelta], watermark: timedelta) -> tuple[str, ...]:
    if ordered[-1] > watermark:
        return ()
    return (
        f"no delay of the sample is longer: of all events, up to {300 / len(ordered):.2g} % may be (95 % sure, rule of three)",
    )


def _too_few(size: int, share: float) -> tuple[str, ...]:
    """The rule of three: what did not happen in n cases happens in up to 3/n of them, with 95 % confidence."""
    if share == 1:
        return ("no watermark includes every event there may be: this is the longest delay of the sample",)
    needed = math.ceil(round(3 / (1 - share), 6))
    if size >= needed:
        return ()
    return (f"the sample is small for this share: {needed} delays or more would tell, it has {size}",)


def latency(interval: Figure, processing: Figure) -> Estimate:
    """The latency of a micro-batch query with a trigger interval, while it keeps up with its input.

    A record waits for the next trigger and is then processed with its batch. Where batches take longer than the interval, the
    next one begins when the one before has ended (ProcessingTimeExecutor, Spark 4.2.0), so it is that which a record waits for.
    """
    pace = max(interval.duration, processing.duration)
    notes = ["no record waits behind others: a query that is behind (`streamops lag`) adds its backlog"]
    if processing.duration > interval.duration:
        notes.append("batches take longer than the interval: each begins when the one before has ended")
    return Estimate(
        inputs=(interval, processing),
        results=(
            lasting("soonest", processing.duration, Origin.ESTIMATED, "for a record that comes just before a trigger"),
            lasting("minimum to plan with", pace, Origin.ESTIMATED, "from one batch to the next"),
            lasting(
                "maximum", pace + processing.duration, Origin.ESTIMATED, "for a record that comes just after a trigger"
            ),
        ),
        formula="minimum = the trigger interval, or processing where that is longer; maximum = minimum + processing",
        notes=tuple(notes),
    )


_MILLISECOND = timedelta(milliseconds=1)

_FORMULA = "retention = outage + restart + catch-up"
_RETENTION_NOTES = (
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
    return Estimate(inputs=inputs, results=(result,), formula=_FORMULA, notes=_RETENTION_NOTES)
