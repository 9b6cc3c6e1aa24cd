"""`streamops batches`: the steps of a batch with their times."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from streamops.cli.options import AsJson, Stream, session_of
from streamops.control.layout import control_folder
from streamops.cost.batch_cost import MEANINGS, BatchCost, Spread, batch_costs
from streamops.diagnosis.last_progress import last_progress
from streamops.storage.kinds import storage_for
from streamops.terminal.console import PrintableConsole, fine, percent


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


_UNBOUNDED = 10_000


def batches(
    context: typer.Context,
    stream: Stream,
    last: Annotated[
        int, typer.Option("--last", metavar="N", min=1, help="How many batches, the newest ones; a driver keeps 50.")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the eight steps of a batch, how long each took lately, and what a crash in each would repeat.

    The times are Spark's own (`durationMs` of its progress), as the driver that ran a batch last has kept them, for each of
    its queries. Progress does not tell the start of a trigger, nor the sink's commit apart from the tasks. Reads only.

    Exit code 0: batches are known. 4: none is.
    """
    spec = session_of(context).spec(stream)
    history = last_progress(storage_for(spec.checkpoint), control_folder(spec.checkpoint))
    costs = batch_costs(history, last=last)
    if as_json:
        document = {"stream": stream, "queries": [cost_fields(cost) for cost in costs], "broken": history.broken}
        sys.stdout.write(json.dumps(document, ensure_ascii=True, indent=2) + "\n")
    else:
        _show(stream, costs, broken=history.broken)
    raise typer.Exit(0 if costs else 4)


def _show(stream: str, costs: Sequence[BatchCost], *, broken: int) -> None:
    console = PrintableConsole()
    if not console.is_terminal:
        console.width = _UNBOUNDED
    if not costs:
        console.print(f"{stream}: no driver has kept a batch: the newest ten ran none, or their folders are gone")
    for cost in costs:
        console.print(heading(stream, cost))
        console.print(step_table(cost), soft_wrap=False)
        for line in note_lines(cost):
            console.print(line)
        console.print()
    if broken:
        console.print(f"{broken} lines of the progress file are no progress event, and were passed over")
    if costs:
        for line in step_lines():
            console.print(line)
