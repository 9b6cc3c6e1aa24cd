"""What real Spark does with a copy: one start, mostly a second one, and the sink beside what it should have."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damage.bases import Base, Workshop, batches
from damage.compare import Truth
from damage.sinks import Rows
from damage.spark import HarnessError

UNREADABLE = "the sink can't be read"
"""In the place of the rows that it would have, where the damage itself did that."""


@dataclass(slots=True)
class Before:
    """A copy right before it is started."""

    rows: Rows
    lost: list[str]
    unknowable: str = ""

    @classmethod
    def of(cls, workshop: Workshop, base: Base, folder: Path, *, undamaged: Rows, touches_sink: bool) -> "Before":
        """Reading a sink takes a second: only one that was damaged is read."""
        if base.kind.shows_its_sink and not touches_sink:
            return cls(undamaged, [])
        rows = Rows.of(base.kind, folder, workshop.spark)
        if rows.error:
            return cls(rows, [UNREADABLE])
        return cls(rows, rows.lacks(undamaged) if touches_sink else [])


def started(workshop: Workshop, base: Base, folder: Path, before: Before, *, twice: bool) -> Truth:
    """Start, compare the sink; after a failure, or where it is asked for, start again."""
    kind, spark = base.kind, workshop.spark
    first = last = _run(workshop, base, folder)
    ran, error, again = tuple(first["ran"]), first["error"], ""
    expected = base.expected[0]
    if error:
        again = _run(workshop, base, folder)["error"]
    elif twice:
        workshop.feed_later(kind, folder)
        last = _run(workshop, base, folder)
        error, expected = last["error"], base.expected[1]
    found = Rows.of(kind, folder, spark)
    lost = [] if found.error or error else found.lacks(expected)
    if kind.feeds_itself:
        # Each start plans one batch: what it has not come to is not lost.
        lost = [row for row in lost if json.loads(row)[0] < _reached(last["ranges"])]
    for row in before.lost:
        if row in lost:
            lost.remove(row)
    planned = set(batches(base.folder / "checkpoint" / "offsets"))
    return Truth(
        ran=ran,
        ranges=first["ranges"],
        error=error,
        error_again=again,
        lost=tuple(lost),
        lost_before=tuple(before.lost),
        extra=() if found.error or error else tuple(found.adds(expected)),
        reran=tuple(batch for batch in ran if batch in planned)
        if kind.shows_its_sink
        else tuple(found.repeated(before.rows)),
        changed=found.changed(),
        sink_error="" if error or UNREADABLE in before.lost else found.error,
        unknowable=before.unknowable,
        sees_batches=kind.shows_its_sink,
        took_again=_takes_twice(*(one / "checkpoint" / "sources" for one in (base.folder, folder)))
        or _begins_lower(base.folder / "checkpoint" / "offsets", first["ranges"]),
    )


def _takes_twice(undamaged: Path, now: Path) -> bool:
    """Whether a source took a file under two ids, as its log says; what the damage took out of it, the undamaged one tells."""
    ids: dict[tuple[str, str], set[int]] = {}
    for entry in (*undamaged.glob("*/[0-9]*"), *now.glob("*/[0-9]*")):
        for line in entry.read_text(errors="replace").split("\n")[1:]:
            with suppress(ValueError, KeyError, TypeError):
                told = json.loads(line)
                ids.setdefault((entry.parent.name, str(told["path"]).rpartition("/")[2]), set()).add(told["batchId"])
    return any(len(found) > 1 for found in ids.values())


def _begins_lower(planned: Path, ranges: dict[str, list[dict[str, Any]]]) -> bool:
    """Whether a batch that ran begins with files that the batch before it had in the undamaged checkpoint."""
    for batch, sources in ranges.items():
        entry = planned / str(int(batch) - 1)
        ends = re.findall(FILES_READ, entry.read_text(), re.MULTILINE) if entry.exists() else []
        for source, end in zip(sources, ends, strict=False):
            start = source["start"] if isinstance(source["start"], dict) else {}
            if start.get("logOffset", -1) < int(end):
                return True
    return False


FILES_READ = r'\{"logOffset":(\d+)\}$'


def _reached(ranges: dict[str, list[dict[str, Any]]]) -> int:
    """The offset of a rate source at which its newest batch ended."""
    return max((int(source["end"]["offset"]) for sources in ranges.values() for source in sources), default=0)


def _run(workshop: Workshop, base: Base, folder: Path) -> dict[str, Any]:
    outcome = workshop.spark.run(base.kind, folder)
    if outcome["hung"]:
        raise HarnessError("the start did not end in time")
    return outcome
