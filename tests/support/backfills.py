"""Builders of backfill plans and of offsets, and where hypothesis finds them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from streamops.control.backfill_plan import BackfillPlan
from streamops.control.kafka_offsets import Offsets, Partition

PLANNED_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def offsets(*found: int, topic: str = "orders") -> Offsets:
    """These offsets in the partitions of a topic, from 0 on."""
    return Offsets.of({(topic, number): offset for number, offset in enumerate(found)})


def a_plan(**changes: Any) -> BackfillPlan:
    """Two partitions in two steps, to the stream's own tables."""
    plan = BackfillPlan(
        id="march",
        stream="orders",
        by="person:ana",
        at=PLANNED_AT,
        reason="a wrong rate",
        asked="from 2026-03-01 to 2026-03-02",
        start=offsets(5, 3),
        chunks=(offsets(7, 10), offsets(9, 12)),
        table="file:///data/orders",
        dead_letters="file:///data/orders_dead",
        is_redirected=False,
    )
    return replace(plan, **changes)


_TOPICS = st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True)
PARTITIONS = st.lists(st.tuples(_TOPICS, st.integers(0, 3)), min_size=1, max_size=8, unique=True)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[Offsets, Offsets]:
    """Start and end of a range that holds something."""
    partitions: list[Partition] = draw(PARTITIONS)
    starts = draw(st.lists(st.integers(0, 2**40), min_size=len(partitions), max_size=len(partitions)))
    sizes = st.lists(st.integers(0, 40), min_size=len(partitions), max_size=len(partitions)).filter(any)
    ends = [start + size for start, size in zip(starts, draw(sizes), strict=True)]
    return Offsets.of(dict(zip(partitions, starts, strict=True))), Offsets.of(dict(zip(partitions, ends, strict=True)))
