"""One check of a checkpoint with 100 000 log files and 1 000 state partitions, and what a start of Spark takes for the same."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.figure import Figure, timed
from bench.synthetic import Size, build, lose_newest_state
from streamops.diagnosis.checkup import Checkup, check
from streamops.engines import PINNED
from streamops.storage.local import LocalStorage
from support.counting_storage import CountingStorage

LARGE = Size(batches=50_000, partitions=1_000)
SHORT = Size(batches=500, partitions=1_000)
"""The same state behind a hundredth of the log."""
GOAL_MS = 300
RUNS = 25
DAMAGED_PARTITION = 500
"""In the middle, so that Spark, which takes one partition after another, comes across it half way."""


def measure(root: Path) -> Iterator[Figure]:
    """Time and calls of a check, on a healthy checkpoint and on a damaged one."""
    large, short = root / "large", root / "short"
    build(large, LARGE)
    build(short, SHORT)
    yield _calls(large, short)
    healthy = timed(lambda: _check(large), runs=RUNS)
    healthy_words = _words(_check(large))
    lost = lose_newest_state(large, LARGE, partition=DAMAGED_PARTITION)
    damaged = timed(lambda: _check(large), runs=RUNS)
    damaged_words = _words(_check(large))
    # Spark at last: it goes on from the checkpoint, and changes it.
    from bench.spark_start import session, start

    with session() as spark:
        warm = Size(batches=3, partitions=2)
        build(root / "warm", warm)
        start(spark, root / "warm", warm)
        failed = start(spark, large, LARGE)
        (large / lost).write_bytes((large / lost.replace("/500/", "/501/")).read_bytes())
        started = start(spark, large, LARGE)
    yield Figure(
        name="check: healthy",
        value=median(healthy.wall),
        unit="ms",
        baseline=started.milliseconds,
        against="Spark 4.2.0, from start() to the first progress",
        goal=GOAL_MS,
        note=f"{healthy.note}; {healthy_words}; Spark: {_ending(started.error)}",
    )
    yield Figure(
        name="check: damaged",
        value=median(damaged.wall),
        unit="ms",
        baseline=failed.milliseconds,
        against="Spark 4.2.0, from start() to the error",
        goal=GOAL_MS,
        note=f"{damaged.note}; {damaged_words}; Spark: {_ending(failed.error)}",
    )


def _check(folder: Path) -> Checkup:
    return check(LocalStorage(), f"file://{folder}", engine=PINNED)


def _calls(large: Path, short: Path) -> Figure:
    counts: list[Counter[str]] = []
    for folder in (large, short):
        storage = CountingStorage(LocalStorage())
        check(storage, f"file://{folder}", engine=PINNED)
        counts.append(storage.calls)
    by_verb = ", ".join(f"{count} × {verb}" for verb, count in sorted(counts[0].items()))
    return Figure(
        name="check: calls",
        value=counts[0].total(),
        unit="calls",
        baseline=counts[1].total(),
        against=f"the same state with {SHORT.log_files} log files",
        note=f"{by_verb}; {LARGE.log_files} log files, {LARGE.partitions} partitions",
    )


def _words(checkup: Checkup) -> str:
    return f"{checkup.verdict}: {checkup.restart.summary}"


def _ending(error: str) -> str:
    """The innermost of the error conditions that a message of Spark nests, `[STREAM_FAILED] … [CANNOT_LOAD_STATE_STORE.…]`."""
    conditions = re.findall(r"\[([A-Z][A-Z_.]+)\]", error)
    return conditions[-1] if conditions else error[:120] or "the batch came through"
