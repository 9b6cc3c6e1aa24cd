"""Estimates for people and as JSON: every figure with its inputs, and where each comes from."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from streamops.cli.figures import fine, percent, size
from streamops.cost.figure import Estimate, Figure, Unit
from streamops.cost.state import OperatorState


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
        "inputs": [_fields(figure) for figure in estimate.inputs],
        "results": [_fields(figure) for figure in estimate.results],
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


def _fields(figure: Figure) -> dict[str, object]:
    value = figure.value.total_seconds() if isinstance(figure.value, timedelta) else figure.value
    return {
        "name": figure.name,
        "value": value,
        "unit": "seconds" if figure.unit is Unit.DURATION else figure.unit,
        "origin": figure.origin,
        "note": figure.note,
    }
