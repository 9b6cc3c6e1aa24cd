"""Files of this host's file system."""

import errno
import os
import stat
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import BinaryIO

from streamops.errors import (
    ObjectExistsError,
    ObjectIsNoFileError,
    ObjectNotFoundError,
    ObjectTooLargeError,
    ObjectUnreadableError,
    StorageError,
)
from streamops.storage.address import local_path
from streamops.storage.port import DEFAULT_READ_LIMIT, FileAccess, FileDetail

_NO_FILE = frozenset({errno.EISDIR, errno.ELOOP, errno.EINVAL})
"""What the file system says where something else than a file lies under a name."""
_UNREADABLE = _NO_FILE | {errno.EACCES, errno.EPERM}
"""What it says of one file; anything else may be trouble with the file system itself."""


class LocalStorage:
    """A local folder behind the storage port; a crash of the process or the host leaves no half file.

    What it makes is for its owner alone, or for the group; what is there keeps its rights.
    """

    def __init__(self, access: FileAccess = FileAccess.OWNER) -> None:
        self._access = access

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        try:
            with _translated(directory):
                names = os.listdir(_path(directory))
        except ObjectNotFoundError:
            return ()
        return tuple(sorted(name for name in names if name > after) if after else sorted(names))

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        names = self.list(directory) if only is None else sorted(set(only))
        found = []
        for name in names:
            # A file that has gone since the listing is no longer among them.
            with suppress(ObjectNotFoundError), _translated(directory):
                status = os.stat(os.path.join(_path(directory), name))
                if stat.S_ISREG(status.st_mode):
                    moment = _moment(status.st_mtime)
                    found.append(FileDetail(name=name, size=status.st_size, modified_at=moment))
        return tuple(found)

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        with _translated(address, unreadable=_UNREADABLE), open_regular(_path(address)) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise ObjectTooLargeError(f"{address} is larger than {limit} bytes: it is not what it claims to be")
        return content

    def write(self, address: str, content: bytes) -> None:
        with self._complete_file(address, content) as (temporary, final):
            os.replace(temporary, final)

    def create(self, address: str, content: bytes) -> None:
        # A link to a finished file is the one local call that is exclusive and shows the whole content at once:
        # O_EXCL shows an empty file first, and rename replaces.
        with self._complete_file(address, content) as (temporary, final):
            if os.path.isdir(final):
                raise StorageError(f"{address} is a folder, a file is expected")
            os.link(temporary, final)

    def delete(self, address: str) -> None:
        with suppress(ObjectNotFoundError), _translated(address):
            os.unlink(_path(address))

    def delete_folder(self, address: str) -> None:
        with suppress(ObjectNotFoundError), _translated(address):
            os.rmdir(_path(address))

    @contextmanager
    def _complete_file(self, address: str, content: bytes) -> Iterator[tuple[str, str]]:
        """A durable temporary file beside the final name; its directory entry is made durable after the caller's move."""
        final = _path(address)
        folder = os.path.dirname(final)
        temporary = os.path.join(folder, f".{os.path.basename(final)}.{uuid.uuid4().hex}.tmp")
        make_folder(folder, self._access)
        with _translated(address):
            try:
                descriptor = open_new(temporary, os.O_WRONLY | os.O_EXCL, self._access)
                with open(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                yield temporary, final
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary)
            _sync_folder(folder)


def _path(address: str) -> str:
    path = local_path(address)
    if path is None:
        raise StorageError(f"{address} is not a local address: file:///… is expected")
    return path


def make_folder(folder: str, access: FileAccess) -> None:
    """Make a folder and those above it, each durably: a record must not vanish with a folder that was new. StorageError."""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    make_folder(above, access)
    try:
        with suppress(FileExistsError):
            os.mkdir(folder, access.folder_mode)
            if access is FileAccess.GROUP:
                os.chmod(folder, access.folder_mode)  # mkdir takes off what the umask says, and knows no setgid.
        if not os.path.isdir(folder):
            raise StorageError(f"file://{folder} is a file, a folder is expected")
        _sync_folder(above)
    except OSError as error:
        raise StorageError(f"file://{folder} can't be made: {error.strerror}") from error


def open_regular(path: str, *, flags: int = 0) -> BinaryIO:
    """A file to read. OSError; also for a FIFO or a device, where opening or reading would wait for somebody for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "no regular file", path)
    return open(descriptor, "rb")


def open_new(path: str, flags: int, access: FileAccess) -> int:
    """A descriptor of a file that is made if it is not there, which must not be readable for a moment. OSError."""
    if os.path.exists(path):
        return os.open(path, flags)
    descriptor = os.open(path, flags | os.O_CREAT, access.file_mode)
    if access is FileAccess.GROUP:
        os.fchmod(descriptor, access.file_mode)
    return descriptor


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(address: str, *, unreadable: Collection[int] = ()) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ObjectNotFoundError(f"{address} does not exist") from error
    except FileExistsError as error:
        raise ObjectExistsError(f"{address} exists already") from error
    except OSError as error:
        reason = errno.errorcode.get(error.errno or 0, "?")
        kind: type[StorageError] = StorageError
        if error.errno in unreadable:
            kind = ObjectIsNoFileError if error.errno in _NO_FILE else ObjectUnreadableError
        told = _IN_WORDS.get(error.errno or 0, "") or f"{error.strerror} ({reason})"
        raise kind(f"{address}: {told}") from error


_IN_WORDS = {
    errno.EISDIR: "a folder lies where a file is expected",
    errno.ENOTDIR: "a file lies where a folder is expected",
    errno.EINVAL: "no regular file lies there: a pipe, a socket or a device",
    errno.ELOOP: "a link there leads round in a circle",
}


def _moment(seconds: float) -> datetime:
    """A file may claim a time beyond what a calendar holds: that is as good as its end, or its beginning."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError):
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
