"""A checkup in plain lines: for logs and messages as they are, for a terminal with colours."""

from collections.abc import Iterator

from streamops.diagnosis.checkup import Checkup
from streamops.places.sink import DeltaSink, FileSink, Sink, UnreadSink
from streamops.verdict import Finding


def checkup_lines(checkup: Checkup) -> tuple[str, ...]:
    """The verdict first, the plan in one sentence, then what was found. Every line is printable."""
    return tuple(printable(line) for line in (*_head(checkup), *_findings(checkup)))


def printable(text: str) -> str:
    """The text with nothing in it that could move a cursor or begin another line."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _head(checkup: Checkup) -> Iterator[str]:
    facts, restart = checkup.snapshot.facts, checkup.restart
    yield f"{checkup.verdict}  {facts.address}"
    yield f"A start with Spark {checkup.engine.version} is {restart.safety}: {restart.summary}."
    if restart.expected_error and restart.expected_error not in restart.summary:
        yield f"Spark will say: {restart.expected_error}"
    for source in restart.ranges:
        yield f"Its range: {source.start or 'the beginning'} to {source.end or 'open'}"
    written_by = f", written by Spark {facts.spark_fingerprint}" if facts.spark_fingerprint else ""
    planned = facts.newest.planned_at if facts.newest else None
    at = f" (planned {planned:%Y-%m-%d %H:%M:%S} UTC)" if planned else ""
    yield (
        f"query {facts.query_id or 'unknown'}, offsets to batch {_batch(facts.last_offset)}{at},"
        f" commits to batch {_batch(facts.last_commit)}{written_by}"
    )
    if checkup.sink:
        yield f"sink {checkup.sink.address}: {_standing_of(checkup.sink)}"


def _standing_of(sink: Sink) -> str:
    if isinstance(sink, DeltaSink):
        newest = sink.newest_batch
        has = "nothing known of this query" if newest is None else f"batch {newest} of this query"
        return f"Delta table, version {sink.table.version}, {has}"
    if isinstance(sink, FileSink):
        return f"file sink, {'no batch' if sink.log.is_empty else f'batch {sink.newest_batch}'}"
    return "not read" if isinstance(sink, UnreadSink) else "not found"


def _findings(checkup: Checkup) -> Iterator[str]:
    for finding in checkup.findings:
        yield ""
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity}  {finding.rule}{f'  {finding.file}' if finding.file else ''}"
    told = (
        ("found", finding.evidence),
        ("means", finding.meaning),
        ("repair", finding.repair),
        ("but not", finding.not_when),
    )
    yield from (f"  {name}: {text}" for name, text in told if text)


def _batch(number: int) -> str:
    return str(number) if number >= 0 else "—"
