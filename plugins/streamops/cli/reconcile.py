"""`streamops reconcile`: what is declared against what is, and repairs of what is safe."""

import json
import sys
from datetime import datetime
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from streamops.cli.options import AsJson, session_of
from streamops.cli.wiring import Session
from streamops.fleet.newest_verdicts import newest_verdicts
from streamops.formatting import brief
from streamops.operations.requests import this_author
from streamops.reconcile import DeclaredStreams, ReconcileFinding, ReconcilePorts, Reconciler, ReconcileSeverity, Report
from streamops.reconcile.finding import told
from streamops.reconcile.observe import written_at
from streamops.settings import Settings
from streamops.spec import StreamSpec
from streamops.supervision.supervisor import Supervisor
from streamops.terminal.console import PrintableConsole

ACTOR = "reconcile"

EXIT_CODES = {
    ReconcileSeverity.OK: 0,
    ReconcileSeverity.WARNING: 3,
    ReconcileSeverity.UNKNOWN: 4,
    ReconcileSeverity.CRITICAL: 4,
}

_STYLES = {
    ReconcileSeverity.OK: "green",
    ReconcileSeverity.WARNING: "yellow",
    ReconcileSeverity.UNKNOWN: "magenta",
    ReconcileSeverity.CRITICAL: "bold red",
}
_UNBOUNDED = 10_000


def reconcile(
    context: typer.Context,
    act: Annotated[
        bool,
        typer.Option(
            "--act",
            help="Repair what is safe: kill drivers that the log disowns, record ends that are proven. Delete what `keep`"
            " does not hold of drivers that have ended.",
            show_default=False,
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare what is declared with what is: orphan and lost drivers, streams that nobody looks after, that are parked, or whose
    checkpoint or retention is not well.

    Drivers are seen on this host only; of paused and missing DAGs it tells what the DAG `streamops_reconcile` has heard
    lately. Nothing is started here: that is for a supervisor. Without --act nothing changes.

    Exit code 0: all is as declared, or was repaired. 3: a warning is left. 4: something critical or unknown is.
    """
    session = session_of(context)
    report = _reconciler(session).run(act=act)
    if as_json:
        sys.stdout.write(json.dumps(_fields(report), ensure_ascii=True, indent=2) + "\n")
    else:
        _show(report, now=session.clock.now())
    raise typer.Exit(EXIT_CODES[report.severity])


def _reconciler(session: Session) -> Reconciler:
    settings, wiring = session.settings(), session.wiring

    def supervisor_of(spec: StreamSpec) -> Supervisor:
        return wiring.supervisor(
            spec, state_root=settings.state_root, actor=ACTOR, kind=Supervisor, registry=session.registry
        )

    doors = ReconcilePorts(
        storage_for=settings.storage_for,
        launcher=wiring.launcher,
        clock=wiring.clock,
        supervisor_of=supervisor_of,
        verdicts_of=lambda specs, running_since: newest_verdicts(specs, running_since, session.verdict_ports()),
        patience=wiring.patience,
    )
    return Reconciler(declared=_declared(settings), doors=doors, author=this_author(ACTOR))


def _declared(settings: Settings) -> DeclaredStreams:
    return DeclaredStreams(
        state_root=settings.state_root,
        specs=settings.streams,
        wrong=tuple((problem.stream, str(problem)) for problem in settings.errors),
        left=frozenset(kept.name for kept in settings.kept if kept.has_left),
        changed_at=written_at(settings.path),
    )


def _show(report: Report, *, now: datetime) -> None:
    """One line a finding at a glance, then what each means; whole lines where stdout is no terminal."""
    console = PrintableConsole()
    if not console.is_terminal:
        console.width = _UNBOUNDED
    if not report.findings:
        console.print(f"{report.streams} streams are as declared")
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in ("severity", "stream", "finding", "known for", "repaired"):
        table.add_column(column, overflow="fold")
    for finding in report.findings:
        known = brief(now - min(finding.since, now)) if finding.since else ""
        severity = Text(finding.severity.name.lower(), style="" if finding.is_repaired else _STYLES[finding.severity])
        table.add_row(severity, finding.stream, finding.kind, known, "yes" if finding.is_repaired else "")
    console.print(table, soft_wrap=False)
    for finding in report.findings:
        console.print(told(finding))


def _fields(report: Report) -> dict[str, object]:
    return {
        "verdict": report.severity.name.lower(),
        "streams": report.streams,
        "findings": [_finding_fields(finding) for finding in report.findings],
    }


def _finding_fields(finding: ReconcileFinding) -> dict[str, object]:
    return {
        "kind": finding.kind,
        "severity": finding.severity.name.lower(),
        "stream": finding.stream,
        "checkpoint": finding.checkpoint,
        "evidence": finding.evidence,
        "meaning": finding.meaning,
        "repair": finding.repair,
        "is_repaired": finding.is_repaired,
        "done": finding.done,
        "since": finding.since.isoformat() if finding.since else None,
        "processes": [driver.handle.process for driver in finding.drivers],
    }
