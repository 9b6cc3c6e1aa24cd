"""What counts of a settings file now: what is right in it and, of what is not, the last good version; read again when it changes.

A file that is broken, half written, gone or on a mount that hangs stops no stream and leaves none alone. Nor does a
stream that left the file: taking it out is no act. It goes on as it was declared last until it is stopped.
"""

import logging
import os
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from streamops.clock import Clock, SystemClock
from streamops.control.layout import control_folder
from streamops.control.snapshot import load_state
from streamops.control.state import Desire
from streamops.errors import SettingsError, StreamOpsError
from streamops.settings.conflicts import conflicts
from streamops.settings.last_good import (
    LastGood,
    note_state_root,
    possible_state_roots,
    read_last_good,
    write_last_good,
)
from streamops.settings.load import Reading, problem_of, project_root, read_settings, settings_of, unreadable
from streamops.settings.loaded import KeptStream, Settings
from streamops.settings.problems import Refusal, SettingsProblem
from streamops.settings.yaml_file import YamlFile
from streamops.spec import StreamSpec
from streamops.storage.kinds import storage_for

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE = timedelta(seconds=5)
"""How long a file or a folder may take to answer. Airflow gives a DAG file 30 s to import."""

_DOORS: dict[str, threading.Lock] = {}
"""By place: held while it is asked, so that a place that hangs costs one thread however often it is asked."""


def settings_in_force(
    path: str | Path,
    environment: Mapping[str, str] = os.environ,
    *,
    keep: bool = False,
    clock: Clock | None = None,
) -> Settings:
    """The settings that count now. Never raises for what the file holds, nor for what can't be read.

    With `keep` what is right is kept as the last good version: for those who supervise streams.
    """
    text, reading = _read(path, environment)
    if not reading.settings.state_root:
        return _all_kept(path, text, reading, environment)
    state_root = reading.settings.state_root
    try:
        version = within(PATIENCE, state_root, lambda: read_last_good(state_root, path))
    except (StreamOpsError, TimeoutError) as error:
        log.warning("%s: its last good version can't be read: %s", path, error)
        return reading.settings
    settings = _completed(path, reading, version) if version else reading.settings
    if keep:
        _keep(path, reading, settings, version, environment, clock or SystemClock())
    return settings


def within(patience: timedelta, place: str, work: Callable[[], T]) -> T:
    """The answer of a place; TimeoutError where it does not come in time, or still owes an earlier answer."""
    door, limit = _DOORS.setdefault(place, threading.Lock()), patience.total_seconds()
    answers: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put((work(), None))
        except Exception as error:
            answers.put((None, error))
        finally:
            door.release()

    if not door.acquire(timeout=limit):
        raise TimeoutError(f"no answer within {limit:.0f} s")
    threading.Thread(target=ask, name="streamops-settings", daemon=True).start()
    try:
        answer, error = answers.get(timeout=limit)
    except Empty:
        raise TimeoutError(f"no answer within {limit:.0f} s") from None
    if error:
        raise error
    return answer  # type: ignore[return-value] # None only where that is the answer


def _read(path: str | Path, environment: Mapping[str, str]) -> tuple[str, Reading]:
    """The text of the file, empty where it can't be had, and what it says."""
    try:
        text = within(PATIENCE, str(path), lambda: Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:  # TimeoutError is an OSError
        return "", unreadable(path, error)
    return text, read_settings(path, text, environment)


def _all_kept(path: str | Path, text: str, reading: Reading, environment: Mapping[str, str]) -> Settings:
    """Everything as it was declared last, where that can be found."""
    for state_root in possible_state_roots(path, text, environment, root=project_root(path)):
        try:
            version = within(PATIENCE, state_root, lambda place=state_root: read_last_good(place, path))  # type: ignore[misc]
        except (StreamOpsError, TimeoutError) as error:
            log.warning("%s: no good version of it in %s: %s", path, state_root, error)
            continue
        if version:
            kept = _read_version(path, version, version.streams).settings
            return replace(
                kept,
                errors=(*reading.settings.errors, *kept.errors),
                kept=tuple(KeptStream(name=spec.name, since=version.since[spec.name]) for spec in kept.streams),
            )
    return reading.settings


def _completed(path: str | Path, reading: Reading, version: LastGood) -> Settings:
    """The settings with the last good declaration of streams that are declared wrongly now, or not at all.

    Where a stream that is new or changed wants what a kept one has, the kept one keeps it: it may be running.
    """
    settings, version = reading.settings, replace(version, sections=reading.sections)
    sound = {spec.name for spec in settings.streams}
    kept, lost = _kept_specs(path, version, version.streams.keys() - sound, declared=reading.names)
    clashes = conflicts([*settings.streams, *kept], state_root=settings.state_root) if kept else {}
    refused = {name: clashes[name] for name in clashes.keys() & sound}
    kept += _kept_specs(path, version, version.streams.keys() & refused.keys(), declared=reading.names)[0]
    clash_problems = tuple(
        problem_of(path, name, ("streams", name, *refusal.place), refusal)
        for name, refusals in refused.items()
        for refusal in refusals
    )
    marks = tuple(
        KeptStream(name=spec.name, since=version.since[spec.name], has_left=spec.name not in reading.names)
        for spec in kept
    )
    left = tuple(problem_of(path, mark.name, ("streams", mark.name), _left(mark)) for mark in marks if mark.has_left)
    return replace(
        settings,
        streams=(*(spec for spec in settings.streams if spec.name not in refused), *kept),
        errors=(*settings.errors, *clash_problems, *left, *lost),
        kept=marks,
    )


def _kept_specs(
    path: str | Path, version: LastGood, names: Collection[str], *, declared: Collection[str]
) -> tuple[list[StreamSpec], list[SettingsProblem]]:
    """Of these streams those that go on: all that the file still names, and of the others those that were not stopped. Beside
    them what this release finds wrong with others that left."""
    if not names:
        return [], []
    found = _read_version(path, version, names).settings
    specs = [spec for spec in found.streams if spec.name in declared or not _is_over(spec)]
    return specs, [problem for problem in found.errors if problem.stream not in declared]


def _read_version(path: str | Path, version: LastGood, names: Collection[str]) -> Reading:
    """Some streams of a kept version, by the loader of the file; what a job or a jar lacks now, a start tells."""
    streams = {name: version.streams[name] for name in sorted(names)}
    return settings_of(path, YamlFile({**version.sections, "streams": streams}, ()), checks_files=False)


def _is_over(spec: StreamSpec) -> bool:
    """Whether a stream may leave: it was stopped and nothing of it runs, or it was never begun. Unknown is no."""
    try:
        state = within(
            PATIENCE,
            spec.checkpoint,
            lambda: load_state(storage_for(spec.checkpoint), control_folder(spec.checkpoint)),
        )
    except (StreamOpsError, TimeoutError) as error:
        log.warning("stream=%s left the settings, and whether it was stopped can't be told: %s", spec.name, error)
        return False
    if state.newest is None or state.stream not in ("", spec.name):
        return True
    return state.desire is Desire.STOPPED and not state.open_epochs


def _left(mark: KeptStream) -> Refusal:
    found = (
        "nothing: it left the settings without being stopped, and is supervised as it was declared since"
        f" {mark.since:%Y-%m-%d %H:%M} UTC"
    )
    return Refusal((), found, f"it back in the file, or `streamops stop {mark.name} --reason …`")


def _keep(
    path: str | Path,
    reading: Reading,
    settings: Settings,
    before: LastGood | None,
    environment: Mapping[str, str],
    clock: Clock,
) -> None:
    """Keep what is right now, and of what is kept already what still counts. Trouble is told: the streams go on."""
    before = before or LastGood(path=os.path.abspath(path))
    goes_on = {mark.name for mark in settings.kept}
    right = {spec.name for spec in settings.streams} - goes_on
    told = {problem.stream for problem in settings.errors}
    streams = {name: declared for name, declared in before.streams.items() if name in goes_on | told} | {
        name: declared for name, declared in reading.declared.items() if name in right
    }
    now = clock.now()
    since = {
        name: before.since.get(name, now) if before.streams.get(name) == declared else now
        for name, declared in streams.items()
    }
    version = LastGood(path=os.path.abspath(path), sections=reading.sections, streams=streams, since=since)
    state_root = settings.state_root
    try:
        if version != before:
            within(PATIENCE, state_root, lambda: write_last_good(state_root, version))
    except (StreamOpsError, TimeoutError) as error:
        log.warning("%s: its last good version can't be kept: %s", path, error)
    note_state_root(path, state_root, environment)


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
