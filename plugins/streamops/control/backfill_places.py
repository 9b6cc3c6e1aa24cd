"""Places in a Delta table and in a folder of files, as the plan of a backfill names them, and whether they still are what it saw.

Each can be written as the text that Spark's offset log has for its source. Of the standard library only: plans travel to drivers.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from streamops.storage import FileDetail, ReadableStorage, join, parent

_URI = "/:@&=+$,;-_.!~*'()"
"""What a path keeps of itself in a URI (java.net.URI)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlace:
    """The place before a version of a Delta table: everything below it is read."""

    table_id: str
    """As the table's log has it: another table at the same address is another source to Delta."""
    version: int
    taken: int
    """What lies between the begin of the range and here, in what the plan counts."""

    def __post_init__(self) -> None:
        if not self.table_id or self.version < 0 or self.taken < 0:
            raise ValueError(f"{self.table_id!r} {self.version}: no place in a Delta table")

    @property
    def source_text(self) -> str:
        """As Delta's source writes it (DeltaSourceOffset, delta-spark 4.4): -1 stands before the first file."""
        fields = {
            "sourceVersion": 1,
            "reservoirId": self.table_id,
            "reservoirVersion": self.version,
            "index": -1,
            "isStartingVersion": False,
        }
        return json.dumps(fields, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file that is to be read as it was when the plan was made."""

    address: str
    """Canonical."""
    modified_ms: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesPlace:
    """Where a step over files ends: these are its own, and those of the steps before are read."""

    step: int
    """Number of the step, which is the id in the source's own log; -1 for the begin."""
    files: tuple[PlannedFile, ...] = ()
    taken: int = 0
    """Files of all steps up to this one."""

    def __post_init__(self) -> None:
        if self.step < -1 or bool(self.files) != (self.step >= 0) or self.taken < len(self.files):
            raise ValueError(
                f"step {self.step} with {len(self.files)} files, {self.taken} up to it: no place among files"
            )

    @property
    def source_text(self) -> str:
        """As Spark's file source writes it (FileStreamSourceOffset, 2.2 to 4.2)."""
        return json.dumps({"logOffset": self.step}, separators=(",", ":"))

    @property
    def source_log(self) -> bytes:
        """The files as the source's own log has them (FileStreamSourceLog, 2.1 to 4.2)."""
        lines = (
            json.dumps(
                {"path": _uri(file.address), "timestamp": file.modified_ms, "batchId": self.step}, separators=(",", ":")
            )
            for file in self.files
        )
        return "\n".join(("v1", *lines)).encode()


def check_versions(places: Sequence[TablePlace]) -> None:
    """ValueError for steps that read two tables, go back, or read nothing."""
    for before, after in pairwise(places):
        if before.table_id != after.table_id:
            raise ValueError("the steps of a backfill are of different tables")
        if before.version >= after.version or before.taken > after.taken:
            raise ValueError("a step of a backfill goes back, or reads nothing")


def check_files(places: Sequence[FilesPlace]) -> None:
    """ValueError for steps that are not numbered through, or count wrongly."""
    if places[0].step != -1 or any(after.step != before.step + 1 for before, after in pairwise(places)):
        raise ValueError("the steps of a backfill are not numbered through")
    if any(after.taken != before.taken + len(after.files) for before, after in pairwise(places)):
        raise ValueError("a step of a backfill counts other files than its own")
    addresses = [file.address for place in places for file in place.files]
    if len(set(addresses)) != len(addresses):
        raise ValueError("a file comes twice")


def table_fields(place: TablePlace) -> dict[str, Any]:
    """A place as plain values."""
    return {"table_id": place.table_id, "version": place.version, "taken": place.taken}


def files_fields(place: FilesPlace) -> dict[str, Any]:
    """A place as plain values."""
    files = [[file.address, file.modified_ms, file.size] for file in place.files]
    return {"step": place.step, "taken": place.taken, "files": files}


def table_place(fields: dict[str, Any]) -> TablePlace:
    """From plain values. KeyError, TypeError, ValueError for others."""
    version, taken = _whole(fields["version"]), _whole(fields["taken"])
    return TablePlace(table_id=_text(fields["table_id"]), version=version, taken=taken)


def files_place(fields: dict[str, Any]) -> FilesPlace:
    """From plain values. KeyError, TypeError, ValueError for others."""
    files = tuple(
        PlannedFile(address=_text(address), modified_ms=_whole(modified), size=_whole(size))
        for address, modified, size in fields["files"]
    )
    return FilesPlace(step=_whole(fields["step"]), taken=_whole(fields["taken"]), files=files)


def _uri(address: str) -> str:
    """A path with its odd letters escaped, as Spark reads paths back (SparkPath.fromUrlString, 3.5 to 4.2)."""
    scheme, separator, path = address.partition("://")
    return scheme + separator + quote(path, safe=_URI)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.200} is not a whole number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.200} is not a text")
    return value


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredFile:
    """A file that can't be read as it was planned."""

    address: str
    is_gone: bool
    """Else it was written over."""


def planned_file(folder: str, detail: FileDetail) -> PlannedFile:
    """A file as a plan takes it down."""
    modified = (detail.modified_at - _EPOCH) // _MILLISECOND
    return PlannedFile(address=join(folder, detail.name), modified_ms=modified, size=detail.size)


def altered_files(storage: ReadableStorage, files: Iterable[PlannedFile]) -> tuple[AlteredFile, ...]:
    """Those that are gone or are others now; each folder is asked once. StorageError."""
    wanted = {file.address: file for file in files}
    folders: dict[str, set[str]] = {}
    for address in wanted:
        folders.setdefault(parent(address), set()).add(address.rpartition("/")[2])
    found = [
        planned_file(folder, one) for folder, names in folders.items() for one in storage.details(folder, only=names)
    ]
    there = {file.address: file for file in found}
    return tuple(
        AlteredFile(address=address, is_gone=address not in there)
        for address, file in wanted.items()
        if there.get(address) != file
    )
