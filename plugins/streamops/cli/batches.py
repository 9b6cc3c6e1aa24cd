"""`streamops batches`: the steps of a batch with their times."""

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from streamops.cli.batches_text import cost_fields, heading, note_lines, step_lines, step_table
from streamops.cli.console import PrintableConsole
from streamops.cli.options import AsJson, Stream, session_of
from streamops.control.layout import control_folder
from streamops.cost.batch_cost import BatchCost, batch_costs
from streamops.diagnosis.last_progress import last_progress
from streamops.storage.kinds import storage_for

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
