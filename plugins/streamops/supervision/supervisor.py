"""Drives one stream: look, decide, act, again.

Killing it at any instruction and running it again ends in the same state.

What it keeps in memory only saves reading or waiting: which claims it appended itself, how long beats have stood still,
and the fold so far.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from streamops.clock import Clock
from streamops.control.attendance import AttendanceStore
from streamops.control.log import ControlLog
from streamops.control.records import Author
from streamops.control.registry import SharedRegistry, note_driver
from streamops.control.snapshot import load_and_keep, refresh_state
from streamops.control.state import LogState
from streamops.control.state_root import require_state_root
from streamops.errors import AppendRefusedError, CorruptRecordError, StorageError
from streamops.launch import Launcher
from streamops.retention.source_coverage import BrokerFor
from streamops.spec import Mode, StreamSpec
from streamops.storage import Storage
from streamops.supervision.act import Actor
from streamops.supervision.decide import decide
from streamops.supervision.decision import RESTING, Action, Decision
from streamops.supervision.observation import Observation
from streamops.supervision.observe import Observer
from streamops.supervision.preflight import StartFacts
from streamops.supervision.probes import Prober
from streamops.supervision.stillness import Stillness

log = logging.getLogger(__name__)

KILL_PAUSE = timedelta(milliseconds=200)
MAX_STEPS = 100
"""Acts in one go: a start takes five, a stubborn kill may take many."""

_STARTING = frozenset({Action.CLAIM, Action.SUBMIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen and what follows."""

    observation: Observation
    decision: Decision
    start: StartFacts | None = None
    """What a start would come across; None where it was not asked."""


class Supervisor:
    """Supervises one declared stream."""

    def __init__(
        self,
        spec: StreamSpec,
        *,
        storage: Storage,
        launcher: Launcher,
        clock: Clock,
        state_root: str,
        author: Author,
        prober: Prober | None = None,
        broker_for: BrokerFor | None = None,
        registry: SharedRegistry | None = None,
    ) -> None:
        """Without `broker_for` a start does not ask Kafka whether what it reads is still there.

        `registry` is what the supervisors of a process share; without it every look at a stream that is down reads all
        entries.
        """
        self.spec = spec
        self._storage = storage
        self._clock = clock
        self._log = ControlLog.of_checkpoint(storage, spec.checkpoint)
        self._observer = Observer(
            spec,
            storage=storage,
            launcher=launcher,
            clock=clock,
            state_root=state_root,
            host=author.host,
            prober=prober,
            broker_for=broker_for,
            registry=registry,
        )
        self._state_root = state_root
        self._noted_query = ""
        self._attendance = AttendanceStore(storage, state_root, stream=spec.name, author=author, clock=clock)
        self._actor = Actor(
            spec,
            log=self._log,
            observer=self._observer,
            launcher=launcher,
            clock=clock,
            state_root=state_root,
            author=author,
        )
        self._state: LogState | None = None
        self.last_look: Look | None = None
        """Kept, so that a log can tell where the stream stands without another look."""

    def attend(self) -> None:
        """Leave a sign that this stream is looked after; whoever only looks leaves none.

        What its driver says of its query goes into the registry, once.
        """
        self._attendance.sign()
        query_id = _query_of(self.last_look) if self.last_look else ""
        if query_id in ("", self._noted_query) or self.spec.mode is Mode.BACKFILL:
            return
        try:
            note_driver(self._storage, self._state_root, self.spec.name, query_id=query_id)
        except StorageError as error:
            log.warning("stream=%s its query is not noted in the registry: %s", self.spec.name, error)
            return
        self._noted_query = query_id

    def look(self) -> Look:
        """Read everything anew and decide; changes nothing. Raises StreamOpsError where the facts can't be had.

        One of them is that the state root is there: its volume may go away under a supervisor that runs.
        """
        require_state_root(self._storage, self._state_root)
        self._state = self._read_state()
        observation, start = self._observer.observe(self._state), None
        decision = decide(observation, self.spec, mine=self._actor.claims)
        if decision.action in _STARTING or decision.plan:
            # The logs alone allow a start, or refuse it. All that it would come across is worth its reads only now: it may
            # be an obstacle, or a sink that has the batch in flight already. A claim and its submit rest on the same.
            observation, start = self._observer.deepen(observation)
            decision = decide(observation, self.spec, mine=self._actor.claims)
        self.last_look = Look(observation=observation, decision=decision, start=start)
        return self.last_look

    def in_depth(self, look: Look) -> tuple[Observation, StartFacts]:
        """The same with all that a start would come across, whether or not one is next. StorageError."""
        return self._observer.deepen(look.observation)

    def act(self, look: Look) -> None:
        """Carry a decision out. Another supervisor's record in between makes it void: look again."""
        try:
            self._actor.act(look.decision, look.observation, look.start or StartFacts())
        except AppendRefusedError as error:
            log.info("stream=%s %s not done: %s", self.spec.name, look.decision.action, error)

    def step(self) -> Decision:
        """Look and act once."""
        look = self.look()
        if look.decision.action not in RESTING:
            self.act(look)
        return look.decision

    def settle(self, *, on_act: Callable[[Look], None] = lambda look: None) -> Decision:
        """Step until nothing is left to do at once; the decision to rest on.

        `on_act` is told of each act after it was done. A kill is given a moment to take effect; a driver that does not
        go is left for the next call.
        """
        for _ in range(MAX_STEPS):
            look = self.look()
            self.attend()  # Whoever can't look does not look after the stream.
            if look.decision.action in RESTING:
                return look.decision
            self.act(look)
            on_act(look)
            if look.decision.action is Action.KILL:
                self._clock.sleep(KILL_PAUSE)
        return replace(look.decision, action=Action.WAIT)

    def hand_over(self) -> str:
        """How long beats have stood still under this object's eyes, as text for `take_over` elsewhere."""
        return self._observer.stillness.hand_over()

    def take_over(self, memory: str) -> None:
        """Go on from another process' `hand_over`."""
        self._observer.stillness.take_over(memory)

    def _read_state(self) -> LogState:
        if self._state is None or self._state.is_empty:
            return load_and_keep(self._storage, self._log.control)
        try:
            return refresh_state(self._storage, self._log.control, self._state)
        except CorruptRecordError:
            # Told once. A log that was lost and adopted is another one, with epochs of the same numbers: the next look
            # reads it from its start.
            self._state = None
            self._observer.stillness = Stillness(self._clock)
            raise


def _query_of(look: Look) -> str:
    """The id of the stream's own query as the newest driver's beat has it; empty where none is known."""
    beat = look.observation.epochs[-1].heartbeat if look.observation.epochs else None
    return beat.query_id if beat else ""
