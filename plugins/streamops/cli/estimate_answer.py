"""The answer of an estimate, shown as text or JSON."""

import json
import sys
from dataclasses import dataclass
from typing import NoReturn

import typer

from streamops.cli.console import PrintableConsole
from streamops.cli.estimate_text import estimate_fields, estimate_lines, state_fields, state_lines
from streamops.cli.figures import percent
from streamops.cost.figure import Estimate
from streamops.cost.state import OperatorState

_UNBOUNDED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateAnswer:
    """What a command found."""

    kind: str
    stream: str
    """Empty where none was named."""
    estimates: tuple[Estimate, ...] = ()
    states: tuple[OperatorState, ...] = ()
    growth: str = ""
    """How its state has grown in the last day; empty where it has not, or where that is not known."""
    dropped: tuple[int, int, int] | None = None
    """Rows dropped as too late, rows read, batches; None where it is not known, or was not asked."""

    @property
    def is_known(self) -> bool:
        """Whether there is anything in it."""
        told = bool(self.estimates or self.states or self.dropped)
        return told and all(estimate.results for estimate in self.estimates)


def show(answer: EstimateAnswer, *, as_json: bool) -> NoReturn:
    """Show it, and end the command: 0, or 4 for what is not known."""
    if as_json:
        sys.stdout.write(json.dumps(_fields(answer), ensure_ascii=True, indent=2) + "\n")
    else:
        _text(answer)
    raise typer.Exit(0 if answer.is_known else 4)


def _text(answer: EstimateAnswer) -> None:
    console = PrintableConsole()
    if not console.is_terminal:
        console.width = _UNBOUNDED
    console.print(f"{answer.stream}: {answer.kind}" if answer.stream else answer.kind)
    for line in state_lines(answer.states):
        console.print(line)
    if answer.growth:
        console.print(f"  growing: {answer.growth}")
    for estimate in answer.estimates:
        for line in estimate_lines(estimate):
            console.print(line)
    for note in dict.fromkeys(note for estimate in answer.estimates for note in estimate.notes):
        console.print(f"  - {note}")
    if answer.dropped:
        late, rows, batches = answer.dropped
        of_all = f" ({percent(late / rows)})" if rows else ""
        console.print(
            f"  dropped as too late: {late:,} rows, {rows:,} records read{of_all}, in the last {batches} batches"
        )
        console.print("  - an aggregation adds up the late rows of a batch before it drops them, and counts the sums")
    if not (answer.estimates or answer.states or answer.dropped):
        console.print("  no batch with state is on record: the query has none, or its newest drivers ran no batch")


def _fields(answer: EstimateAnswer) -> dict[str, object]:
    late = answer.dropped
    return {
        "stream": answer.stream,
        "estimate": answer.kind,
        "estimates": [estimate_fields(estimate) for estimate in answer.estimates],
        "state": [state_fields(state) for state in answer.states],
        "growth": answer.growth,
        "dropped": {"rows": late[0], "records": late[1], "batches": late[2]} if late else None,
    }
