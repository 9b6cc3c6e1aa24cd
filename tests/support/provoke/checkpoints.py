"""Damaged checkpoints of a plain query: the matrix of codes P1 to P20, and what settings do to a checkpoint."""

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from streamops.failures.failure_class import FailureClass
from support.provoke.bench import Bench, write_rows
from support.provoke.case import Family

FAMILY = Family("checkpoint")
BATCHES = 5


def _base(bench: Bench, folder: Path) -> None:
    """Five batches, all committed, and one file more for the next."""
    (folder / "in").mkdir()
    for name in range(BATCHES):
        write_rows(folder / "in", str(name))
        bench.run(bench.files(folder / "in").writeStream.format("noop"), folder / "checkpoint")
    write_rows(folder / "in", "next")


def _input(bench: Bench) -> DataFrame:
    return bench.files(bench.once("base", partial(_base, bench)) / "in")


def _restart(bench: Bench, damage: Callable[[Path], None], *, name: str) -> None:
    rows = _input(bench)
    checkpoint = bench.copy(bench.root / "base" / "checkpoint", f"checkpoint-{name}")
    damage(checkpoint)
    bench.run(rows.writeStream.format("noop"), checkpoint)


def _remove(*names: str) -> Callable[[Path], None]:
    def damage(checkpoint: Path) -> None:
        for name in names:
            target = checkpoint / name
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink()

    return damage


def _copy(name: str, other: str) -> Callable[[Path], None]:
    def damage(checkpoint: Path) -> None:
        shutil.copy(checkpoint / name, checkpoint / other)

    return damage


def _edit(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def damage(checkpoint: Path) -> None:
        file = checkpoint / name
        file.write_text(change(file.read_text()))
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)

    return damage


def _both(*damages: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage(checkpoint: Path) -> None:
        for each in damages:
            each(checkpoint)

    return damage


def _lines(count: int) -> Callable[[str], str]:
    return lambda text: "\n".join(text.split("\n")[:count])


def _line(index: int, change: Callable[[str], str]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        lines = text.split("\n")
        lines[index] = change(lines[index])
        return "\n".join(lines)

    return edit


DAMAGES = [
    ("empty-offset", "P7a: offsets/4 emptied", FailureClass.CORRUPT_CHECKPOINT, _edit("offsets/4", lambda _: "")),
    ("empty-commit", "P7c: commits/4 emptied", FailureClass.CORRUPT_CHECKPOINT, _edit("commits/4", lambda _: "")),
    ("empty-previous", "P7d: offsets/3 emptied", FailureClass.CORRUPT_CHECKPOINT, _edit("offsets/3", lambda _: "")),
    ("hole", "P4: offsets/3 removed", FailureClass.CORRUPT_CHECKPOINT, _remove("offsets/3")),
    (
        "hole-uncommitted",
        "P4b: offsets/3 and commits/4 removed",
        FailureClass.CORRUPT_CHECKPOINT,
        _remove("offsets/3", "commits/4"),
    ),
    (
        "header-cut",
        "P8a: header of offsets/4 cut",
        FailureClass.CORRUPT_CHECKPOINT,
        _edit("offsets/4", _line(1, lambda line: line[:40])),
    ),
    ("version-only", "P8b: offsets/4 holds only v1", FailureClass.CORRUPT_CHECKPOINT, _edit("offsets/4", _lines(1))),
    (
        "no-source-line",
        "P8c: offsets/4 without its source line",
        FailureClass.CORRUPT_CHECKPOINT,
        _edit("offsets/4", _lines(2)),
    ),
    (
        "source-line-cut",
        "P8d: source line of offsets/4 cut",
        FailureClass.CORRUPT_CHECKPOINT,
        _edit("offsets/4", _line(2, lambda line: line[:-3])),
    ),
    (
        "header-empty",
        "P8f: header line of offsets/4 empty",
        FailureClass.CORRUPT_CHECKPOINT,
        _edit("offsets/4", _line(1, lambda _: "")),
    ),
    (
        "extra-source-line",
        "P8h: a second source line in offsets/4",
        FailureClass.STATE_INCOMPATIBLE,
        _edit("offsets/4", lambda text: text + '\n{"logOffset":4}'),
    ),
    ("commit-cut", "P8j: commits/4 cut", FailureClass.CORRUPT_CHECKPOINT, _edit("commits/4", lambda text: text[:8])),
    (
        "newer-version",
        "P15a: offsets/4 of a later Spark, v99",
        FailureClass.STATE_INCOMPATIBLE,
        _edit("offsets/4", lambda text: text.replace("v1", "v99", 1)),
    ),
    (
        "no-version",
        "P15b: offsets/4 begins with vX",
        FailureClass.CORRUPT_CHECKPOINT,
        _edit("offsets/4", lambda text: text.replace("v1", "vX", 1)),
    ),
    ("commits-ahead", "P10: a commit without offsets", FailureClass.CONCURRENT_WRITER, _copy("commits/4", "commits/5")),
    (
        "newest-offset-gone",
        "P2: offsets/4 removed, commits/4 kept",
        FailureClass.CONCURRENT_WRITER,
        _remove("offsets/4"),
    ),
    ("metadata-gone", "P11a: metadata removed", FailureClass.CORRUPT_CHECKPOINT, _remove("metadata")),
    ("metadata-empty", "P11b: metadata emptied", FailureClass.CORRUPT_CHECKPOINT, _edit("metadata", lambda _: "")),
    ("metadata-cut", "P11c: metadata cut", FailureClass.CORRUPT_CHECKPOINT, _edit("metadata", lambda text: text[:12])),
    (
        "metadata-no-uuid",
        "P11d: the id in metadata is no UUID",
        FailureClass.CORRUPT_CHECKPOINT,
        _edit("metadata", lambda _: '{"id":"hello"}'),
    ),
    ("source-log-gone", "P12a: sources/0/4 removed", FailureClass.CORRUPT_CHECKPOINT, _remove("sources/0/4")),
    (
        "source-log-empty",
        "P12c: sources/0/4 emptied",
        FailureClass.CORRUPT_CHECKPOINT,
        _edit("sources/0/4", lambda _: ""),
    ),
    ("source-log-hole", "P12e: sources/0/2 removed", FailureClass.CORRUPT_CHECKPOINT, _remove("sources/0/2")),
    ("offsets-gone", "P16b: folder offsets removed", FailureClass.CORRUPT_CHECKPOINT, _remove("offsets")),
    (
        "beyond-source-log",
        "P18: offsets/4 points beyond the source log",
        FailureClass.CORRUPT_CHECKPOINT,
        _both(_edit("offsets/4", lambda text: text.replace('"logOffset":4', '"logOffset":40')), _remove("commits/4")),
    ),
]

for _id, _how, _class, _damage in DAMAGES:
    FAMILY.add(_id, _how, _class, partial(_restart, damage=_damage, name=_id))


@FAMILY.provokes(FailureClass.STATE_INCOMPATIBLE)
def source_added(bench: Bench) -> None:
    """P16: a second source in the query than in the checkpoint."""
    rows = _input(bench)
    checkpoint = bench.copy(bench.root / "base" / "checkpoint", "checkpoint-source-added")
    bench.run(rows.union(bench.rows()).writeStream.format("noop"), checkpoint)


@FAMILY.provokes(FailureClass.STATE_INCOMPATIBLE)
def other_kind_of_source(bench: Bench) -> None:
    """The checkpoint of a file source under a rate source."""
    _input(bench)
    checkpoint = bench.copy(bench.root / "base" / "checkpoint", "checkpoint-other-source")
    rows = bench.spark.readStream.format("rate").load()
    bench.run(rows.writeStream.format("noop"), checkpoint)


@FAMILY.provokes(FailureClass.STATE_INCOMPATIBLE)
def input_moved(bench: Bench) -> None:
    """B26: another input folder under the same checkpoint, with a batch still pending."""
    _input(bench)
    checkpoint = bench.copy(bench.root / "base" / "checkpoint", "checkpoint-input-moved")
    (checkpoint / "commits" / "4").unlink()
    bench.run(bench.rows().writeStream.format("noop"), checkpoint)


@FAMILY.provokes(FailureClass.CORRUPT_CHECKPOINT)
def async_tracking_switched_off(bench: Bench) -> None:
    """B04: the logs of async progress tracking have gaps, and without it the engine wants the entry below the newest."""
    folder = bench.place("async")
    rows = bench.spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    options = {"asyncProgressTrackingEnabled": "true", "asyncProgressTrackingCheckpointIntervalMs": "3000"}
    query = rows.writeStream.format("noop").options(**options).option("checkpointLocation", str(folder)).start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _has_gap(folder):
        time.sleep(0.2)
    query.stop()
    bench.run(rows.writeStream.format("noop"), folder)


def _has_gap(checkpoint: Path) -> bool:
    entries = sorted(int(file.name) for file in (checkpoint / "offsets").glob("[0-9]*"))
    return len(entries) > 1 and entries[-1] - entries[-2] > 1


@FAMILY.provokes(FailureClass.CODE_ERROR)
def memory_sink_with_a_checkpoint(bench: Bench) -> None:
    """The memory sink can't go on from a checkpoint."""
    rows = _input(bench)
    checkpoint = bench.copy(bench.root / "base" / "checkpoint", "checkpoint-memory")
    bench.run(rows.writeStream.format("memory").queryName("in_memory"), checkpoint)
