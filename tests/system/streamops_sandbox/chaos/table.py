"""The figures of chaos for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from streamops_sandbox.chaos.book import Run, deaths_by_supervisor
from streamops_sandbox.chaos.rounds import Spread, VictimSummary, by_victim, deaths, patience
from streamops_sandbox.chaos.victims import MEANING


def print_rounds(runs: list[Run], console: Console) -> None:
    """A line for each kind of blow, over all runs."""
    rounds = [found for run in runs for found in run.rounds]
    table = Table(title=f"{len(rounds)} rounds in {len(runs)} runs", title_justify="left")
    for heading in (
        "blow",
        "rounds",
        "replaced",
        "untouched",
        "unexpected",
        "noticed p50 / p99",
        "resubmitted p50 / p99",
    ):
        table.add_column(heading, justify="left" if heading == "blow" else "right")
    for victim, summary in by_victim(rounds).items():
        table.add_row(MEANING[victim], *_cells(summary))
    table.add_section()
    table.add_row("SIGKILL: drivers that ended at once", *_cells(deaths(rounds)))
    for name, summary in deaths_by_supervisor(runs).items():
        table.add_row(f"  under {name}", *_cells(summary))
    table.add_row("drivers that had to be waited for", *_cells(patience(rounds)))
    console.print(table)


def print_accounts(runs: list[Run], console: Console) -> None:
    """What was sent and what arrived, each run a line."""
    table = Table(title="Accounts", title_justify="left")
    for heading in (
        "run",
        "by",
        "rounds",
        "sent",
        "delivered",
        "lost",
        "duplicated",
        "double writers",
        "epochs",
        "note",
    ):
        table.add_column(heading, justify="left" if heading in ("run", "by", "note") else "right")
    for run in runs:
        sums = [
            sum(getattr(account, name) for account in run.accounts)
            for name in ("sent", "delivered", "lost", "duplicated")
        ]
        epochs = sum(account.epochs for account in run.accounts)
        shown = [str(figure) if run.accounts else "?" for figure in sums]
        note = run.error or ("" if run.is_good else "see the rounds")
        table.add_row(
            run.started_at, run.supervised_by, str(len(run.rounds)), *shown, str(run.double_writers), str(epochs), note
        )
    console.print(table)


def print_stock(entries: Sequence[Mapping[str, Any]], console: Console) -> None:
    """What a lost worker does to a stream under Airflow's own SparkSubmitOperator, each kill a line."""
    if not entries:
        return
    table = Table(title="Worker killed under Airflow's SparkSubmitOperator, retries=3", title_justify="left")
    for heading in (
        "run",
        "second driver after",
        "two drivers for",
        "tries",
        "running again after",
        "lost",
        "duplicated",
        "note",
    ):
        table.add_column(heading, justify="left" if heading in ("run", "note") else "right")
    for entry in entries:
        account = entry.get("account") or {}
        for found in entry["rounds"]:
            cells = (
                _seconds(found["second_driver"]),
                _seconds(found["two_alive"]),
                str(found.get("drivers_started", "?")),
                _seconds(found["running_again"]),
            )
            sums = (str(account.get("lost", "?")), str(account.get("duplicated", "?")))
            table.add_row(entry["started_at"], *cells, *sums, entry["error"])
    console.print(table)


def print_airflow(entries: Sequence[Mapping[str, Any]], console: Console) -> None:
    """What acts and outages of Airflow do to streams, each act a line."""
    table = Table(title="Airflow down, cleaned, paused", title_justify="left")
    for heading in ("run", "act", "streams untouched", "looked after again after", "detail"):
        table.add_column(heading)
    for entry in entries:
        for found in entry["trials"]:
            untouched = "yes" if found["untouched"] else "NO"
            table.add_row(
                entry["started_at"], found["act"], untouched, _seconds(found["attended_after"]), found["detail"]
            )
        if entry["error"]:
            table.add_row(entry["started_at"], "", "", "", entry["error"])
    console.print(table)


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f} s"


def _cells(summary: VictimSummary) -> tuple[str, ...]:
    return (
        str(summary.rounds),
        str(summary.replaced),
        str(summary.untouched),
        str(summary.unexpected),
        _shown(summary.noticed),
        _shown(summary.resubmitted),
    )


def _shown(spread: Spread) -> str:
    return f"{spread.p50:.1f} / {spread.p99:.1f} s" if spread.p50 is not None and spread.p99 is not None else ""
