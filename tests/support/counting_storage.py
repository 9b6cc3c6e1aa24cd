"""A storage that counts what is asked of it."""

from collections import Counter
from collections.abc import Collection

from streamops.errors import ObjectTooLargeError
from streamops.storage import DEFAULT_READ_LIMIT, FileDetail, Storage


class CountingStorage:
    """Passes every call on, and keeps how many there were and what they brought."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.calls: Counter[str] = Counter()
        """By verb."""
        self.names_listed = 0
        self.bytes_read = 0
        """Of a file above its limit as much as a bounded read takes: the limit, and one byte that shows it."""

    @property
    def total(self) -> int:
        """All calls."""
        return self.calls.total()

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        self.calls["list"] += 1
        names = self._inner.list(directory, after=after)
        self.names_listed += len(names)
        return names

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        self.calls["details"] += 1
        return self._inner.details(directory, only=only)

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        self.calls["read"] += 1
        try:
            content = self._inner.read(address, limit=limit)
        except ObjectTooLargeError:
            self.bytes_read += limit + 1
            raise
        self.bytes_read += len(content)
        return content

    def write(self, address: str, content: bytes) -> None:
        self.calls["write"] += 1
        self._inner.write(address, content)

    def create(self, address: str, content: bytes) -> None:
        self.calls["create"] += 1
        self._inner.create(address, content)

    def delete(self, address: str) -> None:
        self.calls["delete"] += 1
        self._inner.delete(address)
