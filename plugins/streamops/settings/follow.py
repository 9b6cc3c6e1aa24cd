"""Settings files that are read again when they change, for whoever lives longer than a declaration."""

import os
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from streamops.clock import Clock
from streamops.errors import SettingsError
from streamops.settings.in_force import PATIENCE, settings_in_force, within
from streamops.settings.loaded import Settings

ASK_INTERVAL = timedelta(seconds=1)
"""Between two looks at whether a file has changed, unless somebody says otherwise."""
LONGEST_BELIEF = timedelta(seconds=60)
"""After that a file is read again though it looks unchanged: not every place keeps its times and sizes."""
FIRST_PATIENCE_SECONDS = 30.0
PATIENCE_SECONDS = 1.0
"""How long an answer is awaited where an older one is at hand."""


class FollowedFile:
    """One settings file, read in threads of its own: a mount that hangs must not blind those who have read it before."""

    def __init__(self, path: str | Path, clock: Clock, *, ask_interval: timedelta | None = None) -> None:
        self._path = path
        self._clock = clock
        self._ask_interval = ASK_INTERVAL if ask_interval is None else ask_interval
        self._lock = threading.Lock()
        self._answered = threading.Event()
        self._answered.set()
        self._asked_at: timedelta | None = None
        self._read_at = timedelta(0)
        self._signature: tuple[int, ...] | None = None
        self._settings: Settings | None = None

    def settings(self) -> Settings:
        """What counts now; the same object as long as nothing has changed. SettingsError where it has never answered."""
        asked_at = self._ask_if_due()
        patience = PATIENCE_SECONDS if self._settings else FIRST_PATIENCE_SECONDS
        waited = (self._clock.monotonic() - asked_at).total_seconds()
        self._answered.wait(max(0.0, patience - waited))
        if self._settings is None:
            raise SettingsError(f"{self._path} could not be read within {patience:.0f} s")
        return self._settings

    def _ask_if_due(self) -> timedelta:
        """When it was asked last; there is one question at a time."""
        now = self._clock.monotonic()
        with self._lock:
            is_young = self._asked_at is not None and now - self._asked_at < self._ask_interval
            if self._asked_at is not None and (is_young or not self._answered.is_set()):
                return self._asked_at
            self._asked_at = now
            self._answered.clear()
        threading.Thread(target=self._answer, name="streamops-settings", daemon=True).start()
        return now

    def _answer(self) -> None:
        try:
            now, signature = self._clock.monotonic(), _signature(self._path)
            if signature != self._signature or now - self._read_at >= LONGEST_BELIEF:
                found = _remembered(settings_in_force(self._path, keep=True), self._settings)
                self._settings = self._settings if found == self._settings else found
                self._signature, self._read_at = signature, now
        finally:
            self._answered.set()


class SharedSettings:
    """Settings files, each read once for all triggers of a process.

    A thousand triggers that each parse a file of a thousand streams would leave the triggerer no time to look.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._files: dict[str, FollowedFile] = {}
        self._lock = threading.Lock()

    def of(self, path: str) -> Settings:
        """What a file declares, a second old at most while it answers. SettingsError where it has never answered."""
        with self._lock:
            if path not in self._files:
                self._files[path] = FollowedFile(path, self._clock)
        return self._files[path].settings()


def _remembered(found: Settings, before: Settings | None) -> Settings:
    """What was found; where nothing can be used and no version is kept anywhere, what was in force before, with the fault."""
    if found.state_root or before is None or not before.state_root:
        return found
    errors = tuple(problem for problem in before.errors if problem.stream)
    return replace(before, errors=(*found.whole, *errors))


def _signature(path: str | Path) -> tuple[int, ...]:
    """What changes whenever a file is replaced or written; empty when it is not there, or does not answer."""
    try:
        stat = within(PATIENCE, str(path), lambda: os.stat(path))
    except OSError:
        return ()
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
