"""The answer of an estimate as text or JSON: every figure with its inputs, and where each comes from."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

import typer

from streamops.cost.figure import Estimate, Figure, Unit
from streamops.cost.state import OperatorState
from streamops.terminal.console import PrintableConsole, fine, percent, size


def estimate_lines(estimate: Estimate) -> Iterator[str]:
    """The inputs, then what follows from them, and how."""
    figures = [*estimate.inputs, *estimate.results]
    names = max(len(figure.name) for figure in figures)
    values = max(len(value_text(figure)) for figure in figures)
    for figure in figures:
        told = f"{figure.origin}{f': {figure.note}' if figure.note else ''}"
        yield f"  {figure.name:<{names}}  {value_text(figure):>{values}}  {told}"
    if estimate.formula:
        yield f"  {estimate.formula}"
    if not estimate.results:
        yield "  it is not known:"


def value_text(figure: Figure) -> str:
    """The value with its unit."""
    match figure.unit:
        case Unit.DURATION:
            return fine(figure.duration)
        case Unit.BYTES:
            return size(figure.number)
        case Unit.RECORDS:
            return f"{figure.number:,.0f}"
        case Unit.RECORDS_PER_SECOND:
            return f"{figure.number:,.4g} a second" if figure.number < 1000 else f"{figure.number:,.0f} a second"
        case Unit.SHARE:
            return percent(figure.number)


def state_lines(states: Sequence[OperatorState]) -> Iterator[str]:
    """What each operator keeps, how its commits weigh, and what to set where they weigh much."""
    for state in states:
        kept = f", {size(state.kept_bytes)}" if state.kept_bytes else ""
        yield (
            f"  {state.query} {state.operator}: {state.rows:,} rows{kept}, memory {size(state.memory_bytes)},"
            f" {state.partitions or '?'} partitions, {state.store or 'unknown store'}"
        )
        mark = "a candidate: " if state.is_candidate else ""
        yield (
            f"    commits: {mark}{fine(state.commit)} for a partition in batches of {fine(state.batch)}, {percent(state.share)}"
            f" or more ({state.batches} batches; more, where not all partitions run at once)"
        )
        if state.advice:
            yield f"    {state.advice}"


def estimate_fields(estimate: Estimate) -> dict[str, object]:
    """As JSON has it; durations in seconds."""
    return {
        "inputs": [_figure_fields(figure) for figure in estimate.inputs],
        "results": [_figure_fields(figure) for figure in estimate.results],
        "formula": estimate.formula,
        "notes": list(estimate.notes),
    }


def state_fields(state: OperatorState) -> dict[str, object]:
    """As JSON has it."""
    return {
        "query": state.query,
        "operator": state.operator,
        "rows": state.rows,
        "kept_bytes": state.kept_bytes,
        "memory_bytes": state.memory_bytes,
        "partitions": state.partitions,
        "store": state.store,
        "commit": state.commit.total_seconds(),
        "batch": state.batch.total_seconds(),
        "share": state.share,
        "batches": state.batches,
        "is_candidate": state.is_candidate,
        "advice": state.advice,
    }


def _figure_fields(figure: Figure) -> dict[str, object]:
    value = figure.value.total_seconds() if isinstance(figure.value, timedelta) else figure.value
    return {
        "name": figure.name,
        "value": value,
        "unit": "seconds" if figure.unit is Unit.DURATION else figure.unit,
        "origin": figure.origin,
        "note": figure.note,
    }


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
