"""Whether the files of a plan are still what it saw. Asked by drivers and by whoever watches them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streamops.control.backfill_places import PlannedFile
from streamops.storage import FileDetail, ReadableStorage, join, parent

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
