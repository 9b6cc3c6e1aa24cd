"""The files of a folder for a backfill: as Spark's file source would see them, or by a pattern. Reads only, within bounds."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from streamops.backfill.files import FolderFiles
from streamops.control.backfill_places import PlannedFile
from streamops.control.planned_files import planned_file
from streamops.storage import ReadableStorage, join

MAX_FOLDERS = 1_000
MAX_FILES = 50_000

_PATTERN = re.compile(r"[*?\[]")


def folder_files(storage: ReadableStorage, address: str, *, pattern: str = "") -> FolderFiles:
    """The files at a source's address, which may be a pattern itself; below it those of a pattern where one is given.

    Without one, of the folders below only partitions (`day=1`) are followed, as Spark does (InMemoryFileIndex, 4.2). Raises
    StorageError.
    """
    base, inner = _split(address)
    parts = [*inner, *(pattern.split("/") if pattern else [])]
    *folder_parts, last = parts if pattern else [*parts, ""]
    folders, is_whole = _folders(storage, base, folder_parts)
    files: list[PlannedFile] = []
    while folders and len(files) <= MAX_FILES:
        folder = folders.pop()
        details = [detail for detail in storage.details(folder) if _is_visible(detail.name)]
        files += [planned_file(folder, one) for one in details if not last or fnmatchcase(one.name, last)]
        if not pattern:
            plain = {detail.name for detail in details}
            folders += [join(folder, name) for name in storage.list(folder) if "=" in name and name not in plain]
            is_whole = is_whole and len(folders) <= MAX_FOLDERS
            folders = folders[:MAX_FOLDERS]
    return FolderFiles(address=address, files=tuple(files[:MAX_FILES]), is_whole=is_whole and len(files) <= MAX_FILES)


def _split(address: str) -> tuple[str, Sequence[str]]:
    """The folder in front of the first part that is a pattern, and the parts from there on."""
    head, separator, path = address.partition("://")
    parts = path.split("/")
    plain = next((index for index, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    return head + separator + "/".join(parts[:plain]), parts[plain:]


def _folders(storage: ReadableStorage, base: str, parts: Sequence[str]) -> tuple[list[str], bool]:
    """The folders that a pattern stands for, and whether these are all."""
    folders, is_whole = [base], True
    for part in parts:
        found = [
            join(folder, name)
            for folder in folders
            for name in storage.list(folder)
            if _is_visible(name) and fnmatchcase(name, part)
        ]
        is_whole = is_whole and len(found) <= MAX_FOLDERS
        folders = found[:MAX_FOLDERS]
    return folders, is_whole


def _is_visible(name: str) -> bool:
    """Not one that Spark takes for hidden, or for a copy under way (HadoopFSUtils.shouldFilterOutPathName, 4.2)."""
    return not name.startswith((".", "_")) and not name.endswith("._COPYING_")
