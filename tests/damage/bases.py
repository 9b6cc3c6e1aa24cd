"""Checkpoints that real Spark wrote, whole: made once for each kind of query, kept between runs, and copied for each case.

Everything of a query lies in one folder whose name is unlike any other text; in a copy the texts in which Spark wrote the path
(or the topic, which is called as the folder is) are adapted, with their checksums. Copies of all runs have paths of the same
length, so that a case that cuts a file at random cuts it at the same byte again.
"""

import hashlib
import json
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from damage.checksums import rewrite, side_file
from damage.queries import FIRST_MOMENT, KINDS, Kind, portion
from damage.sinks import Rows, without_batch
from damage.spark import HarnessError, Spark
from support.cluster import Cluster

ROUNDS = (3, 2, 1)
"""Portions before each of the first starts; the folder as it was after each but the last is kept as an older copy."""
WAITING = 2
"""Portions that lie there unread when the verdict is asked for."""
LATER = 1
"""Portions that come before the second start."""
TOTAL = sum(ROUNDS)
VARIANTS = ("stopped", "killed", "killed-before-sink", "killed-before-state")
"""Stopped between two batches; killed with all but the commit done; before the sink had the batch; and before its state was
written."""
MADE_BY = ("bases", "checksums", "driver", "queries", "sinks", "spark")
"""Modules that decide what is in a base: where one of them changes, all bases are made anew."""
LONGEST_KEPT = timedelta(days=7)
"""Delta removes commits by their age."""
ADAPTED = ("checkpoint/offsets", "checkpoint/commits", "checkpoint/sources", "out/_spark_metadata")


@dataclass(slots=True)
class Base:
    """A query that ran, and what it would go on to deliver."""

    kind: Kind
    folder: Path
    older: tuple[Path, ...] = ()
    """Copies of the folder after earlier rounds, oldest first."""
    expected: list[Rows] = field(default_factory=list)
    """What the sink has after the first start of a copy, and after the second."""
    undamaged: dict[str, Rows] = field(default_factory=dict)
    """What the sink of each variant has before any start."""

    @property
    def newest(self) -> int:
        """The last batch."""
        return max(batches(self.folder / "checkpoint" / "offsets"))


def batches(log: Path) -> list[int]:
    """Ids of the entries of a log."""
    return [int(file.name) for file in log.iterdir() if file.name.isdigit()] if log.is_dir() else []


def _copy(source: Path, target: Path) -> None:
    """A whole folder; without what Spark's maintenance of state, which outlives a query for a moment, renames meanwhile."""

    def unless_gone(file: str, copy: str) -> None:
        with suppress(FileNotFoundError):
            shutil.copy2(file, copy)

    shutil.copytree(source, target, copy_function=unless_gone)


def variants_of(kind: Kind) -> tuple[str, ...]:
    """Of async progress the newest entry is not that of the newest batch, and the sink has had those that came later."""
    return VARIANTS[:2] if kind.is_async else VARIANTS


class Workshop:
    """Makes bases on demand, keeps them, and copies them."""

    def __init__(self, root: Path, kept: Path, spark: Spark) -> None:
        self.root = root
        self.spark = spark
        self._kept = kept / made_by(spark.version)
        self._bases: dict[str, Base] = {}
        self._serial = 0
        self.seconds: dict[str, float] = {}
        """What it took to make the bases of this run that were not there yet."""

    @property
    def made(self) -> tuple[Base, ...]:
        """All bases so far."""
        return tuple(self._bases.values())

    def base(self, kind: Kind) -> Base:
        """The base of a kind; the first time of all it is made, with Spark."""
        if kind.name not in self._bases:
            base = self._found(kind)
            if base is None:
                begun = time.monotonic()
                base = self._make(kind)
                self.seconds[kind.name] = round(time.monotonic() - begun, 1)
            self._bases[kind.name] = base
        return self._bases[kind.name]

    def _folder_of(self, kind: Kind) -> Path:
        """Its name is as long as that of a copy."""
        return self._kept / f"base-{KINDS.index(kind):05d}"

    def _found(self, kind: Kind) -> Base | None:
        """A base that an earlier run made here; its note is written last, and names its folder, as Spark's texts do."""
        folder = self._folder_of(kind)
        note = folder.with_suffix(".json")
        if not note.exists() or time.time() - note.stat().st_mtime > LONGEST_KEPT.total_seconds():
            return None
        kept = json.loads(note.read_text())
        if kept["folder"] != str(folder):
            return None
        return Base(
            kind=kind,
            folder=folder,
            older=_older(folder),
            expected=[Rows.from_json(rows) for rows in kept["expected"]],
            undamaged={variant: Rows.from_json(rows) for variant, rows in kept["undamaged"].items()},
        )

    def _make(self, kind: Kind) -> Base:
        folder = self._folder_of(kind)
        note = folder.with_suffix(".json")
        note.unlink(missing_ok=True)
        for rest in (folder, _archive(folder)):
            shutil.rmtree(rest, ignore_errors=True)
        folder.mkdir(parents=True)
        base = Base(kind=kind, folder=folder)
        if kind.source == "kafka":
            Cluster.at(self.spark.bootstrap).create(folder.name, partitions=2)
        fed = 0
        for number, count in enumerate(ROUNDS):
            for portion_number in range(fed, fed + count):
                self.feed(kind, folder, portion_number)
            fed += count
            self._must_run(kind, folder, times=count if kind.feeds_itself else 1)
            if number < len(ROUNDS) - 1:
                _copy(folder, _archive(folder) / str(number))
        base.older = _older(folder)
        control = self.copy(base, "stopped")
        for count in (WAITING, LATER):
            if count is LATER:
                self.feed_later(kind, control)
            self._must_run(kind, control)
            base.expected.append(Rows.of(kind, control, self.spark))
        shutil.rmtree(control)
        for variant in variants_of(kind):
            copy = self.copy(base, variant)
            base.undamaged[variant] = Rows.of(kind, copy, self.spark)
            shutil.rmtree(copy)
        undamaged = {variant: rows.to_json() for variant, rows in base.undamaged.items()}
        expected = [rows.to_json() for rows in base.expected]
        note.write_text(
            json.dumps({"kind": kind.name, "folder": str(folder), "expected": expected, "undamaged": undamaged})
        )
        return base

    def _must_run(self, kind: Kind, folder: Path, *, times: int = 1) -> None:
        for _ in range(times):
            outcome = self.spark.run(kind, folder)
            if outcome["error"] or outcome["hung"]:
                raise HarnessError(f"{kind.name} does not run undamaged: {outcome}")

    def undamaged_copy(self, base: Base, variant: str, folder: Path) -> Path:
        """What somebody has put aside of a case's folder before its damage; below it, to be deleted with it."""
        target = folder / "copy"
        _copy(base.folder, target)
        adapt(target, base.folder, folder)
        if base.kind.source != "kafka":
            for number in range(TOTAL, TOTAL + WAITING):
                self.feed(base.kind, target, number)
        if variant != "stopped":
            kill(base.kind, target, variant)
        return target

    def copy(self, base: Base, variant: str) -> Path:
        """A new folder like the base's, with portions that wait to be read."""
        self._serial += 1
        folder = self.root / f"case-{self._serial:05d}"
        _copy(base.folder, folder)
        adapt(folder, base.folder, folder)
        if base.kind.source == "kafka":
            Cluster.at(self.spark.bootstrap).create(folder.name, partitions=2)
            for number in range(TOTAL):
                self._produce(base.kind, folder, number)
        for number in range(TOTAL, TOTAL + WAITING):
            self.feed(base.kind, folder, number)
        if variant != "stopped":
            kill(base.kind, folder, variant)
        return folder

    def older_copy(self, base: Base, number: int, folder: Path) -> Path:
        """An older copy of the folder, adapted to the name of a case's folder; below it, to be deleted with it."""
        target = folder / "older" / str(number)
        if not target.exists():
            _copy(base.older[number], target)
            adapt(target, base.folder, folder)
        return target

    def feed_later(self, kind: Kind, folder: Path) -> None:
        """What comes between the two starts."""
        for number in range(TOTAL + WAITING, TOTAL + WAITING + LATER):
            self.feed(kind, folder, number)

    def feed(self, kind: Kind, folder: Path, number: int) -> None:
        """One portion more, in each folder that the query reads."""
        if kind.source == "kafka":
            self._produce(kind, folder, number)
            return
        for name in kind.inputs:
            rows = portion(kind, number, name)
            if kind.source == "files":
                _write_file(folder / name, number, rows)
            elif kind.source == "delta":
                append_to_table(folder / name, rows)

    def _produce(self, kind: Kind, folder: Path, number: int) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.spark.bootstrap, "log_level": 0, "linger.ms": 0})
        for index, row in enumerate(portion(kind, number, "in")):
            producer.produce(folder.name, json.dumps(row).encode(), partition=index % 2)
        if producer.flush(30):
            raise HarnessError("the broker takes no records")


def made_by(version: str) -> str:
    """A name for all that decides what is in a base."""
    texts = [Path(__file__).with_name(f"{module}.py").read_bytes() for module in MADE_BY]
    return f"{version}-{hashlib.sha256(b''.join(texts)).hexdigest()[:12]}"


def adapt(folder: Path, old: Path, new: Path) -> None:
    """Paths and names in the texts that Spark wrote; files keep their times."""
    for place in ADAPTED:
        for file in sorted((folder / place).rglob("*")) if (folder / place).is_dir() else ():
            if not file.is_file() or file.name.endswith(".crc"):
                continue
            content = file.read_bytes()
            if old.name.encode() not in content:
                continue
            kept = file.stat()
            for before, after in ((str(old), str(new)), (old.name, new.name)):
                content = content.replace(before.encode(), after.encode())
            file.write_bytes(content)
            os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
            if side_file(file).exists():
                rewrite(file)
                os.utime(side_file(file), ns=(kept.st_atime_ns, kept.st_mtime_ns))


def kill(kind: Kind, folder: Path, variant: str) -> None:
    """Take back what a query that is killed in its newest batch would not have done yet."""
    checkpoint = folder / "checkpoint"
    batch = max(batches(checkpoint / "commits"))
    _remove(checkpoint / "commits" / str(batch))
    if variant == "killed":
        return
    without_batch(kind, folder, batch)
    if variant == "killed-before-state":
        state = checkpoint / "state"
        for file in sorted(state.rglob(f"{batch + 1}*")) if state.is_dir() else ():
            if file.is_file() and file.name[len(str(batch + 1))] in "._":
                _remove(file)


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    side_file(file).unlink(missing_ok=True)


def _archive(folder: Path) -> Path:
    return folder.with_suffix(".older")


def _older(folder: Path) -> tuple[Path, ...]:
    return tuple(_archive(folder) / str(number) for number in range(len(ROUNDS) - 1))


def _write_file(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{number:03d}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(file, (FIRST_MOMENT + number,) * 2)


def append_to_table(folder: Path, rows: list[dict[str, Any]], mode: str = "append") -> None:
    """One commit with one file."""
    import pyarrow
    from deltalake import write_deltalake

    schema = pyarrow.schema([("n", pyarrow.int64()), ("k", pyarrow.string()), ("t", pyarrow.int64())])
    write_deltalake(str(folder), pyarrow.Table.from_pylist(rows, schema=schema), mode=mode)
