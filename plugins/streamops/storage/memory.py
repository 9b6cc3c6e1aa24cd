"""Files in memory, for tests and for trying things out: the same promises without a disk."""

import threading

from streamops.errors import ObjectExistsError, ObjectNotFoundError, ObjectTooLargeError, StorageError
from streamops.storage.port import DEFAULT_READ_LIMIT


class MemoryStorage:
    """A dictionary behind the storage port, safe for threads."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        prefix = directory.rstrip("/") + "/"
        with self._lock:
            if directory.rstrip("/") in self._files:
                raise StorageError(f"{directory} is a file, a folder is expected")
            names = {key.removeprefix(prefix).partition("/")[0] for key in self._files if key.startswith(prefix)}
        return tuple(sorted(name for name in names if name > after))

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
            self._files[address] = content

    def create(self, address: str, content: bytes) -> None:
        with self._lock:
            self._refuse_mixed(address)
            if address in self._files:
                raise ObjectExistsError(f"{address} exists already")
            self._files[address] = content

    def delete(self, address: str) -> None:
        with self._lock:
            self._files.pop(address, None)

    def _refuse_mixed(self, address: str) -> None:
        """A name is a file or a folder, never both, as on a disk."""
        if any(known.startswith(address + "/") for known in self._files):
            raise StorageError(f"{address} is a folder, a file is expected")
        above = address
        while (above := above.rpartition("/")[0]).strip("/"):
            if above in self._files:
                raise StorageError(f"{above} is a file, a folder is expected")
