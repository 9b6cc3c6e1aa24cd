"""Storages that fail, stop or are interrupted where a test says so."""

from collections.abc import Callable, Collection

from streamops.errors import StorageError
from streamops.storage import DEFAULT_READ_LIMIT, FileDetail, Storage


class FlakyStorage:
    """Fails chosen creates: before they are done, or after, so that only the answer is lost."""

    def __init__(self, inner: Storage, *, creates: tuple[str, ...] = ()) -> None:
        self._inner = inner
        self._creates = list(creates)
        """What happens to the next creates: `lost request`, `lost answer`, or `ok`; all later ones are fine."""
        self.created: list[str] = []

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        return self._inner.list(directory, after=after)

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        return self._inner.details(directory, only=only)

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        return self._inner.read(address, limit=limit)

    def write(self, address: str, content: bytes) -> None:
        self._inner.write(address, content)

    def create(self, address: str, content: bytes) -> None:
        fate = self._creates.pop(0) if self._creates else "ok"
        self.created.append(address)
        if fate == "lost request":
            raise StorageError(f"{address}: the request was lost")
        self._inner.create(address, content)
        if fate == "lost answer":
            raise StorageError(f"{address}: the answer was lost")

    def delete(self, address: str) -> None:
        self._inner.delete(address)

    def delete_folder(self, address: str) -> None:
        self._inner.delete_folder(address)


class SwitchableStorage:
    """Can be made unreachable, as a whole or below some addresses."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.unreachable = ""
        """Part of an address; every call on such an address fails. `/` is everything."""

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        self._ask(directory)
        return self._inner.list(directory, after=after)

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        self._ask(directory)
        return self._inner.details(directory, only=only)

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        self._ask(address)
        return self._inner.read(address, limit=limit)

    def write(self, address: str, content: bytes) -> None:
        self._ask(address)
        self._inner.write(address, content)

    def create(self, address: str, content: bytes) -> None:
        self._ask(address)
        self._inner.create(address, content)

    def delete(self, address: str) -> None:
        self._ask(address)
        self._inner.delete(address)

    def delete_folder(self, address: str) -> None:
        self._ask(address)
        self._inner.delete_folder(address)

    def _ask(self, address: str) -> None:
        if self.unreachable and self.unreachable in address:
            raise StorageError(f"{address} can't be reached")


class InterruptibleStorage:
    """Tells before and after every call that it is about to happen, or has: the place to interleave or to crash."""

    def __init__(self, inner: Storage, tick: Callable[[str], None]) -> None:
        self._inner = inner
        self._tick = tick

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        self._tick(f"before list {directory}")
        return self._inner.list(directory, after=after)

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        self._tick(f"before details {directory}")
        return self._inner.details(directory, only=only)

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        self._tick(f"before read {address}")
        return self._inner.read(address, limit=limit)

    def write(self, address: str, content: bytes) -> None:
        self._tick(f"before write {address}")
        self._inner.write(address, content)
        self._tick(f"after write {address}")

    def create(self, address: str, content: bytes) -> None:
        self._tick(f"before create {address}")
        self._inner.create(address, content)
        self._tick(f"after create {address}")

    def delete(self, address: str) -> None:
        self._tick(f"before delete {address}")
        self._inner.delete(address)
        self._tick(f"after delete {address}")

    def delete_folder(self, address: str) -> None:
        self._tick(f"before delete {address}")
        self._inner.delete_folder(address)
        self._tick(f"after delete {address}")


class LateStorage:
    """Chosen writes fail for their caller and take effect when the test lets them land: a request that was under way
    for longer than anybody waits.
    """

    def __init__(self, inner: Storage, late: list[Callable[[], None]], *, is_late: Callable[[], bool]) -> None:
        self._inner = inner
        self._late = late
        self._is_late = is_late

    def list(self, directory: str, *, after: str = "") -> tuple[str, ...]:
        return self._inner.list(directory, after=after)

    def details(self, directory: str, *, only: Collection[str] | None = None) -> tuple[FileDetail, ...]:
        return self._inner.details(directory, only=only)

    def read(self, address: str, *, limit: int = DEFAULT_READ_LIMIT) -> bytes:
        return self._inner.read(address, limit=limit)

    def write(self, address: str, content: bytes) -> None:
        self._do(lambda: self._inner.write(address, content), address)

    def create(self, address: str, content: bytes) -> None:
        self._do(lambda: self._inner.create(address, content), address)

    def delete(self, address: str) -> None:
        self._do(lambda: self._inner.delete(address), address)

    def delete_folder(self, address: str) -> None:
        self._do(lambda: self._inner.delete_folder(address), address)

    def _do(self, request: Callable[[], None], address: str) -> None:
        if not self._is_late():
            return request()
        self._late.append(request)
        raise StorageError(f"{address}: no answer in time")
