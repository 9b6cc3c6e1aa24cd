"""Figures for estimates from the progress that a driver has kept; None where it does not tell. Pure."""

from collections.abc import Sequence

from streamops.cost.figure import Figure, Origin, Unit, lasting
from streamops.cost.state import operator_states
from streamops.liveness.pace import percentile_95
from streamops.progress import ProgressEvent, ProgressHistory

BATCHES = 50
"""As many as a driver keeps."""


def of_stream(history: ProgressHistory, stream: str) -> ProgressHistory:
    """The part of the stream's own query, which bears its name; companions have other names, and inputs of their own."""
    events = tuple(event for event in history.events if event.name == stream)
    return ProgressHistory(events=events, broken=history.broken, is_readable=history.is_readable)


def processing_time(history: ProgressHistory) -> Figure | None:
    """How long a batch with input takes: 95 % of the last ones took so long or less."""
    taken = [event.duration for event in _batches(history) if event.input_rows and event.duration]
    if not taken:
        return None
    note = f"95 % of {len(taken)} batches took so long or less"
    return lasting("processing", percentile_95(taken), Origin.MEASURED, note)


def input_rate(history: ProgressHistory) -> Figure | None:
    """Records a second that came in: what all batches but the first have read, since the first began."""
    batches = _batches(history)
    if len(batches) < 2:
        return None
    took = (batches[-1].started_at - batches[0].started_at).total_seconds()
    rows = sum(event.input_rows for event in batches[1:])
    if took <= 0 or rows < 0:
        return None
    behind = any(event.has_backlog for event in batches)
    note = f"{rows} in {took:.0f} s" + ("; it left records behind, so more were written" if behind else "")
    return Figure(name="rate", value=rows / took, unit=Unit.RECORDS_PER_SECOND, origin=Origin.MEASURED, note=note)


def bytes_per_row(history: ProgressHistory) -> Figure | None:
    """What a row of state takes, over all operators of the newest batch that tell."""
    states = [(state.kept_bytes, state) for state in operator_states(history, last=BATCHES)]
    known = [(kept, state) for kept, state in states if kept and kept > 0 and state.rows > 0]
    if not known:
        return None
    kept, rows = sum(kept for kept, _ in known), sum(state.rows for _, state in known)
    stores = ", ".join(sorted({state.store for _, state in known}))
    files = "; its files are compressed" if "RocksDB" in stores else ""
    note = f"{kept} bytes for {rows} rows ({stores}{files})"
    return Figure(name="bytes of a row", value=kept / rows, unit=Unit.BYTES, origin=Origin.MEASURED, note=note)


def dropped_late(history: ProgressHistory) -> tuple[int, int, int] | None:
    """Rows that came behind the watermark, rows that came in at all, and batches; None without operators with state."""
    batches = [event for event in _batches(history) if event.state]
    if not batches:
        return None
    dropped = sum(state.late_rows for event in batches for state in event.state)
    return dropped, sum(event.input_rows for event in batches), len(batches)


def _batches(history: ProgressHistory) -> Sequence[ProgressEvent]:
    return [event for event in history.events if event.has_run][-BATCHES:]
