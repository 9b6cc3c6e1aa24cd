"""Waiting in the open: what is missing, for how long, and an end to it."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from streamops.clock import Clock
from streamops_sandbox.errors import SandboxError

if TYPE_CHECKING:
    from rich.status import Status

POLL = timedelta(milliseconds=200)
"""Time between two looks: short beside a component's start (seconds), long beside one look (milliseconds)."""


class Narrator(Protocol):
    """Tells a person what the sandbox does; never part of the result."""

    def note(self, text: str) -> None:
        """Something has ended: one line that stays."""
        ...

    def waiting(self, text: str) -> None:
        """What is waited for now; replaces the line before."""
        ...

    def settle(self) -> None:
        """The waiting is over, well or badly."""
        ...


class SilentNarrator:
    """Says nothing; for callers with a display of their own."""

    def note(self, text: str) -> None:
        """Nothing."""

    def waiting(self, text: str) -> None:
        """Nothing."""

    def settle(self) -> None:
        """Nothing."""


class StderrNarrator:
    """Speaks on stderr: a moving line on a terminal, whole lines in a log file."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = None

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def waiting(self, text: str) -> None:
        if not self._console.is_terminal:
            return
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        self._status.update(text)

    def settle(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def wait_until_nothing_is_missing(
    missing: Callable[[], str], *, what: str, limit: timedelta, clock: Clock, narrator: Narrator
) -> None:
    """Ask `missing` until it answers with an empty text.

    An error raised by `missing` ends the waiting. After the limit: SandboxError with what was still missing.
    """
    begin = clock.monotonic()
    still = missing()
    if still:
        narrator.note(f"{what}: waiting for {still} (at most {limit.total_seconds():.0f} s)")
    try:
        while still:
            elapsed = clock.monotonic() - begin
            if elapsed > limit:
                raise SandboxError(f"{what}: still waiting for {still} after {elapsed.total_seconds():.0f} s")
            narrator.waiting(f"{what}: waiting for {still} ({elapsed.total_seconds():.0f} s)")
            clock.sleep(POLL)
            still = missing()
    finally:
        narrator.settle()
    narrator.note(f"{what}: ready after {(clock.monotonic() - begin).total_seconds():.1f} s")
