"""Where streams stand and how far they are behind, for people."""

import dataclasses
from collections.abc import Container, Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from streamops.control.state import Desire
from streamops.formatting import brief, left, moment
from streamops.liveness import LivenessKind
from streamops.operations.act_effects import other_files, unsafe_start_text
from streamops.operations.snapshot import Drift
from streamops.retention import PartitionState
from streamops.retention.lag import COLUMNS, FIGURES, MOST_PARTITIONS, StreamLag, row, summary
from streamops.status import AS_WANTED, Phase, StreamStatus
from streamops.verdict import Verdict

_COLUMNS = (
    "stream",
    "phase",
    "epoch",
    "batch",
    "last beat",
    "driver",
    "failures/h",
    "budget left",
    "next attempt",
    "attended by",
    "differs",
    "verdict",
)
_FIGURES = frozenset({"epoch", "batch", "failures/h", "budget left"})
_PLAIN = frozenset({LivenessKind.IDLE, LivenessKind.WORKING, LivenessKind.STARTING})
"""What needs no words beside a running stream's line."""
STYLES = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.UNKNOWN: "magenta", Verdict.CRITICAL: "bold red"}


def status_table(statuses: Sequence[StreamStatus]) -> Table:
    """One stream a line."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column in _FIGURES else "left", overflow="fold")
    for status in statuses:
        age = "" if status.beat_age is None else f"{brief(status.beat_age)} ago"
        attempt = "" if status.next_attempt is None else f"{status.next_attempt:%H:%M:%S} UTC"
        table.add_row(
            Text(status.stream),
            Text(status.phase, style=_style(status)),
            _figure(status.epoch),
            _figure(status.batch),
            age,
            status.driver or "",
            _figure(status.failures_last_hour),
            _figure(status.budget_left),
            attempt,
            Text("nobody", style="bold red") if status.unattended else Text(status.attended_by),
            ", ".join(status.drift.marks) if status.drift else "",
            Text(status.verdict, style=STYLES[status.verdict]) if status.verdict else "",
        )
    return table


def status_notes(status: StreamStatus) -> Iterator[str]:
    """What the table has no room for; nothing for a stream that simply runs."""
    if status.phase is not Phase.RUNNING:
        yield status.reason
    if status.phase is Phase.RUNNING and status.waits_for:
        yield f"it does not get on: {status.waits_for}"
    yield from _liveness_notes(status)
    yield from _attendance_notes(status)
    if status.dag_trouble:
        yield status.dag_trouble
    if status.phase is Phase.PARKED and status.desire is Desire.STOPPED:
        yield "it is stopped on purpose as well: released, it waits for `streamops start`"
    if len(status.queries) > 1:
        newest = (f"{one.name or one.query_id} {one.batch if one.batch >= 0 else 'none yet'}" for one in status.queries)
        yield f"newest batches: {', '.join(newest)}"
    if status.last_end and status.phase in (Phase.WAITING, Phase.PARKED):
        yield f"epoch {status.epoch} ended: {status.last_end}"
        yield from _failure_notes(status)
    if status.drift and status.is_declared_differently:
        yield (
            f"declared differently since its driver was started ({', '.join(status.drift.marks)}):"
            f" `streamops status --drift {status.stream}` shows it, `streamops restart {status.stream}` applies it"
        )
    yield from _verdict_notes(status)
    if status.unsafe_starts:
        yield from (f"unsafe start by a person's word: {unsafe_start_text(one)}" for one in status.unsafe_starts)
        yield f"until somebody says that it is known: `streamops acknowledge {status.stream} --reason …`"
    if status.has_odd_records:
        yield (
            f"its control log holds {status.unknown_records} records of a newer version and {status.contradictions} that"
            f" contradict the ones before: look at `streamops history {status.stream}`"
        )
    yield from (backfill.line for backfill in status.backfills)


def drift_lines(status: StreamStatus) -> Iterator[str]:
    """Running against declared, setting by setting."""
    drift = status.drift
    if drift is None:
        yield f"{status.stream}: {_why_no_drift(status)}"
        return
    if not drift.settings and not drift.marks:
        yield f"{status.stream}: epoch {drift.epoch} runs what is declared"
        return
    yield f"{status.stream}: epoch {drift.epoch} against what is declared"
    yield from (f"  {line}" for line in _differences(drift))
    if drift.marks:
        yield f"  applied by  streamops restart {status.stream} --reason …"


def _differences(drift: Drift) -> Iterator[str]:
    for change in drift.settings:
        in_force = "" if change.needs_restart else "   (in force already: only the supervisor goes by it)"
        yield f"{change.setting}  {change.running or '—'} → {change.declared or '—'}{in_force}"
    yield from other_files(drift)


def _why_no_drift(status: StreamStatus) -> str:
    if status.phase is Phase.UNKNOWN:
        return f"not known: {status.reason}"
    return "no driver lives; the next one starts with the present declaration"


def _liveness_notes(status: StreamStatus) -> Iterator[str]:
    """A driver that runs and is not plainly at its work. Any other phase has its own reason."""
    liveness = status.liveness
    if liveness is None or status.phase is not Phase.RUNNING:
        return
    if liveness.kind in _PLAIN:
        if quiet := status.quiet:
            yield f"no batch for {brief(quiet.still)}: query {quiet.name or quiet.query_id} plans one: {quiet.message}"
        return
    limit = f", reported after {brief(liveness.window)}" if liveness.window and not liveness.advice else ""
    yield f"{liveness.kind}: {liveness.reason}{limit}"


def _attendance_notes(status: StreamStatus) -> Iterator[str]:
    if status.unattended:
        yield (
            f"{status.unattended}: no driver of it is started, restarted or killed until `streamops supervise` runs, or the"
            f" DAG {status.dag} (not paused, with a live triggerer)"
        )
    elif status.due:
        yield f"a supervisor's next step is {status.due}"


def _verdict_notes(status: StreamStatus) -> Iterator[str]:
    """What is not ok, and the command that tells the rest, with the repair."""
    asked = (("checkpoint", status.checkpoint, "check"), ("retention", status.retention, "lag"))
    for what, verdict, command in asked:
        if verdict and verdict.verdict is not Verdict.OK:
            yield (
                f"{what} {verdict.verdict} at {verdict.at:%Y-%m-%d %H:%M:%S} UTC: {verdict.reason}:"
                f" see `streamops {command} {status.stream}`"
            )


def _failure_notes(status: StreamStatus) -> Iterator[str]:
    """Why it ended and what the policy makes of it."""
    if not status.failures_in_row and not status.restart_advice:
        return
    remedy = f", remedy {status.remedy}" if status.remedy else ""
    yield (
        f"judged as {status.failure_class or 'not judged'}{remedy}; {status.failures_in_row} in a row without a committed"
        f" batch, {status.budget_left} more failures within the hour are restarted"
    )


def _style(status: StreamStatus) -> str:
    if status.needs_attention:
        return "bold red"
    return "green" if status.phase is Phase.RUNNING else "" if status.phase in AS_WANTED else "yellow"


def _figure(value: int | None) -> str:
    return "" if value is None else str(value)


def lag_table(lags: Sequence[StreamLag]) -> Table:
    """One stream a line."""
    table = _table(("stream", "verdict", "lag", "behind", "act by (UTC)", "left", "reason"), figures=("lag",))
    for lag in lags:
        table.add_row(
            Text(lag.stream),
            Text(lag.verdict, style=STYLES[lag.verdict]),
            "" if lag.lag is None else f"{lag.lag}",
            "" if lag.behind is None else brief(lag.behind),
            "" if lag.act_by is None else moment(lag.act_by),
            left(lag.act_by, lag.at),
            Text(lag.reason),
        )
    return table


def lag_heading(lag: StreamLag) -> Iterator[Text]:
    """The verdict on one stream, in words."""
    yield Text.assemble(f"{lag.stream}: ", (str(lag.verdict), STYLES[lag.verdict]), f": {lag.reason}")
    yield from (Text(f"  {line}") for line in summary(lag))


def partition_table(lag: StreamLag) -> Table:
    """One partition a line."""
    table = _table(COLUMNS, figures=FIGURES)
    for one in lag.partitions[:MOST_PARTITIONS]:
        query, partition, standing, *cells = map(Text, row(one))
        standing.stylize(_lag_style(one.coverage.standing))
        table.add_row(query, partition, standing, *cells)
    return table


def lag_fields(lag: StreamLag) -> dict[str, object]:
    """As JSON has it, with what is worked out from the partitions."""
    return {
        **_plain(lag),
        "lag": lag.lag,
        "behind": lag.behind,
        "deadline": lag.deadline,
        "act_by": lag.act_by,
        "partitions": [
            {**dataclasses.asdict(one), "lag": one.coverage.lag, "act_by": one.act_by} for one in lag.partitions
        ],
    }


def _plain(lag: StreamLag) -> dict[str, object]:
    """Without the earlier looks: they are thousands of figures, and have their own file."""
    fields = dataclasses.asdict(dataclasses.replace(lag, past=None))
    del fields["past"]
    return fields


def _lag_style(standing: PartitionState) -> str:
    if standing.is_lossy:
        return "bold red"
    return "magenta" if standing is PartitionState.UNKNOWN else ""


def _table(columns: Sequence[str], *, figures: Container[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in figures else "left", overflow="fold")
    return table
