"""A checkup for people: the verdict first, the plan in one sentence, then what was found."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from streamops.cli.check_sink import sink_line
from streamops.health.verdict import Finding, Severity, Verdict
from streamops.supervisor.checkup import Checkup

_STYLES = {
    Verdict.OK: "bold green",
    Verdict.WARNING: "bold yellow",
    Verdict.UNKNOWN: "bold magenta",
    Verdict.CRITICAL: "bold red",
}
_FINDING_STYLES = {
    Severity.NOTE: "dim",
    Severity.WARNING: "yellow",
    Severity.UNKNOWN: "magenta",
    Severity.CRITICAL: "bold red",
}
_WIDTH = 110
"""Columns where stdout is no terminal."""


def show_checkup(checkup: Checkup, console: Console) -> None:
    """Print it. Everything that comes from files was made printable where it was read."""
    if not console.is_terminal:
        console.width = _WIDTH
    facts, restart = checkup.snapshot.facts, checkup.restart
    console.print(Text.assemble((str(checkup.verdict), _STYLES[checkup.verdict]), f"  {_printable(facts.address)}"))
    console.print(
        f"A start with Spark {checkup.engine.version} is {restart.safety}: {restart.summary}.", soft_wrap=False
    )
    if restart.expected_error:
        console.print(f"Spark will say: {restart.expected_error}", soft_wrap=False)
    for source in restart.ranges:
        console.print(f"Its range: {_printable(source.start or 'the beginning')} to {_printable(source.end or 'open')}")
    console.print(_standing(checkup))
    if checkup.sink:
        console.print(sink_line(checkup.sink))
    for finding in checkup.findings:
        console.print()
        _show_finding(finding, console)


def _standing(checkup: Checkup) -> str:
    facts = checkup.snapshot.facts
    written_by = f", written by Spark {facts.spark_fingerprint}" if facts.spark_fingerprint else ""
    planned = facts.newest.planned_at if facts.newest else None
    at = f" (planned {planned:%Y-%m-%d %H:%M:%S} UTC)" if planned else ""
    return (
        f"query {facts.query_id or 'unknown'}, offsets to batch {_batch(facts.last_offset)}{at},"
        f" commits to batch {_batch(facts.last_commit)}{written_by}"
    )


def _batch(number: int) -> str:
    return str(number) if number >= 0 else "—"


def _show_finding(finding: Finding, console: Console) -> None:
    head = Text.assemble((str(finding.severity), _FINDING_STYLES[finding.severity]), f"  {finding.rule}")
    if finding.file:
        head.append(f"  {finding.file}")
    console.print(head)
    lines = [
        ("found", finding.evidence),
        ("means", finding.meaning),
        ("repair", finding.repair),
        ("but not", finding.not_when),
    ]
    for name, text in lines:
        if text:
            console.print(Padding(Text(f"{name}: {text}"), (0, 0, 0, 2), expand=False), soft_wrap=False)


def _printable(text: str) -> str:
    """Nothing in it can move a cursor."""
    return text if text.isprintable() else repr(text)
