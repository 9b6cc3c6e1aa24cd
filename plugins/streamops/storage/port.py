"""What the suite asks of a place that holds files.

Split in three, because a driver may do less than a supervisor: Hadoop's create is not exclusive on `s3a://` nor on
`file:`, so a driver reads the control log and writes its own folder, and only supervisors create records.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

DEFAULT_READ_LIMIT = 4 * 1024 * 1024
"""Bytes. No file that the suite reads whole is larger when it is healthy."""


class FileAccess(StrEnum):
    """Who may read and write what the suite keeps on a file system."""

    OWNER = "owner"
    GROUP = "group"
    """The group of the folder above, whose members share the streams."""

    @property
    def file_mode(self) -> int:
        """Of new files."""
        return 0o660 if self is FileAccess.GROUP else 0o600

    @property
    def folder_mode(self) -> int:
        """Of new folders; setgid hands the group on to what is made in them."""
        return 0o2770 if self is FileAccess.GROUP else 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDetail:
    """A file beside its content."""

    name: str
    size: int
    """Bytes."""
    modified_at: datetime
    """By the clock of whoever stores it."""


class ReadableStorage(Protocol):
    """Names, contents, and where they decide sizes and times."""

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        """Names directly below a directory that sort behind `after`, in order; empty when there is no such directory.

        Raises StorageError when the place can't be asked: that is never the same as empty.
        """
        ...

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        """The files directly below a directory by name, or those of them that `only` names; folders are left out.

        One question a file on a local disk, where `list` asks one a folder: name a few wherever a few will do. Empty when
        there is no such directory. Raises StorageError as `list` does.
        """
        ...

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        """The whole file.

        Raises ObjectNotFoundError; ObjectTooLargeError above `limit` bytes, before the rest is read;
        ObjectUnreadableError where the place answers for sure and this file alone can't be read; StorageError.
        """
        ...


class WritableStorage(ReadableStorage, Protocol):
    """What a driver may do in its own folder."""

    def write(self, address: str, content: bytes) -> None:
        """Create or replace a file; a reader sees the old content or the new one, never a part."""
        ...


class Storage(WritableStorage, Protocol):
    """What a supervisor may do."""

    def create(self, address: str, content: bytes) -> None:
        """Create a file that must not be there yet, atomically, whole and durable when this returns.

        Of any number of callers at once exactly one succeeds; the others get ObjectExistsError. Any other
        StorageError leaves open whether the file was created: read it back.
        """
        ...

    def delete(self, address: str) -> None:
        """Remove a file; a file that is not there is fine."""
        ...

    def delete_folder(self, address: str) -> None:
        """Remove an empty folder; one that is not there is fine, and where there are only names every empty one is.

        StorageError when something is in it, or when it is a file.
        """
        ...
