"""Rules about what a checkpoint holds on to, whatever the next run is told."""

from collections.abc import Iterator

from streamops.checkpoint import CheckpointFacts
from streamops.checkpoint.compact_log import COMPACT_SUFFIX
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import OFFSETS, quoted
from streamops.diagnosis.expectations import Expectations
from streamops.formatting import listed
from streamops.verdict import Finding, Severity

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


def compact_interval(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """The interval between compact files was changed: Spark goes by their names, not by its settings (SPARK-18187)."""
    for source in snapshot.sources.sources:
        log = source.log
        astray = sorted(log_id for log_id in log.compact if not log.holds(log_id))
        if not astray:
            continue
        names = listed([f"{log_id}{COMPACT_SUFFIX}" for log_id in astray], SHOWN)
        yield Finding(
            rule="compact-interval",
            severity=Severity.NOTE,
            file=f"sources/{source.folder}",
            evidence=f"{names} do not fit to an interval of {log.interval}",
            meaning=f"Spark takes {log.interval}, from the newest compact files, and does not look at those",
        )


def _same(pinned: str, asked: str) -> bool:
    """Spark reads `true` and `TRUE` alike; nothing else that is pinned has two spellings of one value."""
    return pinned.strip().lower() == asked.strip().lower()
