"""Supervision of all declared streams in one process: a thread for each, and the settings file followed."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from streamops.clock import Clock, SystemClock
from streamops.control.registry import SharedRegistry
from streamops.errors import StreamOpsError
from streamops.launch import Launcher
from streamops.reconcile import Pruner
from streamops.spec import StreamSpec
from streamops.status import Phase, stream_status
from streamops.supervision.decision import Decision
from streamops.supervision.supervisor import Look, Supervisor

if TYPE_CHECKING:
    from streamops.settings import SettingsProblem

log = logging.getLogger(__name__)

ACTOR = "supervise"
TURNS_AT_ONCE = 8
LONGEST_BACK_OFF = timedelta(seconds=30)
SHORTEST_REST = timedelta(milliseconds=100)
PRUNE_INTERVAL = timedelta(minutes=1)
"""Between two rounds that delete what ended drivers have left."""
FAREWELL = timedelta(seconds=10)
"""How long acts that have begun may go on after the signal. Cutting them short is safe, but may cost an epoch."""


class Ports(Protocol):
    """What supervision works with; whoever runs it chooses the real things."""

    @property
    def launcher(self) -> Launcher:
        """Where drivers run."""
        ...

    @property
    def clock(self) -> Clock:
        """Of all supervisors."""
        ...

    @property
    def patience(self) -> timedelta:
        """How long a place may leave everybody without an answer."""
        ...

    def supervisor(
        self, spec: StreamSpec, *, state_root: str, actor: str, kind: type[Supervisor], registry: SharedRegistry
    ) -> Supervisor:
        """A supervisor of one stream; those of many share a registry."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisedStream:
    """All that a supervisor of one stream is built from; when it differs, it is built anew."""

    spec: StreamSpec
    state_root: str

    def supervisor(self, ports: Ports, registry: SharedRegistry) -> Supervisor:
        """A supervisor of the stream as declared."""
        return ports.supervisor(self.spec, state_root=self.state_root, actor=ACTOR, kind=Supervisor, registry=registry)


class Supervision:
    """Supervises what one settings file declares."""

    def __init__(self, path: Path, ports: Ports, *, names: frozenset[str], interval: timedelta) -> None:
        """SettingsError when no settings are in force, or they do not declare one of the names."""
        # Imported here: what reads settings brings a library that no other part of this package needs.
        from streamops.settings.in_force import ASK_INTERVAL, FollowedFile

        self._ports = ports
        self._names = names
        self._interval = interval
        self._file = FollowedFile(path, SystemClock(), ask_interval=min(interval, ASK_INTERVAL))
        self._settings = self._file.settings().usable()
        self._path = path
        self._registry = SharedRegistry(ports.clock)
        self._ending = threading.Event()
        self._why = "asked to end"
        self._loops: dict[str, StreamLoop] = {}
        self._told: dict[str, str] = {}
        for name in sorted(names):
            self._settings.stream(name)

    @property
    def specs(self) -> tuple[StreamSpec, ...]:
        """The live streams that are looked after, as declared now."""
        return tuple(declared.spec for declared in self._wanted().values())

    @property
    def problems(self) -> "tuple[SettingsProblem, ...]":
        """What is wrong with settings, as far as the streams that were asked for go."""
        errors = self._settings.errors
        return tuple(problem for problem in errors if not self._names or problem.stream in ("", *self._names))

    def run_once(self) -> bool:
        """Settle each stream once; whether all could be."""
        self._take_over()
        with ThreadPoolExecutor(TURNS_AT_ONCE) as pool:
            # All turns are awaited: to stop at the first failure would cancel those that have not begun.
            are_settled = all(list(pool.map(StreamLoop.turn, self._loops.values())))
        self._prune()
        return are_settled

    def run(self) -> None:
        """Supervise until `end` is called."""
        self._take_over(starting=True)
        log.info("supervising %d streams of %s", len(self._loops), self._path)
        threading.Thread(target=self._keep_pruning, name="streamops-prune", daemon=True).start()
        while not self._ending.wait(self._interval.total_seconds()):
            found = self._file.settings()
            if found is not self._settings:
                self._settings = found
                self._take_over(starting=True)
        deadline = self._ports.clock.monotonic() + FAREWELL
        for loop in self._loops.values():
            loop.end()
        for loop in self._loops.values():
            loop.join(deadline - self._ports.clock.monotonic())
        log.info("%s: supervision has ended, %d streams are left as they are", self._why, len(self._loops))

    def end(self, why: str) -> None:
        """Let `run` return soon; callable from a signal handler."""
        self._why = why
        self._ending.set()

    def _keep_pruning(self) -> None:
        """As the DAG `streamops_reconcile` does; apart from the streams' threads, so that no supervision waits for it."""
        while not self._ending.is_set():
            self._prune()
            self._ending.wait(PRUNE_INTERVAL.total_seconds())

    def _prune(self) -> None:
        ports, state_root = self._ports, self._settings.state_root
        storage_for = self._settings.storage_for
        pruner = Pruner(storage_for=storage_for, launcher=ports.launcher, clock=ports.clock, state_root=state_root)
        try:
            pruner.run(self.specs, patience=ports.patience)
        except Exception:
            log.warning("pruning failed, tried again", exc_info=True)

    def _wanted(self) -> dict[str, SupervisedStream]:
        settings = self._settings
        return {
            spec.name: SupervisedStream(spec=spec, state_root=settings.state_root)
            for spec in settings.streams
            if not self._names or spec.name in self._names
        }

    def _take_over(self, *, starting: bool = False) -> None:
        """Begin with new streams, hand changed declarations on, let go of streams that may leave.

        A stream whose declaration is wrong, or gone without a stop, is among the wanted ones as it was declared last; one
        that was wrong from the start has none, and one that was kept nowhere keeps its old declaration here.
        """
        self._tell_problems()
        wanted = self._wanted()
        wrong = {problem.stream for problem in self._settings.errors}
        for name, declared in wanted.items():
            if name in self._loops:
                self._loops[name].declare(declared)
                continue
            self._loops[name] = StreamLoop(declared, self._ports, interval=self._interval, registry=self._registry)
            if starting:
                self._loops[name].start()
        for name in sorted(self._loops.keys() - wanted.keys() - wrong):
            log.warning("stream=%s has left the settings, and is not supervised from here any more", name)
            self._loops.pop(name).end()

    def _tell_problems(self) -> None:
        texts = {str(problem): problem.stream for problem in self.problems}
        kept = {mark.name for mark in self._settings.kept}
        for text, stream in texts.items():
            if text not in self._told:
                if not stream:
                    log.error("the settings before stay in force: %s", text)
                    continue
                rest = ", supervised as it was declared before" if stream in kept | self._loops.keys() else ""
                log.warning("stream=%s wrong settings%s: %s", stream, rest, text)
        if any(stream == "" for stream in self._told.values()) and not self._settings.whole:
            log.info("%s can be read again", self._path)
        self._told = texts


class StreamLoop:
    """Settles one stream again and again. Whatever troubles it stays here."""

    def __init__(
        self, declared: SupervisedStream, ports: Ports, *, interval: timedelta, registry: SharedRegistry
    ) -> None:
        self._ports = ports
        self._registry = registry
        self._interval = interval
        self._declared = declared
        self._supervised: SupervisedStream | None = None
        self._supervisor: Supervisor | None = None
        self._trouble = ""
        self._told: tuple[object, ...] = ()
        self.rest = interval
        """How long to wait until the next turn."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"streamops-{declared.spec.name}", daemon=True)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def declare(self, declared: SupervisedStream) -> None:
        """From the next turn on this is how the stream is declared."""
        self._declared = declared

    def end(self) -> None:
        """Let the present turn be the last."""
        self._ending.set()

    def join(self, limit: timedelta) -> None:
        """Wait for the present turn."""
        self._thread.join(max(0.0, limit.total_seconds()))

    def turn(self) -> bool:
        """Settle once; whether that went well."""
        try:
            decision = self._settle()
        except Exception as error:
            # Storage trouble, a broken record, a mistake of ours: the others go on, and this one is tried again.
            self._tell_trouble(error)
            self.rest = min(2 * max(self.rest, self._interval), max(LONGEST_BACK_OFF, self._interval))
            return False
        if self._trouble:
            log.info("stream=%s is looked after again", self._declared.spec.name)
            self._trouble = ""
        self.rest = rest_after(decision, interval=self._interval, clock=self._ports.clock)
        return True

    def _run(self) -> None:
        while not self._ending.is_set():
            self.turn()
            self._ending.wait(self.rest.total_seconds())

    def _settle(self) -> Decision:
        declared = self._declared
        if self._supervisor is None or self._supervised != declared:
            # A claim that the old one has not submitted yet is left behind, as after a crash: the next epoch follows.
            self._supervisor, self._supervised = declared.supervisor(self._ports, self._registry), declared
        decision = self._supervisor.settle()
        if self._supervisor.last_look:
            self._tell_standing(self._supervisor.last_look, declared.spec)
        return decision

    def _tell_standing(self, look: Look, spec: StreamSpec) -> None:
        """One line for each change; batches are no change."""
        status = stream_status(look, spec)
        reason = "" if status.phase is Phase.RUNNING else status.reason
        standing = (status.phase, status.epoch, status.needs_attention, reason)
        if standing == self._told:
            return
        self._told = standing
        level = logging.WARNING if status.needs_attention else logging.INFO
        log.log(level, "stream=%s is %s, epoch=%s: %s", spec.name, status.phase, status.epoch, status.reason)

    def _tell_trouble(self, error: Exception) -> None:
        text = str(error) if isinstance(error, StreamOpsError) else f"{type(error).__name__}: {error}"
        if text == self._trouble:
            return
        self._trouble = text
        details = None if isinstance(error, StreamOpsError | OSError) else error
        log.warning("stream=%s can't be looked after now: %s", self._declared.spec.name, text, exc_info=details)


def rest_after(decision: Decision, *, interval: timedelta, clock: Clock) -> timedelta:
    """Until the wait ends by itself, but never longer than the interval: somebody may ask for something meanwhile."""
    if decision.until is None:
        return interval
    return min(interval, max(SHORTEST_REST, decision.until - clock.now()))
