"""Damaged and outgrown state, with the file-backed provider and with RocksDB."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from streamops.failures.failure_class import FailureClass, Remedy
from support.provoke.bench import Bench, write_rows
from support.provoke.case import Family

FAMILY = Family("state")
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
HDFS_BACKED = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

Change = Callable[[DataFrame], DataFrame]


def _counts(rows: DataFrame) -> DataFrame:
    return rows.groupBy("k").agg(f.sum("n").alias("total"))


def _start(bench: Bench, frame: DataFrame, checkpoint: Path, *, mode: str = "update") -> None:
    bench.run(frame.writeStream.format("noop").outputMode(mode), checkpoint)


def _base(bench: Bench, folder: Path, *, change: Change = _counts) -> None:
    (folder / "in").mkdir()
    for name in range(4):
        write_rows(folder / "in", str(name), rows=6)
        _start(bench, change(bench.files(folder / "in")), folder / "checkpoint")
    write_rows(folder / "in", "next", rows=6)


def _restart(
    bench: Bench,
    *,
    name: str,
    damage: Callable[[Path], object] = lambda _: None,
    change: Change = _counts,
    mode: str = "update",
    base: str = "state-base",
    made: Change = _counts,
) -> None:
    folder = bench.once(base, partial(_base, bench, change=made))
    checkpoint = bench.copy(folder / "checkpoint", f"state-{name}")
    damage(checkpoint)
    _start(bench, change(bench.files(folder / "in")), checkpoint, mode=mode)


def _restart_rocks_db(bench: Bench, *, name: str, damage: Callable[[Path], object], changelog: str = "true") -> None:
    with bench.setting(PROVIDER, ROCKS_DB), bench.setting(CHANGELOG, changelog):
        _restart(bench, name=name, damage=damage, base=f"state-rocks-{changelog}")


def _each(pattern: str, act: Callable[[Path], object]) -> Callable[[Path], None]:
    """The act on each file that matches; its checksum goes, as it would on an object store."""

    def damage(checkpoint: Path) -> None:
        files = list((checkpoint / "state").glob(pattern))
        if not files:
            raise AssertionError(f"no {pattern} to damage in {checkpoint}")
        for file in files:
            act(file)
            (file.parent / f".{file.name}.crc").unlink(missing_ok=True)

    return damage


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _halve(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def _garble(file: Path) -> None:
    file.write_bytes(b"\x5a" * len(file.read_bytes()))


DAMAGES = [
    (
        "folder-gone",
        "folder state removed",
        FailureClass.STATE_INCOMPATIBLE,
        None,
        lambda ck: shutil.rmtree(ck / "state"),
    ),
    (
        "newest-delta-gone",
        "the newest delta of each partition removed",
        FailureClass.CORRUPT_CHECKPOINT,
        Remedy.RETRY_FEW,
        _each("0/*/4.delta", Path.unlink),
    ),
    (
        "delta-empty",
        "the newest deltas emptied",
        FailureClass.CORRUPT_CHECKPOINT,
        Remedy.RETRY_FEW,
        _each("0/*/4.delta", _empty),
    ),
    (
        "delta-cut",
        "the newest deltas cut",
        FailureClass.CORRUPT_CHECKPOINT,
        Remedy.RETRY_FEW,
        _each("0/*/4.delta", _halve),
    ),
    (
        "delta-garbled",
        "the newest deltas overwritten",
        FailureClass.CORRUPT_CHECKPOINT,
        Remedy.RETRY_FEW,
        _each("0/*/4.delta", _garble),
    ),
    (
        "partition-gone",
        "the folder of a partition removed",
        FailureClass.CORRUPT_CHECKPOINT,
        Remedy.RETRY_FEW,
        lambda ck: shutil.rmtree(ck / "state" / "0" / "1"),
    ),
    (
        "schema-empty",
        "the schema file emptied",
        FailureClass.CORRUPT_CHECKPOINT,
        None,
        _each("0/0/_metadata/schema", _empty),
    ),
    (
        "logs-gone-state-kept",
        "offsets, commits and metadata removed, state kept",
        FailureClass.CORRUPT_CHECKPOINT,
        None,
        lambda ck: _keep_only_state(ck),
    ),
    (
        "more-partitions-by-hand",
        "the number of shuffle partitions edited in the newest offsets",
        FailureClass.CORRUPT_CHECKPOINT,
        Remedy.RETRY_FEW,
        lambda ck: _more_partitions(ck / "offsets" / "3"),
    ),
    (
        "provider-by-hand",
        "the state provider edited in the newest offsets",
        FailureClass.CORRUPT_CHECKPOINT,
        Remedy.RETRY_FEW,
        lambda ck: _other_provider(ck / "offsets" / "3"),
    ),
]


def _keep_only_state(checkpoint: Path) -> None:
    for entry in checkpoint.iterdir():
        if entry.is_dir() and entry.name != "state":
            shutil.rmtree(entry)
        elif entry.is_file():
            entry.unlink()


def _more_partitions(entry: Path) -> None:
    entry.write_text(
        entry.read_text().replace('"spark.sql.shuffle.partitions":"2"', '"spark.sql.shuffle.partitions":"3"')
    )
    (entry.parent / f".{entry.name}.crc").unlink()


def _other_provider(entry: Path) -> None:
    entry.write_text(entry.read_text().replace(HDFS_BACKED, ROCKS_DB))
    (entry.parent / f".{entry.name}.crc").unlink()


for _id, _how, _class, _remedy, _damage in DAMAGES:
    FAMILY.add(_id, f"10.4: {_how}", _class, partial(_restart, name=_id, damage=_damage), remedy=_remedy)

CHANGES: list[tuple[str, str, Change, str]] = [
    ("key-changed", "grouped by a number instead of a text", lambda rows: rows.groupBy("n").agg(f.sum("n")), "update"),
    (
        "value-changed",
        "one aggregate more",
        lambda rows: rows.groupBy("k").agg(f.sum("n").alias("total"), f.count("*").alias("count")),
        "update",
    ),
    ("operator-dropped", "no stateful operator any more", lambda rows: rows.select("k"), "append"),
    ("operator-changed", "drops duplicates instead of counting", lambda rows: rows.dropDuplicates(["k"]), "append"),
]

for _id, _how, _change, _mode in CHANGES:
    FAMILY.add(_id, _how, FailureClass.STATE_INCOMPATIBLE, partial(_restart, name=_id, change=_change, mode=_mode))

ROCKS_DB_DAMAGES: list[tuple[str, str, str, Callable[[Path], object]]] = [
    ("changelog-gone", "the newest changelogs removed", "true", _each("0/*/4.changelog", Path.unlink)),
    ("changelog-empty", "the newest changelogs emptied", "true", _each("0/*/4.changelog", _empty)),
    ("zip-empty", "the newest snapshots emptied", "false", _each("0/*/4.zip", _empty)),
    ("zip-cut", "the newest snapshots cut", "false", _each("0/*/4.zip", _halve)),
    ("sst-gone", "the SST files removed", "false", _each("0/*/SSTs/*.sst", Path.unlink)),
]

for _id, _how, _changelog, _damage in ROCKS_DB_DAMAGES:
    FAMILY.add(
        f"rocksdb-{_id}",
        f"10.4: {_how}",
        FailureClass.CORRUPT_CHECKPOINT,
        partial(_restart_rocks_db, name=f"rocks-{_id}", damage=_damage, changelog=_changelog),
        remedy=Remedy.RETRY_FEW,
    )


@FAMILY.provokes(FailureClass.STATE_INCOMPATIBLE)
def operator_added(bench: Bench) -> None:
    """A query without state gets an operator with state."""
    _restart(bench, name="operator-added", base="stateless-base", made=lambda rows: rows.select("k"), change=_counts)


@FAMILY.provokes(FailureClass.CODE_ERROR)
def append_without_watermark(bench: Bench) -> None:
    """The output mode was changed to one that the aggregation can't do."""
    _restart(bench, name="append", mode="append")


@FAMILY.provokes(FailureClass.CORRUPT_CHECKPOINT, remedy=Remedy.RETRY_FEW)
def hidden_in_foreach_batch(bench: Bench) -> None:
    """A lost delta, and the state is read by an action inside the user's function."""
    folder = bench.once("state-base", partial(_base, bench))
    checkpoint = bench.copy(folder / "checkpoint", "state-hidden")
    _each("0/*/4.delta", Path.unlink)(checkpoint)

    def write(frame: DataFrame, batch: int) -> None:
        frame.collect()

    bench.run(_counts(bench.files(folder / "in")).writeStream.outputMode("update").foreachBatch(write), checkpoint)


@FAMILY.provokes(FailureClass.CODE_ERROR)
def batch_not_consumed(bench: Bench) -> None:
    """A foreachBatch that takes one row only: the other partitions' state is not committed."""

    def write(frame: DataFrame, batch: int) -> None:
        frame.limit(1).collect()

    frame = _counts(bench.rows())
    bench.run(frame.writeStream.outputMode("update").foreachBatch(write), bench.place("not-consumed"))


@FAMILY.provokes(FailureClass.CODE_ERROR)
def unknown_provider(bench: Bench) -> None:
    """The setting names a state store that is not on the class path."""
    with bench.setting(PROVIDER, "org.example.NoSuchProvider"):
        _start(bench, _counts(bench.rows()), bench.place("unknown-provider"))
