"""Random damage: what crashes, tools and people do to a checkpoint, its sink and its source, each told in one line.

All is drawn from one generator of numbers, so that a case can be made again from its seed alone.
"""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from damage.bases import TOTAL, Base, Workshop, append_to_table, batches
from damage.checksums import rewrite, side_file
from damage.queries import BY_NAME, FIRST_MOMENT
from support.cluster import Cluster

CHECKSUMS = ("kept", "removed", "rewritten")
"""What becomes of the side file of a file that is changed: a tool leaves it, an object store has none, Hadoop writes it."""


@dataclass(slots=True, kw_only=True)
class Scene:
    """A copy of a checkpoint that is about to be damaged."""

    workshop: Workshop
    base: Base
    folder: Path
    draw: Random

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def shown(self, file: Path) -> str:
        """Its name as it stands in an account."""
        return str(file.relative_to(self.folder))

    def newest(self, log: str) -> int:
        """The last id of a log, -1 where it is empty."""
        return max(batches(self.checkpoint / log), default=-1)

    def target(self) -> Path:
        """A file; those that a start reads are drawn more often."""
        groups = [(weight, found) for weight, find in TARGETS if (found := find(self))]
        return self.draw.choice(self.draw.choices([found for _, found in groups], [weight for weight, _ in groups])[0])

    def written(self, file: Path) -> str:
        """See to the side file of one that was changed."""
        side = side_file(file)
        if not side.exists():
            return ""
        how = self.draw.choice(CHECKSUMS)
        if how == "removed" or (how == "rewritten" and not file.exists()):
            side.unlink()
        elif how == "rewritten":
            rewrite(file)
        return f" (its .crc {how})"


Target = Callable[[Scene], list[Path]]


def _whole(folder: Path, pattern: str = "*") -> list[Path]:
    """Files without the side files of Hadoop."""
    found = sorted(folder.rglob(pattern), key=_place) if folder.is_dir() else []
    return [file for file in found if file.is_file() and not (file.name.startswith(".") and file.name.endswith(".crc"))]


def _place(file: Path) -> tuple[str, int]:
    """Names that are drawn by Spark don't decide which file is drawn here, so that a case can be made again."""
    return _DRAWN_BY_SPARK.sub("", str(file)), file.lstat().st_mtime_ns


_DRAWN_BY_SPARK = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=/case-)\d+")


def _entries(scene: Scene, log: str, count: int) -> list[Path]:
    ids = sorted(batches(scene.checkpoint / log))[-count:]
    return [scene.checkpoint / log / str(batch) for batch in ids]


def _newest_state(scene: Scene) -> list[Path]:
    newest = scene.newest("offsets")
    versions = re.compile(rf"({newest}|{newest + 1})[._]")
    return [file for file in _whole(scene.checkpoint / "state") if versions.match(file.name)]


def _sink_log(scene: Scene) -> list[Path]:
    return [file for name in ("_delta_log", "_spark_metadata") for file in _whole(scene.folder / "out" / name)]


def _read_input(scene: Scene) -> list[Path]:
    """Files of the batch in flight or the last one."""
    names = [file for folder in scene.base.kind.inputs for file in sorted((scene.folder / folder).glob("*.json"))]
    return names[5:6] if scene.base.kind.source == "files" else []


TARGETS: tuple[tuple[int, Target], ...] = (
    (20, lambda scene: _entries(scene, "offsets", 1)),
    (10, lambda scene: _entries(scene, "offsets", 2)[:1]),
    (14, lambda scene: _entries(scene, "commits", 1)),
    (8, lambda scene: _whole(scene.checkpoint, "metadata")[:1]),
    (14, lambda scene: _whole(scene.checkpoint / "sources")),
    (18, _newest_state),
    (8, lambda scene: _whole(scene.checkpoint / "state")),
    (5, lambda scene: [file for file in _whole(scene.checkpoint / "state") if "_metadata" in file.parts]),
    (10, _sink_log),
    (4, lambda scene: _whole(scene.folder / "in", "*.json") if scene.base.kind.source == "delta" else []),
    (3, _read_input),
    (5, lambda scene: _whole(scene.checkpoint)),
)
"""Weights, and the files that they are for."""


# --- any file, as bytes ---------------------------------------------------------


def delete(scene: Scene) -> str:
    """A file is gone."""
    file = scene.target()
    file.unlink()
    return f"delete {scene.shown(file)}{scene.written(file)}"


def cut(scene: Scene) -> str:
    """A write that broke off."""
    return _changed(scene, "cut", lambda content: content[: scene.draw.randrange(len(content))])


def empty(scene: Scene) -> str:
    """A full disk."""
    return _changed(scene, "empty", lambda content: b"")


def nul(scene: Scene) -> str:
    """A loss of power."""
    return _changed(scene, "fill with NUL", lambda content: bytes(len(content)))


def flip(scene: Scene) -> str:
    """A worn disk."""
    file = scene.target()
    content = bytearray(file.read_bytes())
    if not content:
        return f"nothing to flip in {scene.shown(file)}"
    place = scene.draw.randrange(len(content))
    content[place] ^= 1 << scene.draw.randrange(8)
    file.write_bytes(content)
    return f"flip a bit of byte {place} of {scene.shown(file)}{scene.written(file)}"


def trail(scene: Scene) -> str:
    """An editor, or a block that was written in full."""
    tail = scene.draw.choice([b"\n", b" ", b"\n\n", b"\x00" * 16, b"xyz", b'{"x":1}'])
    return _changed(scene, f"add {tail!r} behind", lambda content: content + tail)


def swap(scene: Scene) -> str:
    """Two files of a folder have changed places."""
    file = scene.target()
    others = [other for other in _whole(file.parent) if other.parent == file.parent and other != file]
    if not others:
        return f"nothing to swap {scene.shown(file)} with"
    other = scene.draw.choice(others)
    first, second = file.read_bytes(), other.read_bytes()
    file.write_bytes(second)
    other.write_bytes(first)
    return f"swap {scene.shown(file)} with {scene.shown(other)}{scene.written(file)}{scene.written(other)}"


def _changed(scene: Scene, what: str, change: Callable[[bytes], bytes]) -> str:
    file = scene.target()
    content = file.read_bytes()
    if not content:
        return f"nothing to {what} in {scene.shown(file)}"
    file.write_bytes(change(content))
    return f"{what}: {scene.shown(file)}, {len(content)} → {file.stat().st_size} bytes{scene.written(file)}"


# --- copies that are old, or belong elsewhere -----------------------------------


def older_file(scene: Scene) -> str:
    """A file as it was, or under the name of one that came later."""
    file = scene.target()
    if file.parent.parent == scene.checkpoint and file.name.isdigit() and int(file.name) > 0:
        earlier = [batch for batch in batches(file.parent) if batch < int(file.name)]
        if earlier:
            source = file.with_name(str(scene.draw.choice(earlier)))
            shutil.copyfile(source, file)
            return f"copy {scene.shown(source)} over {scene.shown(file)}{scene.written(file)}"
    number = scene.draw.randrange(len(scene.base.older))
    source = scene.workshop.older_copy(scene.base, number, scene.folder) / file.relative_to(scene.folder)
    if not source.exists() or source.read_bytes() == file.read_bytes():
        file.unlink()
        return f"delete {scene.shown(file)}, which the copy of batch {number} lacks{scene.written(file)}"
    shutil.copyfile(source, file)
    return f"put back {scene.shown(file)} of older copy {number}{scene.written(file)}"


def older_folder(scene: Scene) -> str:
    """A part of the checkpoint is put back as it was, by itself."""
    number = scene.draw.randrange(len(scene.base.older))
    parts = [part for part in ("", "offsets", "commits", "state", "sources") if (scene.checkpoint / part).is_dir()]
    # A ledger tells nobody that it has had later batches.
    part = scene.draw.choice(parts if scene.base.kind.shows_its_sink else parts[1:])
    source = scene.workshop.older_copy(scene.base, number, scene.folder) / "checkpoint" / part
    target = scene.checkpoint / part
    if not source.is_dir():
        return f"older copy {number} has no {part}"
    shutil.rmtree(target)
    shutil.copytree(source, target)
    return f"put back checkpoint/{part} of older copy {number}"


def older_sink(scene: Scene) -> str:
    """The table or the directory is restored, the checkpoint is not."""
    number = scene.draw.randrange(len(scene.base.older))
    source, target = scene.workshop.older_copy(scene.base, number, scene.folder) / "out", scene.folder / "out"
    if not scene.base.kind.shows_its_sink or not source.is_dir():
        return "no sink to put back"
    shutil.rmtree(target)
    shutil.copytree(source, target)
    return f"put back out of older copy {number}"


def of_another(scene: Scene) -> str:
    """A file of another query's checkpoint, under the same name."""
    other = scene.draw.choice([name for name in COMPANIONS if name != scene.base.kind.name])
    file = scene.target()
    source = scene.workshop.base(BY_NAME[other]).folder / file.relative_to(scene.folder)
    if not source.is_file():
        return f"{other} has no {scene.shown(file)}"
    shutil.copyfile(source, file)
    return f"copy {scene.shown(file)} of {other}{scene.written(file)}"


COMPANIONS = ("files-ledger", "counts-hdfs-ledger")


# --- texts that a person edits --------------------------------------------------


def edit(scene: Scene) -> str:
    """One value or line of a log's entry."""
    texts = [
        *_entries(scene, "offsets", 1) * 4,
        *_entries(scene, "offsets", 2)[:1] * 2,
        *_entries(scene, "commits", 1) * 2,
        *_whole(scene.checkpoint, "metadata")[:1],
        *[file for file in _whole(scene.checkpoint / "sources") if b"\x00" not in file.read_bytes()],
    ]
    if not texts:
        return "no text to edit"
    file = scene.draw.choice(texts)
    try:
        lines = file.read_text().split("\n")
    except UnicodeDecodeError:
        return f"no text in {scene.shown(file)}"
    how = scene.draw.choice(EDITS)
    what = how(scene.draw, lines)
    if not what:
        return f"nothing of that kind to edit in {scene.shown(file)}"
    file.write_text("\n".join(lines), newline="")
    return f"edit {scene.shown(file)}: {what}{scene.written(file)}"


def _number(draw: Random, lines: list[str]) -> str:
    places = [(at, found) for at, line in enumerate(lines) for found in re.finditer(r"(?<=[:\[ ])-?\d+\b", line)]
    if not places:
        return ""
    at, found = draw.choice(places)
    old = int(found[0])
    new = draw.choice([old + 1, old - 1, 0, -1, -2, old * 10 + 7, old + 1000])
    lines[at] = lines[at][: found.start()] + str(new) + lines[at][found.end() :]
    return f"line {at + 1}: {lines[at][max(0, found.start() - 30) : found.start()]!r} {old} → {new}"


def _line(draw: Random, lines: list[str]) -> str:
    at = draw.randrange(len(lines))
    what = draw.choice(["drop", "double", "blank before", "CR behind", "empty"])
    if what == "drop":
        del lines[at]
    elif what == "double":
        lines.insert(at, lines[at])
    elif what == "blank before":
        lines[at] = " " + lines[at]
    elif what == "CR behind":
        lines[:] = [f"{line}\r" for line in lines[:-1]] + lines[-1:]
    else:
        lines[at] = ""
    return f"{what}, line {at + 1}"


def _swapped_lines(draw: Random, lines: list[str]) -> str:
    if len(lines) < 4:
        return ""
    lines[-1], lines[-2] = lines[-2], lines[-1]
    return "swap the last two lines"


def _version(draw: Random, lines: list[str]) -> str:
    if not lines[0].startswith("v"):
        return ""
    old, lines[0] = lines[0], draw.choice(["v1", "v2", "v3", "v10", "1", "V1", "v", ""])
    return f"{old!r} → {lines[0]!r}"


def _json(draw: Random, lines: list[str]) -> str:
    places = [(at, value) for at, line in enumerate(lines) if isinstance(value := _parsed(line), dict) and value]
    if not places:
        return ""
    at, value = draw.choice(places)
    holder = value
    while isinstance(inner := holder[key := draw.choice(sorted(holder))], dict) and inner and draw.random() < 0.8:
        holder = inner
    old = holder.pop(key)
    what = draw.choice(["drop", "rename", "text", "null"])
    if what != "drop":
        name, changed = {"rename": (f"{key}x", old), "text": (key, str(old)), "null": (key, None)}[what]
        holder[name] = changed
    prefix = lines[at][: lines[at].index("{")]
    lines[at] = prefix + json.dumps(value, separators=(",", ":"))
    return f"{what} of {key!r} in line {at + 1}"


def _parsed(line: str) -> Any:
    try:
        return json.loads(line[line.index("{") :])
    except ValueError:
        return None


EDITS: tuple[Callable[[Random, list[str]], str], ...] = (
    _number,
    _number,
    _number,
    _line,
    _json,
    _json,
    _version,
    _swapped_lines,
)


def edit_topic(scene: Scene) -> str:
    """The name of a topic or the number of a partition, in an entry that a start reads."""
    file = scene.draw.choice([*_entries(scene, "offsets", 1) * 3, *_entries(scene, "offsets", 2)[:1]] or [None])
    lines = _text_lines(file)
    ends = _parsed(lines[2]) if len(lines) > 2 else None
    topic = next(iter(ends), "") if isinstance(ends, dict) else ""
    if file is None or not topic or not isinstance(ends[topic], dict) or not ends[topic]:
        return "no topic to edit"
    partitions = ends[topic]
    what = scene.draw.choice(
        ["drop a partition", "rename the topic", "add a partition", "renumber a partition", "drop the topic"]
    )
    one = scene.draw.choice(sorted(partitions))
    if what == "drop a partition":
        del partitions[one]
    elif what == "rename the topic":
        ends[f"{topic}x"] = ends.pop(topic)
    elif what == "add a partition":
        partitions["7"] = scene.draw.choice([0, 3])
    elif what == "renumber a partition":
        partitions["5"] = partitions.pop(one)
    else:
        del ends[topic]
    lines[2] = json.dumps(ends, separators=(",", ":"))
    file.write_text("\n".join(lines), newline="")
    return f"edit {scene.shown(file)}: {what}{scene.written(file)}"


def _text_lines(file: Path | None) -> list[str]:
    try:
        return file.read_text().split("\n") if file else []
    except UnicodeDecodeError:
        return []


# --- what the query reads -------------------------------------------------------


def break_source(scene: Scene) -> str:
    """The table, the topic or the input folder is not what it was."""
    how = {"delta": _break_table, "kafka": _break_topic, "files": _break_files}.get(scene.base.kind.source)
    try:
        return how(scene) if how else "nothing behind the source"
    except DeltaError as error:
        return f"nothing: what was done before keeps the table from being read: {str(error).splitlines()[0]}"


def _break_table(scene: Scene) -> str:
    table = scene.folder / "in"
    what = scene.draw.choice(
        ["overwrite", "delete rows", "remake", "drop old versions", "lose a data file", "optimize"]
    )
    rows = [{"n": 60, "k": "a", "t": FIRST_MOMENT}]
    if what == "overwrite":
        append_to_table(table, rows, mode="overwrite")
    elif what == "delete rows":
        DeltaTable(str(table)).delete("n < 3")
    elif what == "remake":
        shutil.rmtree(table)
        for _ in range(8):
            append_to_table(table, rows)
    elif what == "drop old versions":
        newest = DeltaTable(str(table))
        newest.create_checkpoint()
        # Whoever cleans up keeps the newest commit.
        below = scene.draw.choice([3, 5, 6, 7])
        for version in range(min(below, newest.version() + 1)):
            (table / "_delta_log" / f"{version:020d}.json").unlink(missing_ok=True)
        return f"the table's log loses the commits below {below}"
    elif what == "lose a data file":
        file = scene.draw.choice(sorted(table.glob("*.parquet")))
        file.unlink()
        return "the table loses a data file"
    else:
        DeltaTable(str(table)).optimize.compact()
    return f"the table: {what}"


def _break_topic(scene: Scene) -> str:
    cluster, topic = Cluster.at(scene.workshop.spark.bootstrap), scene.folder.name
    if topic not in cluster.topics():
        return "the topic is gone already"
    what = scene.draw.choice(["records", "records", "delete", "remake", "partition"])
    if what == "records":
        before = scene.draw.choice([2, 5, 6, 7, 8])
        cluster.delete_records(topic, before=before)
        return f"the topic loses the records before {before} of partition 0"
    if what == "partition":
        cluster.add_partitions(topic, 3)
        return "the topic gets a partition"
    cluster.delete(topic)
    if what == "remake":
        cluster.create(topic, partitions=2)
        return "the topic is made anew, empty"
    return "the topic is deleted"


def _break_files(scene: Scene) -> str:
    # By name: after a first act of this kind the ones that nobody has read yet may lie there alone.
    files = [file for number in range(TOTAL) if (file := scene.folder / "in" / f"{number:03d}.json").exists()]
    if not files:
        return "nothing left of the input"
    what = scene.draw.choice(["delete the newest read", "delete all read", "touch one", "move all read"])
    if what == "delete the newest read":
        files[-1].unlink()
    elif what == "delete all read":
        for file in files:
            file.unlink()
    elif what == "touch one":
        os.utime(scene.draw.choice(files))
    else:
        (scene.folder / "done").mkdir(exist_ok=True)
        for file in files:
            file.rename(scene.folder / "done" / file.name)
    return f"the input: {what}"


ACTS: tuple[tuple[int, Callable[[Scene], str]], ...] = (
    (16, delete),
    (8, cut),
    (6, empty),
    (5, nul),
    (9, flip),
    (5, trail),
    (7, swap),
    (8, older_file),
    (6, older_folder),
    (3, older_sink),
    (6, of_another),
    (24, edit),
    (8, break_source),
)
"""Weights, and what is done."""
KAFKA_ACTS = ((10, edit_topic),)
"""Besides, where a query reads Kafka; apart, so that the cases of all others stay as they were."""
CONTROLS = 0.06
"""Cases without damage: whatever is told of them is an error, of the product or of the run."""
TWICE = 0.25
"""Cases with two acts."""


def damaged(scene: Scene) -> list[tuple[str, str]]:
    """What was done to the copy: the kind of each act, and its account."""
    if scene.draw.random() < CONTROLS:
        return []
    drawn = [*ACTS, *(KAFKA_ACTS if scene.base.kind.source == "kafka" else ())]
    acts = []
    for _ in range(2 if scene.draw.random() < TWICE else 1):
        act = scene.draw.choices([act for _, act in drawn], [weight for weight, _ in drawn])[0]
        acts.append((act.__name__, act(scene)))
    return acts
