"""Rules about what a checkpoint holds on to, whatever the next run is told."""

from collections.abc import Iterator

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.compact_log import COMPACT_SUFFIX
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS, quoted
from streamops.health.checkpoint.expectations import Expectations
from streamops.health.verdict import AtStart, Finding, Severity, StartEffect

SHOWN = 5


def ignored_confs(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """Settings of the next run that have no effect: the newest offset entry pins another value (OffsetSeqMetadata).

    Most are defaults of a cluster that nobody meant for this query; what was declared of its state was meant.
    """
    if facts.newest is None:
        return
    pinned = dict(facts.newest.header.conf)
    for key, asked in expected.confs:
        if key not in pinned or _same(pinned[key], asked):
            continue
        yield Finding(
            rule="ignored-confs",
            severity=Severity.WARNING if key in expected.state_confs else Severity.NOTE,
            file=f"{OFFSETS}/{facts.newest.batch}",
            evidence=f"{key} is {quoted(pinned[key])} here, {quoted(asked)} is asked for",
            meaning="the query goes on with the value of the checkpoint, for as long as the checkpoint lives",
            repair="begin a new checkpoint with the new value; the number of partitions can be changed in place by Spark 4.2"
            " and later, offline",
            not_when="do not edit the entry: files of state for the new value do not exist",
        )


def missing_state_format(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The newest entry pins no format for the state of an aggregation: a start then takes the one of before Spark 3.0.

    What it reads does not have that form, since Spark writes the newer one by itself (OffsetSeqMetadata, tried on 4.2.0).
    """
    newest, state = snapshot.facts.newest, snapshot.state
    if newest is None or newest.header.is_empty or state is None or not state.has_files:
        return
    if AGGREGATION_FORMAT in dict(newest.header.conf) or not any(
        operator.name == AGGREGATION for operator in state.operators
    ):
        return
    file = f"{OFFSETS}/{newest.batch}"
    yield Finding(
        rule="missing-state-format",
        severity=Severity.CRITICAL,
        file=file,
        evidence=f"its header has no {AGGREGATION_FORMAT}, and there is state of an aggregation",
        meaning="a start takes format 1, and fails on state that was written in format 2, the same way each time",
        repair=f"put the header's confs back as they are in {OFFSETS}/{newest.batch - 1}",
        not_when="when the query was begun with Spark 2.3 or older",
        start=StartEffect(
            kind=AtStart.FAILS,
            summary=f"{file} does not say in which format the state of its aggregation is: a start takes an old one, and fails",
            error="SCHEMA_NOT_COMPATIBLE",
        ),
    )


AGGREGATION = "stateStoreSave"
AGGREGATION_FORMAT = "spark.sql.streaming.aggregation.stateFormatVersion"


def compact_interval(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The interval between compact files was changed: Spark goes by their names, not by its settings (SPARK-18187)."""
    for source in snapshot.sources.sources:
        log = source.log
        astray = sorted(log_id for log_id in log.compact if not log.holds(log_id))
        if not astray:
            continue
        names = ", ".join(f"{log_id}{COMPACT_SUFFIX}" for log_id in astray[:SHOWN])
        yield Finding(
            rule="compact-interval",
            severity=Severity.NOTE,
            file=f"sources/{source.folder}",
            evidence=f"{names}{' …' if len(astray) > SHOWN else ''} do not fit to an interval of {log.interval}",
            meaning=f"Spark takes {log.interval}, from the newest compact files, and does not look at those",
        )


def _same(pinned: str, asked: str) -> bool:
    """Spark reads `true` and `TRUE` alike; nothing else that is pinned has two spellings of one value."""
    return pinned.strip().lower() == asked.strip().lower()
