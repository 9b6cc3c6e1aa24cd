"""What a watermark lets in: by a sample of delays, each the time from an event to its arrival. Pure."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from datetime import timedelta

from streamops.cost.figure import Estimate, Figure, Origin, Unit, lasting

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
