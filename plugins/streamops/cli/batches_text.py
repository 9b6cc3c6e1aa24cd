"""What batches cost, for people and as JSON."""

from collections.abc import Iterator

from rich import box
from rich.table import Table

from streamops.cli.figures import fine, percent
from streamops.cost.batch_cost import BatchCost, Spread
from streamops.cost.steps import MEANINGS


def heading(stream: str, cost: BatchCost) -> str:
    """Which batches, and how long one takes."""
    query = "" if cost.query == stream else f", query {cost.query or cost.query_id}"
    which = f"batch {cost.last}" if cost.batches == 1 else f"{cost.batches} batches, {cost.first} to {cost.last}"
    return f"{stream}{query}: {which}: median {fine(cost.whole.median)}, 95 % took {fine(cost.whole.p95)} or less"


def step_table(cost: BatchCost) -> Table:
    """A step a line, and what belongs to none."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("step")
    for column in ("median", "95 %", "share"):
        table.add_column(column, justify="right")
    table.add_column("durationMs")
    for step, meaning in zip(cost.steps, MEANINGS, strict=True):
        cells = _cells(step.taken) if step.taken else (meaning.untold or "not told", "", "")
        table.add_row(step.step, *cells, " or ".join(meaning.durations))
    table.add_row("the rest", *_cells(cost.rest), "")
    return table


def step_lines() -> Iterator[str]:
    """What each step does, and what a crash in it repeats."""
    width = max(len(meaning.step) for meaning in MEANINGS)
    yield "If the driver dies in a step, the next start repeats:"
    yield from (f"  {meaning.step:<{width}}  {meaning.after_crash} ({meaning.does})" for meaning in MEANINGS)


def note_lines(cost: BatchCost) -> Iterator[str]:
    """What is odd about these batches."""
    if cost.repeated:
        numbers = ", ".join(map(str, cost.repeated))
        yield f"ran again, with a range that an earlier run had written: batch {numbers}"
    if cost.others:
        yield f"also in durationMs, and no step of Spark 4.2: {', '.join(cost.others)} (within the rest)"


def cost_fields(cost: BatchCost) -> dict[str, object]:
    """As JSON has it; durations in seconds, shares 0 to 1."""
    return {
        "query": cost.query,
        "query_id": cost.query_id,
        "first": cost.first,
        "last": cost.last,
        "batches": cost.batches,
        "whole": _fields(cost.whole),
        "steps": [
            {
                "step": step.step,
                "durations": list(meaning.durations),
                "taken": _fields(step.taken) if step.taken else None,
                "does": meaning.does,
                "after_crash": meaning.after_crash,
                "untold": meaning.untold,
            }
            for step, meaning in zip(cost.steps, MEANINGS, strict=True)
        ],
        "rest": _fields(cost.rest),
        "others": list(cost.others),
        "repeated": list(cost.repeated),
    }


def _cells(taken: Spread) -> tuple[str, str, str]:
    return fine(taken.median), fine(taken.p95), percent(taken.share)


def _fields(taken: Spread) -> dict[str, float]:
    return {"median": taken.median.total_seconds(), "p95": taken.p95.total_seconds(), "share": taken.share}
