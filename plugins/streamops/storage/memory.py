"""Files in memory, for tests and for trying things out: the same promises without a disk."""

import threading
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from itertools import count

from streamops.errors import ObjectExistsError, ObjectNotFoundError, ObjectTooLargeError, StorageError
from streamops.storage.port import DEFAULT_READ_LIMIT, FileDetail


class MemoryStorage:
    """A dictionary behind the storage port, safe for threads."""

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self._now = now or _a_second_each()
        self._files: dict[str, bytes] = {}
        self._modified_at: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        with self._lock:
            names = self._names(directory)
        return tuple(name for name in names if name > after)

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        with self._lock:
            files = {name: f"{directory.rstrip('/')}/{name}" for name in self._names(directory)}
            return tuple(
                FileDetail(name=name, size=len(self._files[address]), modified_at=self._modified_at[address])
                for name, address in files.items()
                if address in self._files and (only is None or name in only)
            )

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        with self._lock:
            content = self._files.get(address)
        if content is None:
            raise ObjectNotFoundError(f"{address} does not exist")
        if len(content) > limit:
            raise ObjectTooLargeError(f"{address} is larger than {limit} bytes: it is not what it claims to be")
        return content

    def write(self, address: str, content: bytes) -> None:
        with self._lock:
            self._refuse_mixed(address)
            self._put(address, content)

    def create(self, address: str, content: bytes) -> None:
        with self._lock:
            self._refuse_mixed(address)
            if address in self._files:
                raise ObjectExistsError(f"{address} exists already")
            self._put(address, content)

    def delete(self, address: str) -> None:
        with self._lock:
            self._files.pop(address, None)

    def delete_folder(self, address: str) -> None:
        with self._lock:
            if self._names(address):
                raise StorageError(f"{address} is not empty")

    def _names(self, directory: str) -> tuple[str, ...]:
        prefix = directory.rstrip("/") + "/"
        if directory.rstrip("/") in self._files:
            raise StorageError(f"{directory} is a file, a folder is expected")
        names = {key.removeprefix(prefix).partition("/")[0] for key in self._files if key.startswith(prefix)}
        return tuple(sorted(names))

    def _put(self, address: str, content: bytes) -> None:
        self._files[address] = content
        self._modified_at[address] = self._now()

    def _refuse_mixed(self, address: str) -> None:
        """A name is a file or a folder, never both, as on a disk."""
        if any(known.startswith(address + "/") for known in self._files):
            raise StorageError(f"{address} is a folder, a file is expected")
        above = address
        while (above := above.rpartition("/")[0]).strip("/"):
            if above in self._files:
                raise StorageError(f"{above} is a file, a folder is expected")


def _a_second_each() -> Callable[[], datetime]:
    """A clock for whoever brings none: each file is a second younger than the one before."""
    seconds = count()
    return lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))
