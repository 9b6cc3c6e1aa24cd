"""The plan of a backfill in sentences. Pure."""

from collections.abc import Iterator

from streamops.backfill.backfill_service import PlannedBackfill
from streamops.control.backfill_places import FilesPlace, TablePlace
from streamops.control.backfill_plan import BackfillPlan
from streamops.control.kafka_offsets import Offsets
from streamops.diagnosis.checkup_text import printable

_SHOWN = 12
"""Partitions or files that a plan names."""


def plan_lines(planned: PlannedBackfill) -> Iterator[str]:
    """The plan, a fact a line."""
    plan = planned.refuse()
    yield f"backfill {plan.id} of {plan.stream}: {plan.asked}"
    yield f"  because  {plan.reason}"
    yield f"  reads    {plan.records} {plan.counted_in}{_of_what(plan)} in {len(plan.chunks)} steps"
    yield from (f"           {line}" for line in range_lines(plan))
    yield f"  writes   {plan.table}{'' if plan.is_redirected else ', the table of the stream itself'}"
    if planned.estimate and planned.estimate.seconds is not None:
        about = "at most" if planned.estimate.is_ceiling else "about"
        yield f"  takes    {about} {planned.estimate.seconds:.0f} s ({planned.estimate.reason})"
    elif planned.estimate:
        yield f"  takes    nobody knows how long: {planned.estimate.reason}"
    yield from (f"  note     {note}" for note in plan.notes)
    yield from (f"  MISSING  {one}" for one in planned.expired)


def _of_what(plan: BackfillPlan) -> str:
    return f" of {len(plan.start.positions)} partitions" if isinstance(plan.start, Offsets) else ""


def range_lines(plan: BackfillPlan) -> Iterator[str]:
    """The partitions, the versions, or the files."""
    start, end = plan.start, plan.end
    if isinstance(start, Offsets) and isinstance(end, Offsets):
        yield from _partition_lines(start, end)
    elif isinstance(start, TablePlace) and isinstance(end, TablePlace):
        yield f"versions {start.version} to {end.version - 1} of table {printable(start.table_id)}"
    else:
        files = [file for step in plan.chunks if isinstance(step, FilesPlace) for file in step.files]
        yield from (printable(file.address) for file in files[:_SHOWN])
        if len(files) > _SHOWN:
            yield f"and {len(files) - _SHOWN} files more"


def _partition_lines(first: Offsets, last: Offsets) -> Iterator[str]:
    """`orders-0 [5, 105): 100`"""
    places = list(zip(first.positions, last.positions, strict=True))
    for start, end in places[:_SHOWN]:
        yield f"{start.topic}-{start.partition} [{start.offset}, {end.offset}): {end.offset - start.offset}"
    if len(places) > _SHOWN:
        yield f"and {len(places) - _SHOWN} partitions more"


def refusal_lines(stream: str, planned: PlannedBackfill) -> Iterator[str]:
    """Why it is refused, and what is missing."""
    for refusal in planned.refusals:
        yield f"backfill of {stream} refused: {refusal}"
    yield from (f"  MISSING  {one}" for one in planned.expired)
