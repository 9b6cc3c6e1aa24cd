"""A supervisor that follows its settings file: a trigger lives for days, and meanwhile its stream is declared anew."""

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta

from streamops.clock import Clock
from streamops.errors import SettingsError, StreamOpsError
from streamops.settings import Settings, load_settings
from streamops.spec import StreamSpec
from streamops.supervisor import Supervisor

log = logging.getLogger(__name__)

ASK_INTERVAL = timedelta(seconds=1)
"""Between two looks at whether a file has changed."""
LONGEST_BELIEF = timedelta(seconds=60)
"""After that a file is read again though it looks unchanged: not every place keeps its times and sizes."""
FIRST_PATIENCE_SECONDS = 30.0
PATIENCE_SECONDS = 1.0
"""How long an answer is awaited where an older one is at hand."""


class SharedSettings:
    """Settings files, each read once for all triggers of a process.

    A thousand triggers that each parse a file of a thousand streams would leave the triggerer no time to look.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._files: dict[str, _FollowedFile] = {}
        self._lock = threading.Lock()

    def of(self, path: str) -> Settings:
        """What a file declares, a second old at most while it answers. SettingsError where it has never answered."""
        with self._lock:
            if path not in self._files:
                self._files[path] = _FollowedFile(path, self._clock)
        return self._files[path].settings()


class _FollowedFile:
    """One settings file, read in threads of its own: a mount that hangs must not blind those who have read it before."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._answered = threading.Event()
        self._answered.set()
        self._asked_at: timedelta | None = None
        self._read_at = timedelta(0)
        self._signature: tuple[int, ...] | None = None
        self._settings: Settings | None = None

    def settings(self) -> Settings:
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
            is_young = self._asked_at is not None and now - self._asked_at < ASK_INTERVAL
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
                self._settings = load_settings(self._path)
                self._signature, self._read_at = signature, now
        finally:
            self._answered.set()


class DeclaredSupervisor:
    """The supervisor of a stream as it is declared now.

    Where that can't be told any more, the last declaration counts: a mistake in a file must not disarm what runs.
    """

    def __init__(
        self, stream: str, *, settings: Callable[[], Settings], build: Callable[[StreamSpec, str], Supervisor]
    ) -> None:
        """SettingsError when the stream is declared wrongly, or not at all. `build` takes a spec and the state root."""
        self._stream = stream
        self._settings = settings
        self._build = build
        self._declared = self._read()
        self._trouble = ""
        self.supervisor = build(*self._declared)

    def renewed(self) -> Supervisor:
        """The supervisor after another look at the settings; a new one knows what the one before has seen."""
        try:
            declared = self._read()
            if declared != self._declared:
                self._follow(declared)
        except StreamOpsError as error:
            if str(error) != self._trouble:
                log.warning("stream=%s watched as it was declared before: %s", self._stream, error)
            self._trouble = str(error)
        else:
            self._trouble = ""
        return self.supervisor

    def _read(self) -> tuple[StreamSpec, str]:
        settings = self._settings()
        return settings.stream(self._stream), settings.state_root

    def _follow(self, declared: tuple[StreamSpec, str]) -> None:
        supervisor = self._build(*declared)
        if declared[0].checkpoint == self.supervisor.spec.checkpoint:  # Elsewhere there are other drivers.
            supervisor.take_over(self.supervisor.hand_over())
        self._declared, self.supervisor = declared, supervisor
        log.info("stream=%s is declared anew", self._stream)


def _signature(path: str) -> tuple[int, ...]:
    """What changes whenever a file is replaced or written; empty when it is not there."""
    try:
        stat = os.stat(path)
    except OSError:
        return ()
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
