"""What the HTTP endpoint got, one JSON line a request, and what it knows of each idempotency key.

As with Stripe's idempotency keys: the first request with a key counts, a repeat of it gets the same answer and changes
nothing, and another body under the same key is refused.
"""

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Any


class Outcome(StrEnum):
    """What became of a request."""

    ACCEPTED = "accepted"
    """The first with its key."""
    REPEATED = "repeated"
    """Its key and its body were accepted before."""
    CONFLICT = "conflict"
    """Its key was accepted before, with another body."""
    FAILED = "failed"
    """The endpoint was told to fail, and has not looked at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is known of one key of one path."""

    path: str
    key: str
    body: Any = None
    """The accepted JSON value; None as long as none is."""
    accepted: bool = False
    requests: int = 0
    """All that came with this key: also repeats, conflicts, and those that were failed."""


class RestLedger:
    """The entries, and the file from which they are read at the start. For one thread at a time."""

    def __init__(self, file: Path) -> None:
        """Go on with what the file holds; a last line without an end is cut off: its request was not answered."""
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._entries: dict[tuple[str, str], Entry] = {}
        whole = file.read_bytes() if file.is_file() else b""
        whole = whole[: whole.rfind(b"\n") + 1]
        for line in whole.splitlines():
            told = json.loads(line)
            self._count(told["path"], told["key"], Outcome(told["outcome"]), told.get("body"))
        self._file: IO[bytes] = open(file, "ab")  # noqa: SIM115 - kept for as long as the server lives
        self._file.truncate(len(whole))

    def receive(self, *, path: str, key: str, body: Any) -> Outcome:
        """Enter a request and judge it. It is on disk when this returns, but for a crash of the machine."""
        known = self._entries.get((path, key))
        if known is None or not known.accepted:
            outcome = Outcome.ACCEPTED
        else:
            outcome = Outcome.REPEATED if known.body == body else Outcome.CONFLICT
        self._enter(path, key, outcome, body)
        return outcome

    def fail(self, *, path: str, key: str) -> None:
        """Enter a request that the endpoint was told to fail."""
        self._enter(path, key, Outcome.FAILED, None)

    def entries(self) -> list[dict[str, Any]]:
        """All of them, in the order in which their keys were first seen."""
        return [asdict(entry) for entry in self._entries.values()]

    def close(self) -> None:
        """Nothing can be entered afterwards."""
        self._file.close()

    def _enter(self, path: str, key: str, outcome: Outcome, body: Any) -> None:
        line = {"path": path, "key": key, "outcome": outcome.value}
        if outcome is Outcome.ACCEPTED:
            line["body"] = body
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        self._count(path, key, outcome, body)

    def _count(self, path: str, key: str, outcome: Outcome, body: Any) -> None:
        entry = self._entries.get((path, key), Entry(path=path, key=key))
        entry = replace(entry, requests=entry.requests + 1)
        if outcome is Outcome.ACCEPTED:
            entry = replace(entry, accepted=True, body=body)
        self._entries[path, key] = entry
