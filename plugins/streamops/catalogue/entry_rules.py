"""Rules about what an entry says whatever the next run is told: edited, pinned, or of a source that nobody here knows."""

from collections.abc import Iterator

from streamops.catalogue.expectations import Expectations
from streamops.catalogue.watch import Watch
from streamops.checkpoint.compact_log import COMPACT_SUFFIX
from streamops.checkpoint.facts import CheckpointFacts
from streamops.checkpoint.inspect import CheckpointSnapshot
from streamops.checkpoint.layout import COMMITS, OFFSETS, json_value, quoted
from streamops.checkpoint.offsets import offset_pairs
from streamops.checkpoint.source_offsets import UnknownOffset
from streamops.formatting import listed
from streamops.verdict import Finding, Severity

SHOWN = 3


def changed_entry(snapshot: CheckpointSnapshot, expected: Expectations) -> Iterator[Finding]:
    """An entry that Hadoop's side file beside it was not written for: Spark does not ask the side file (tried on 4.2.0)."""
    names = snapshot.stale_entries
    if not names:
        return
    yield Finding(
        rule="changed-entry",
        severity=Severity.WARNING,
        file=names[0],
        evidence=f"the side file of {listed(names, SHOWN)} does not fit",
        meaning="somebody edited or restored it, or a disk has changed it: Spark believes what it says, so input may be read"
        " twice or passed over",
        repair="compare it with a copy, or with the progress events of its batch; where it is right, delete the hidden `.crc`"
        " beside it",
        not_when="when it was restored or edited on purpose: then it is well",
    )


def edited_offsets(snapshot: CheckpointSnapshot, expected: Expectations, watch: Watch) -> Iterator[Finding]:
    """The newest committed batch has an offset entry that is younger than its commit: Spark writes them the other way round.

    Where that is so of the batches before as well, the checkpoint was copied without the times of its files.
    """
    batch, younger = snapshot.facts.last_commit, watch.times.planned_after_commit
    if younger != (batch,) or not watch.times.durations or f"{OFFSETS}/{batch}" in snapshot.stale_entries:
        return
    yield Finding(
        rule="edited-offsets",
        severity=Severity.WARNING,
        file=f"{OFFSETS}/{batch}",
        evidence=f"it was written after {COMMITS}/{batch}, and none of the {len(watch.times.durations)} batches before was",
        meaning=f"somebody edited or restored it: batch {batch + 1} begins where it ends, so input is read twice or passed over"
        " if its end is not that of the batch that ran",
        repair=f"compare it with the end offsets that the progress event of batch {batch} shows, or with a copy",
        not_when="when it was restored from a copy, or rebuilt on purpose: then it is well",
    )


SHOWN_CONFS = 5


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
        names = listed([f"{log_id}{COMPACT_SUFFIX}" for log_id in astray], SHOWN_CONFS)
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


SHOWN_SOURCES = 5
MOST_LEAVES = 1_000
"""Values of an offset that are compared."""


def unjudged_source(facts: CheckpointFacts, expected: Expectations) -> Iterator[Finding]:
    """A source whose offsets nobody here knows, as Iceberg's, Kinesis' or one of Python's: what they say is not judged."""
    if facts.newest is None:
        return
    for name, had, has in offset_pairs(facts.previous, facts.newest):
        if not isinstance(has, UnknownOffset) or (had is not None and not isinstance(had, UnknownOffset)):
            continue
        moved = _moves(had.text, has.text) if had else []
        more = f"; moved since the entry below: {listed(moved, SHOWN_SOURCES)}"
        yield Finding(
            rule="unjudged-source",
            severity=Severity.NOTE,
            file=f"{OFFSETS}/{facts.newest.batch}",
            evidence=f"source {name}: {quoted(has.text)}{more if moved else ''}",
            meaning="the form of these offsets is not known: a start is judged as far as Spark's own logs tell, and not by"
            " whether the source still has what the offsets name",
        )


def _moves(had: str, has: str) -> list[str]:
    """What is another value than before, by its place in the JSON; numbers that went down, and texts, first."""
    before, now = _leaves(had), _leaves(has)
    moved = [(place, before.get(place), now.get(place)) for place in dict.fromkeys((*before, *now))]
    moved = [(place, old, new) for place, old, new in moved if old != new]
    moved.sort(key=lambda one: _rises(one[1], one[2]))
    return [
        f"{place} {_shown(old)} → {_shown(new)}{'' if _rises(old, new) else _goes_back(old, new)}"
        for place, old, new in moved
    ]


def _rises(old: object, new: object) -> bool:
    return isinstance(old, int | float) and isinstance(new, int | float) and new > old


def _goes_back(old: object, new: object) -> str:
    return " (goes back)" if _rises(new, old) else ""


def _shown(value: object) -> str:
    return "nothing" if value is None else quoted(value) if isinstance(value, str) else str(value)


def _leaves(text: str) -> dict[str, object]:
    """The values in a JSON text by their place; the text itself where it is none."""
    try:
        value = json_value(text, is_spark_own=False)
    except ValueError:
        return {"text": text}
    found: dict[str, object] = {}
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting and len(found) < MOST_LEAVES:
        place, one = waiting.pop(0)
        inner = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        waiting += [
            (f"{place}.{quoted(str(key))[1:-1]}" if place else quoted(str(key))[1:-1], held) for key, held in inner
        ]
        if not isinstance(one, dict | list):
            found[place or "offset"] = one
    return found
