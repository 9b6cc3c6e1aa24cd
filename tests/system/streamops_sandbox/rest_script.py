"""What the HTTP endpoint was told to do wrong with its next requests."""

from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

TIMEOUT = "timeout"
"""The request gets no answer for as long as any client waits."""

DROP = "drop"
"""The connection is closed without an answer."""

MOST = 1_000_000
"""Requests that one behaviour may stand for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the next requests meet."""

    next: int
    """How many of them."""
    status: int | str
    """400 to 599, `timeout` or `drop`."""
    retry_after: int | None = None
    """Seconds, told in the header Retry-After of an answer."""
    accept: bool = False
    """Whether the request is accepted all the same: it failed only in the eyes of the client."""

    def __post_init__(self) -> None:
        if type(self.next) is not int or not 1 <= self.next <= MOST:
            raise ValueError(f"next is {self.next!r}, expected a whole number from 1 to {MOST}")
        is_status = isinstance(self.status, int) and 400 <= self.status <= 599
        if not is_status and self.status not in (TIMEOUT, DROP):
            raise ValueError(f"status is {self.status!r}, expected 400 to 599, {TIMEOUT} or {DROP}")
        if self.retry_after is not None and (not is_status or not isinstance(self.retry_after, int)):
            raise ValueError("retry_after is a whole number of seconds and goes with a status of HTTP")
        if not isinstance(self.accept, bool):
            raise ValueError(f"accept is {self.accept!r}, expected true or false")

    @classmethod
    def of(cls, content: object) -> "Behaviour":
        """The behaviour that a request's body describes; ValueError when it does not."""
        if not isinstance(content, dict) or not {"next", "status"} <= content.keys():
            raise ValueError('expected an object such as {"next": 20, "status": 500}')
        if unknown := content.keys() - {"next", "status", "retry_after", "accept"}:
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
        return cls(**content)


class Script:
    """Behaviours one after the other; when they are used up, requests meet none."""

    def __init__(self, behaviours: Iterable[Behaviour] = ()) -> None:
        self._left = deque(behaviours)

    def append(self, behaviour: Behaviour) -> None:
        """To be met after all that are there."""
        self._left.append(behaviour)

    def clear(self) -> None:
        """All goes well from now on."""
        self._left.clear()

    def take(self) -> Behaviour | None:
        """What this request meets."""
        if not self._left:
            return None
        first = self._left.popleft()
        if first.next > 1:
            self._left.appendleft(replace(first, next=first.next - 1))
        return first

    def left(self) -> list[dict[str, Any]]:
        """What is still to come, as it was told."""
        return [asdict(behaviour) for behaviour in self._left]
