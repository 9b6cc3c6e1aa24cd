"""What a backfill reads, in which steps, and where it writes: the file `plan.json` beside its checkpoint.

It is written once, before the first claim, and never changed: a driver that goes on after a crash finds the same steps. It
travels to drivers, so this is the standard library only. A plan of another format is refused: what it leaves out may matter.
"""

import hashlib
import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Any

from streamops.control.backfill_places import (
    FilesPlace,
    TablePlace,
    check_files,
    check_versions,
    files_fields,
    files_place,
    table_fields,
    table_place,
)
from streamops.control.kafka_offsets import (
    BROKEN,
    SHOWN,
    Offsets,
    Topics,
    fields_of,
    of_type,
    offsets_between,
    offsets_of,
    without_twins,
)
from streamops.control.layout import backfill_checkpoint, backfill_plan_address, backfills_folder
from streamops.control.records import TopicSeen
from streamops.errors import CorruptRecordError, NewerRecordError, ObjectNotFoundError, SettingsError, StreamOpsError
from streamops.storage import FileKind, ReadableStorage, Storage, create_file, read_file

FORMAT = 1
"""Of plans over topics."""
NEWER_FORMAT = 2
"""Of plans over tables and files: a release that knows topics only must refuse them."""

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

Place = Offsets | TablePlace | FilesPlace


class Counted(StrEnum):
    """What a plan counts."""

    OFFSETS = "offsets"
    """At most so many records: compaction and transactions leave offsets without one."""
    RECORDS = "records"
    VERSIONS = "versions"
    """Of a Delta table whose log does not tell of all files how many records they hold."""
    FILES = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """One backfill. Raises ValueError for steps that leave something out or read something twice."""

    id: str
    stream: str
    by: str
    """Who asked for it, as records of the control log name their authors."""
    at: datetime
    reason: str
    asked: str
    """The range in the words in which it was asked for."""
    start: Place
    chunks: tuple[Place, ...]
    """Where each step ends: the first begins at `start`, every other where the one before ends. All are of one kind; offsets
    name each partition."""
    table: str
    """Canonical address of what is written."""
    dead_letters: str
    """Canonical address of what records that can't be parsed are written to."""
    is_redirected: bool
    """Whether that is not where the stream itself writes."""
    not_before: datetime | None = None
    """Records with an older stamp are left out."""
    before: datetime | None = None
    """Records with this stamp or a younger one are left out."""
    is_approximate: bool = False
    """Whether a person accepted that a job with state sees the range alone: neither what came before nor what comes after."""
    notes: tuple[str, ...] = ()
    """What a person should know of it, a sentence each."""
    counted_in: Counted = Counted.OFFSETS
    topics: tuple[TopicSeen, ...] = ()
    """The topics of the range as the plan found them; empty where the cluster did not tell, and in plans of older versions."""

    def __post_init__(self) -> None:
        if not is_backfill_id(self.id):
            raise ValueError(f"id {self.id!r}: up to 64 lower-case letters, digits and dashes")
        if not self.chunks:
            raise ValueError("a backfill has one step at least")
        _check((self.start, *self.chunks), self.counted_in)
        moments = [moment for moment in (self.at, self.not_before, self.before) if moment is not None]
        if any(moment.tzinfo is None for moment in moments):
            raise ValueError("a time of a backfill has no time zone")

    @property
    def end(self) -> Place:
        """Where the last step ends."""
        return self.chunks[-1]

    @property
    def records(self) -> int:
        """How many of what it counts lie in the range."""
        return amount_between(self.start, self.end)

    def chunk_start(self, number: int) -> Place:
        """Where a step begins."""
        return self.chunks[number - 1] if number else self.start


def is_backfill_id(text: str) -> bool:
    """Whether a backfill may be called that: the id is the name of a folder."""
    return bool(_ID.fullmatch(text))


def derived_name(stream: str, backfill: str) -> str:
    """The name of the stream that a backfill is, beside the declared one."""
    return f"{stream}__{backfill.replace('-', '_')}"


def amount_between(start: Place, end: Place) -> int:
    """How much lies between two places of one plan, in what it counts."""
    if isinstance(start, Offsets) and isinstance(end, Offsets):
        return offsets_between(start, end)
    if isinstance(start, Offsets) or isinstance(end, Offsets):
        raise ValueError("two places of different sources")
    return end.taken - start.taken


def encode_plan(plan: BackfillPlan) -> bytes:
    """The plan as the bytes of its file."""
    fields: dict[str, Any] = {
        "format": FORMAT if isinstance(plan.start, Offsets) else NEWER_FORMAT,
        "id": plan.id,
        "stream": plan.stream,
        "by": plan.by,
        "at": plan.at.isoformat(),
        "reason": plan.reason,
        "asked": plan.asked,
        "table": plan.table,
        "dead_letters": plan.dead_letters,
        "is_redirected": plan.is_redirected,
        "is_approximate": plan.is_approximate,
        "not_before": plan.not_before and plan.not_before.isoformat(),
        "before": plan.before and plan.before.isoformat(),
        "notes": plan.notes,
        "start": _place_fields(plan.start),
        "chunks": [_place_fields(chunk) for chunk in plan.chunks],
    }
    if not isinstance(plan.start, Offsets):
        fields["counted_in"] = plan.counted_in
    if plan.topics:
        fields["topics"] = {one.topic: one.id for one in plan.topics}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def decode_plan(content: bytes, *, address: str) -> BackfillPlan:
    """The plan in a file.

    Raises CorruptRecordError naming the file, NewerRecordError for one of another format.
    """
    try:
        fields = json.loads(content, object_pairs_hook=without_twins)
        found = fields["format"]
        if found not in (FORMAT, NEWER_FORMAT):
            raise NewerRecordError(
                f"{address} has format {found!s:.{SHOWN}}, this streamops reads formats {FORMAT} and {NEWER_FORMAT}:"
                " upgrade it, or make a new plan"
            )
        return _plan(fields)
    except BROKEN as error:
        raise CorruptRecordError(f"{address} is not the plan of a backfill: {error!r:.{SHOWN}}") from error


def _plan(fields: dict[str, Any]) -> BackfillPlan:
    counted_in = Counted.OFFSETS if fields["format"] == FORMAT else Counted(fields["counted_in"])
    place = _PLACES[counted_in]
    return BackfillPlan(
        **{
            name: of_type(str, fields[name])
            for name in ("id", "stream", "by", "reason", "asked", "table", "dead_letters")
        },
        **{name: of_type(bool, fields[name]) for name in ("is_redirected", "is_approximate")},
        not_before=_moment(fields["not_before"]),
        before=_moment(fields["before"]),
        at=datetime.fromisoformat(fields["at"]),
        notes=tuple(of_type(str, note) for note in of_type(list, fields["notes"])),
        start=place(fields["start"]),
        chunks=tuple(place(chunk) for chunk in of_type(list, fields["chunks"])),
        counted_in=counted_in,
        topics=tuple(
            TopicSeen(topic=topic, id=of_type(str, name))
            for topic, name in of_type(dict, fields.get("topics", {})).items()
        ),
    )


def _check(places: tuple[Place, ...], counted_in: Counted) -> None:
    """ValueError for steps that leave something out, read something twice, or are of different sources."""
    offsets = [place for place in places if isinstance(place, Offsets)]
    versions = [place for place in places if isinstance(place, TablePlace)]
    files = [place for place in places if isinstance(place, FilesPlace)]
    if len(places) not in (len(offsets), len(versions), len(files)):
        raise ValueError("the steps of a backfill are of different sources")
    fitting = (Counted.OFFSETS,) if offsets else (Counted.RECORDS, Counted.VERSIONS) if versions else (Counted.FILES,)
    if counted_in not in fitting:
        raise ValueError(f"{counted_in} are not what such steps count")
    if versions:
        check_versions(versions)
    if files:
        check_files(files)
    for before, after in pairwise(offsets):
        if before.partitions != after.partitions:
            raise ValueError("the steps of a backfill do not name the same partitions")
        taken = [end.offset - begin.offset for begin, end in zip(before.positions, after.positions, strict=True)]
        if min(taken) < 0 or not any(taken):
            raise ValueError("a step of a backfill goes back, or reads nothing")


def _place_fields(place: Place) -> dict[str, Any]:
    if isinstance(place, Offsets):
        return fields_of(place)
    return table_fields(place) if isinstance(place, TablePlace) else files_fields(place)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


_PLACES: dict[Counted, Callable[[Any], Place]] = {
    Counted.OFFSETS: offsets_of,
    Counted.RECORDS: table_place,
    Counted.VERSIONS: table_place,
    Counted.FILES: files_place,
}


log = logging.getLogger(__name__)


def read_plan(storage: ReadableStorage, checkpoint: str, backfill: str) -> BackfillPlan:
    """A plan. SettingsError with those that there are when there is no such one, ControlLogError, StorageError."""
    known = backfill_ids(storage, checkpoint)
    if backfill not in known:
        raise SettingsError(f"no backfill is called {backfill!r}; there are: {', '.join(known) or 'none'}")
    address = backfill_plan_address(backfill_checkpoint(checkpoint, backfill))
    try:
        return decode_plan(read_file(storage, FileKind.BACKFILL_PLAN, address), address=address)
    except ObjectNotFoundError as error:
        raise SettingsError(f"backfill {backfill} has no plan: it was given up before it began") from error


def write_plan(storage: Storage, checkpoint: str, plan: BackfillPlan) -> None:
    """Put a plan there for good. ObjectExistsError where its id is taken, ObjectTooLargeError, StorageError."""
    address = backfill_plan_address(backfill_checkpoint(checkpoint, plan.id))
    create_file(storage, FileKind.BACKFILL_PLAN, address, encode_plan(plan))


def planned_topics(storage: ReadableStorage, own_checkpoint: str) -> Topics:
    """The topics that the backfill with this checkpoint of its own was planned over; none where its plan can't be read."""
    address = backfill_plan_address(own_checkpoint)
    try:
        return decode_plan(read_file(storage, FileKind.BACKFILL_PLAN, address), address=address).topics
    except StreamOpsError as error:
        log.warning("the topics of a backfill are not known: %s", error)
        return ()


def backfill_ids(storage: ReadableStorage, checkpoint: str) -> tuple[str, ...]:
    """All backfills of the stream with that checkpoint, by name. StorageError."""
    return tuple(sorted(name for name in storage.list(backfills_folder(checkpoint)) if is_backfill_id(name)))


def id_at(moment: datetime) -> str:
    """An id for a backfill that is asked for now: `20261128-153012`."""
    return moment.strftime("%Y%m%d-%H%M%S")


def id_from(text: str) -> str:
    """An id from a name that others gave, the same for the same name and no other: for whoever asks again after a crash."""
    told = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_TOLD].strip("-")
    return f"{told}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-")


_TOLD = 31
"""Letters of the name that an id repeats: the name of the derived stream has an end, too."""
