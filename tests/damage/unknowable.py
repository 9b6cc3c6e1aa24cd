"""Damage of which no file tells: what nobody can know is counted apart, and is no error of the product.

Each exception is a rule over what the acts did to the files, and never over how the start went. One file that no exception
excuses is enough to make the case an ordinary one; so is a checksum that was left and doesn't fit, but for files of state that no
start loads: to read those as well would cost more than the start itself.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from damage.checksums import checksum, side_file
from damage.compare import ANOTHER_SCHEMA
from damage.queries import STATE, Kind
from streamops.checkpoint.state_metadata import schema_trouble

Files = dict[str, bytes]
"""Contents by their path below the folder of a case; side files of Hadoop and others among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A copy before and after the acts."""

    kind: Kind
    before: Files
    after: Files
    others: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    """What a file under the same path has in older copies, and in the checkpoint of another query of the same shape."""
    waiting: int = 0
    """The end of each partition of a topic, or the newest version of a table."""
    is_outside: bool = False
    """Whether the acts changed what is in no file, such as a topic."""

    def left_by(self, repaired: Files) -> "Damage":
        """The part of it that a repair did not touch."""
        names = self.after.keys() | self.before.keys()
        untouched = {name for name in names if repaired.get(name) == self.after.get(name)}
        left = {name: (self.after if name in untouched else self.before).get(name) for name in names}
        return replace(self, after={name: content for name, content in left.items() if content is not None})

    @property
    def changed(self) -> tuple[str, ...]:
        """Files other than side files that are gone, new or changed."""
        names = sorted(self.before.keys() | self.after.keys())
        return tuple(name for name in names if not _is_side(name) and self.before.get(name) != self.after.get(name))

    def fits_its_checksum(self, name: str) -> bool:
        """Whether no checksum speaks against it: neither Hadoop's beside it nor that of Spark, which carries its full name."""
        side = self.after.get(str(side_file(Path(name))))
        return (side is None or side == checksum(self.after.get(name, b""))) and f"{name}.crc" not in self.after

    def is_loaded(self, name: str) -> bool:
        """Whether a start reads it; false for what state kept below the newest snapshot of its store."""
        version = _version(name)
        if version is None:
            return True
        folder = name.rpartition("/")[0]
        snapshots = [
            _version(other) or 0
            for other in self.before
            if other.endswith((".zip", ".snapshot")) and _in(folder, other)
        ]
        return version >= max(snapshots, default=0)

    def ids(self, files: Files, log: str) -> list[int]:
        """Of the entries of a log."""
        pattern = re.compile(rf"checkpoint/{log}/(\d+)(?:\.compact)?")
        return sorted(int(found[1]) for name in files if (found := pattern.fullmatch(name)))


def files_of(folder: Path) -> Files:
    """All files of a folder; an input file is another one when its time has changed."""
    found = {}
    for file in folder.rglob("*"):
        name = file.relative_to(folder)
        if file.is_file() and name.parts[0] in ("checkpoint", "in", "in2", "out"):
            time = f"|{file.stat().st_mtime_ns}".encode() if name.parts[0] in ("in", "in2") else b""
            found[str(name)] = file.read_bytes() + time
    return found


def _version(name: str) -> int | None:
    """Of a file of state: `…/7.delta`, `…/7_<id>.zip`."""
    found = re.fullmatch(r"checkpoint/state/.+/(\d+)(?:_[^/]+)?\.(?:delta|snapshot|changelog|zip)", name)
    return int(found[1]) if found else None


def _is_side(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith(".") and last.endswith(".crc")


# --- the exceptions -----------------------------------------------------------------


def is_another_valid_state_file(damage: Damage, name: str) -> bool:
    """A delta, snapshot, changelog, zip or SST holds what another one of its kind holds: no version is in the bytes.

    An SST must be as long as before, as the zip says its size. A changelog of unique ids names those before it.
    """
    suffix = Path(name).suffix
    if not name.startswith("checkpoint/state/") or suffix not in STATE_SUFFIXES or name not in damage.after:
        return False
    if suffix == ".sst" and len(damage.after[name]) != len(damage.before.get(name, b"")):
        return False
    if suffix == ".changelog" and damage.kind.confs.get(f"{STATE}checkpointFormatVersion") == "2":
        return False
    parent = name.rpartition("/")[0]
    siblings = [
        content for other, content in damage.before.items() if Path(other).suffix == suffix and _in(parent, other)
    ]
    return damage.after[name] in (*siblings, *damage.others.get(name, ()))


def is_behind_the_mark_of_the_end(damage: Damage, name: str) -> bool:
    """Only the empty block in which a stream of lz4 ends was changed, or more follows: Spark stops at its own mark before it."""
    before, after = damage.before.get(name, b""), damage.after.get(name, b"")
    has_one = name.startswith("checkpoint/state/") and before[-LAST_BLOCK:].startswith(b"LZ4Block")
    return has_one and len(before) <= len(after) and before[:-LAST_BLOCK] == after[: len(before) - LAST_BLOCK]


LAST_BLOCK = 21
"""Bytes of a block's header (LZ4BlockOutputStream)."""
SOURCE_COMMIT = re.compile(r"in/_delta_log/(\d{20})\.json")
STATE_SUFFIXES = frozenset({".delta", ".snapshot", ".changelog", ".zip", ".sst"})


def is_another_line_of_a_source_log(damage: Damage, name: str) -> bool:
    """A line that was read before the newest batch has another path, and is a line as before.

    What another entry repeats can be compared.
    """
    found = re.fullmatch(r"checkpoint/sources/\d+/(\d+)(?:\.compact)?", name)
    old, new = _lines(damage.before.get(name)), _lines(damage.after.get(name))
    if not found or len(old) != len(new) or old[:1] != new[:1]:
        return False
    newest = max(damage.ids(damage.before, "offsets"), default=-1)
    folder = name.rpartition("/")[0]
    elsewhere = {
        line
        for other, content in damage.before.items()
        if other != name and _in(folder, other)
        for line in _lines(content)
    }
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    return bool(changed) and all(_is_as_valid(a, b, newest) and a not in elsewhere for a, b in changed)


def _is_as_valid(old: str, new: str, newest: int) -> bool:
    was, now = _parsed(old), _parsed(new)
    if not isinstance(was, dict) or not isinstance(now, dict) or was.keys() != now.keys() or "path" not in was:
        return False
    if any(was[key] != now[key] for key in ("batchId", "timestamp")):
        return False
    if was["batchId"] >= newest and was["path"] != now["path"]:
        return False
    return isinstance(now["path"], str) and bool(re.fullmatch(r"file:///[\w./-]+", now["path"], re.ASCII))


def is_another_offset_in_range(damage: Damage, name: str) -> bool:
    """Offsets of Kafka, the version of a Delta table, or the count of a rate source, between the entry below and what comes next.

    How many rows a batch of a rate source has is an option of its reader, and in no file.
    """
    found = re.fullmatch(r"checkpoint/offsets/(\d+)", name)
    old, new = _lines(damage.before.get(name)), _lines(damage.after.get(name))
    if not found or len(old) != len(new) or len(old) < 3 or old[:2] != new[:2]:
        return False
    neighbours = [_lines(damage.after.get(f"checkpoint/offsets/{int(found[1]) + step}")) for step in (-1, 1)]
    if any(lines and len(lines) != len(new) for lines in neighbours) or not neighbours[0]:
        return False
    below, above = neighbours
    return all(
        _is_between(
            damage, _parsed(new[at]), _parsed(below[at]), _parsed(above[at]) if above else None, _parsed(old[at])
        )
        for at in range(2, len(new))
    )


def _is_between(damage: Damage, value: Any, below: Any, above: Any, was: Any) -> bool:
    if damage.kind.source not in ("kafka", "delta", "rate") or not all(_is_like(was, one) for one in (value, below)):
        return False
    if above is not None and not _is_like(was, above):
        return False
    if damage.kind.source == "rate":
        high = above["offset"] if above else value["offset"]
        return bool({**value, "offset": was["offset"]} == was and below["offset"] <= value["offset"] <= high)
    if damage.kind.source == "delta":
        rest = {**value, "reservoirVersion": was["reservoirVersion"]} == was
        return rest and _in_order(below["reservoirVersion"], value["reservoirVersion"], damage.waiting, above, ())
    return all(
        _in_order(below[topic][one], end, damage.waiting, above, (topic, one))
        for topic, ends in value.items()
        for one, end in ends.items()
    )


def _is_like(was: Any, now: Any) -> bool:
    """Whether the same keys hold values of the same kind."""
    if isinstance(was, dict):
        return isinstance(now, dict) and was.keys() == now.keys() and all(_is_like(was[key], now[key]) for key in was)
    return type(was) is type(now)


def _in_order(low: int, value: int, end: int, above: Any, keys: tuple[str, ...]) -> bool:
    """Not below the entry below, and not above the one that follows, or the end of what can be read."""
    if above is None:
        return low <= value <= end
    high = above[keys[0]][keys[1]] if keys else above["reservoirVersion"]
    return low <= value <= int(high)


def is_a_higher_watermark(damage: Damage, name: str) -> bool:
    """The watermark that the newest commit hands on is higher: nothing came after it that could say otherwise."""
    newest = max(damage.ids(damage.before, "commits"), default=-1)
    old, new = _lines(damage.before.get(name)), _lines(damage.after.get(name))
    if name != f"checkpoint/commits/{newest}" or f"checkpoint/offsets/{newest + 1}" in damage.after:
        return False
    if len(old) != len(new) or len(old) < 2 or old[:1] != new[:1]:
        return False
    was, now = _parsed(old[1]), _parsed(new[1])
    if not isinstance(was, dict) or not isinstance(now, dict):
        return False
    mark = now.get("nextBatchWatermarkMs")
    rest = {**now, "nextBatchWatermarkMs": was.get("nextBatchWatermarkMs")} == was
    return rest and type(mark) is int and mark > was["nextBatchWatermarkMs"]


def is_the_same_commit(damage: Damage, name: str) -> bool:
    """A commit in which Spark reads what it read before: a key that it does not know is passed over, and an absent mark is 0."""
    if not name.startswith("checkpoint/commits/") or name not in damage.after:
        return False
    old, new = _lines(damage.before.get(name)), _lines(damage.after[name])
    marks = [_mark(lines[1]) for lines in (old, new) if len(lines) == 2 and lines[0] == "v1"]
    return len(marks) == 2 and marks[0] is not None and marks[0] == marks[1]


def _mark(line: str) -> Any:
    fields = _parsed(line)
    return fields.get("nextBatchWatermarkMs", 0) if isinstance(fields, dict) else None


def is_another_commit_of_the_source(damage: Damage, name: str) -> bool:
    """A commit of the table that is read holds what another one holds: Delta writes no version into it."""
    found = SOURCE_COMMIT.fullmatch(name)
    if not found or not int(found[1]) or name not in damage.after:
        return False
    text = _without_time(damage.after[name])
    return (
        text
        in [_without_time(content) for other, content in damage.before.items() if SOURCE_COMMIT.fullmatch(other)][1:]
    )


def is_an_unread_version_taken_back(damage: Damage, name: str) -> bool:
    """The newest commit of the table that is read is gone, no batch has planned it, and nothing beside it has its number."""
    found = SOURCE_COMMIT.fullmatch(name)
    beside = [other for other in damage.after if other.startswith("in/_delta_log/")]
    if not found or name in damage.after or any(found[1] in other for other in beside):
        return False
    newer = [other for other in damage.before if SOURCE_COMMIT.fullmatch(other) and other > name]
    planned = [
        _parsed(line)
        for other, content in damage.before.items()
        if other.startswith("checkpoint/offsets/")
        for line in _lines(content)[2:]
    ]
    read = [one["reservoirVersion"] for one in planned if isinstance(one, dict) and "reservoirVersion" in one]
    return not newer and max(read, default=-1) <= int(found[1])


def is_a_batch_taken_back(damage: Damage, name: str) -> bool:
    """The newest entries are gone, as if they had never been planned: only the sink has had them, and it can't be asked.

    A crash may leave the log of a file source one entry ahead; what is further ahead, a commit and state tell.
    """
    log = re.fullmatch(r"checkpoint/(offsets|commits|sources/\d+)/(\d+)(?:\.compact)?", name)
    planned = max(damage.ids(damage.after, "offsets"), default=-1)
    if not log or name in damage.after or int(log[2]) <= planned:
        return False
    if damage.kind.shows_its_sink or damage.kind.is_stateful or planned < 0:
        return False
    read = [entry for source in ("sources/0", "sources/1") for entry in damage.ids(damage.after, source)]
    is_told = max(damage.ids(damage.after, "commits"), default=-1) > planned or max(read, default=-1) > planned + 1
    return not is_told


def is_another_schema_of_state(damage: Damage, name: str) -> bool:
    """A schema of other columns, or metadata of another operator: what Spark compares them with is the query's plan.

    No file holds that.
    """
    if not name.startswith("checkpoint/state/") or name not in damage.before or name not in damage.after:
        return False
    content = damage.after[name]
    if name.endswith("/_metadata/metadata"):
        return _operator(content) not in ("", _operator(damage.before[name]))
    return name.endswith("/_metadata/schema") and not schema_trouble(content)


def _operator(metadata: bytes) -> str:
    """The name of the operator that whole metadata tells of; empty for what is none."""
    told = _parsed(metadata.decode(errors="replace").partition("\n")[2])
    is_whole = isinstance(told, dict) and isinstance(told.get("operatorInfo"), dict) and told.get("stateStoreInfo")
    return str(told["operatorInfo"].get("operatorName", "")) if is_whole and isinstance(told, dict) else ""


def is_behind_a_compact_file(damage: Damage, name: str) -> bool:
    """A single file of a source's log that no start reads: a newer compact file repeats it, and its batch is done."""
    found = SOURCE_ENTRY.fullmatch(name)
    if not found:
        return False
    compact = [
        int(other[2])
        for file in damage.after
        if (other := SOURCE_ENTRY.fullmatch(file)) and other[1] == found[1] and other[3]
    ]
    done = max(damage.ids(damage.after, "commits"), default=-1) - 1
    return not found[3] and int(found[2]) < min(max(compact, default=-1), done)


def is_emptied_operator(damage: Damage, name: str) -> bool:
    """Metadata of an operator without a byte: a start takes it as not there, as with a query of Spark 3.5 (tried on 4.2.0)."""
    return bool(re.fullmatch(r"checkpoint/state/\d+/_metadata/metadata", name)) and damage.after.get(name) == b""


def is_state_of_the_batch_in_flight(damage: Damage, name: str) -> bool:
    """What that batch had written of its state is gone: it runs again, and writes it again."""
    version = _version(name)
    done = max(damage.ids(damage.after, "commits"), default=-1)
    return version is not None and name not in damage.after and version > done + 1


HARMLESS = (is_behind_a_compact_file, is_emptied_operator, is_state_of_the_batch_in_flight)
"""What neither excuses nor speaks against an excuse."""

SOURCE_ENTRY = re.compile(r"checkpoint/sources/(\w+)/(\d+)(\.compact)?")


def is_input_that_no_batch_has_taken(damage: Damage, name: str) -> bool:
    """An input file that was replaced before any source wrote it down: its content was never read, nor its time noted."""
    if not re.fullmatch(r"in2?/[^/]+\.json", name) or name not in damage.after:
        return False
    taken = f'/{name}"'.encode()
    return not any(taken in content for other, content in damage.before.items() if "/sources/" in other)


def is_input_cleaned_up(damage: Damage, name: str) -> bool:
    """An input file of a committed batch is gone: whoever cleans a folder up does the same."""
    if not re.fullmatch(r"in2?/[^/]+\.json", name) or name in damage.after:
        return False
    done = max(damage.ids(damage.after, "commits"), default=-1)
    entries = [
        _parsed(line) for file, content in damage.after.items() if "/sources/" in file for line in _lines(content)
    ]
    return any(
        isinstance(entry, dict)
        and str(entry.get("path")).endswith(f"/{name}")
        and 0 <= entry.get("batchId", -1) <= done
        for entry in entries
    )


EXCEPTIONS: dict[str, Callable[[Damage, str], bool]] = {
    "another valid file of state": is_another_valid_state_file,
    "bytes that no start reads": is_behind_the_mark_of_the_end,
    "another valid line of a source log": is_another_line_of_a_source_log,
    "another offset within its bounds": is_another_offset_in_range,
    "a higher watermark of the newest commit": is_a_higher_watermark,
    "a commit that says the same": is_the_same_commit,
    "another valid commit of the source table": is_another_commit_of_the_source,
    ANOTHER_SCHEMA: is_another_schema_of_state,
    "a version of the source table taken back that nobody had read": is_an_unread_version_taken_back,
    "an input file replaced before it was read": is_input_that_no_batch_has_taken,
    "input of committed batches cleaned up": is_input_cleaned_up,
    "a batch taken back that only the sink has had": is_a_batch_taken_back,
}


def exception_for(damage: Damage) -> str:
    """The names of the exceptions that excuse each changed file; empty where one file is not excused.

    What no start reads neither excuses nor speaks against an excuse.
    """
    names = []
    if damage.is_outside or not damage.changed:
        return ""
    for file in damage.changed:
        if any(is_harmless(damage, file) for is_harmless in HARMLESS):
            continue
        excuse = next((name for name, holds in EXCEPTIONS.items() if holds(damage, file)), "")
        if not excuse or (damage.is_loaded(file) and not damage.fits_its_checksum(file)):
            return ""
        names.append(excuse)
    return ", ".join(dict.fromkeys(names))


def _in(folder: str, name: str) -> bool:
    return name.rpartition("/")[0] == folder and not _is_side(name)


def _lines(content: bytes | None) -> list[str]:
    try:
        return (content or b"").decode().split("\n") if content else []
    except UnicodeDecodeError:
        return []


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _without_time(content: bytes) -> bytes:
    return content.rpartition(b"|")[0]
