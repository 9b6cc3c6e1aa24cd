"""Everything that a decision rests on, read in one go. Reads only."""

import itertools
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.checkpoint import CheckpointFacts, read_checkpoint
from streamops.clock import Clock
from streamops.control.drivers import DriverTraces, Heartbeat, read_traces
from streamops.control.fold import Epoch, LogState
from streamops.control.layout import companion_checkpoint, control_folder
from streamops.control.records import DriverHandle, Position
from streamops.control.registry import RegistryEntry, read_registry, registry_conflicts
from streamops.launch import DriverStatus, Launcher
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.supervisor.stillness import Stillness


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochFacts:
    """One epoch whose driver may live."""

    epoch: Epoch
    traces: tuple[DriverTraces, ...]
    status: DriverStatus | None
    """The launcher's word; None where no submit is on record."""
    found: tuple[DriverHandle, ...]
    """Living drivers with this epoch's token, looked for where no submit is on record."""
    stood_still: timedelta
    """How long its beat, or the lack of one, has not changed under this observer's eyes."""
    watched: timedelta
    """How long this observer has known the epoch in its present standing (claimed, or submitted)."""

    @property
    def heartbeat(self) -> Heartbeat | None:
        """The newest beat of the epoch's newest instance."""
        beats = [trace.heartbeat for trace in self.traces if trace.heartbeat]
        return max(beats, key=lambda beat: beat.at, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One stream at one moment."""

    now: datetime
    state: LogState
    epochs: tuple[EpochFacts, ...]
    """Epochs whose end nobody has proven, oldest first."""
    checkpoint: CheckpointFacts | None
    """Read only when no submitted epoch is open: a running query owns its checkpoint."""
    companions: tuple[CheckpointFacts, ...] = ()
    registry_conflicts: tuple[str, ...] = ()


class Observer:
    """Looks at one stream."""

    def __init__(
        self, spec: StreamSpec, *, storage: Storage, launcher: Launcher, clock: Clock, state_root: str
    ) -> None:
        self._spec = spec
        self._storage = storage
        self._launcher = launcher
        self._clock = clock
        self._state_root = state_root
        self._control = control_folder(spec.checkpoint)
        self.stillness = Stillness(clock)

    def observe(self, state: LogState) -> Observation:
        """The facts around a state of the log. Raises StorageError, LaunchError, ControlLogError."""
        epochs = tuple(self._epoch(epoch) for epoch in state.open_epochs)
        if any(facts.status for facts in epochs):
            return Observation(now=self._clock.now(), state=state, epochs=epochs, checkpoint=None)
        checkpoint, companions = read_checkpoints(self._storage, self._spec.checkpoint)
        return Observation(
            now=self._clock.now(),
            state=state,
            epochs=epochs,
            checkpoint=checkpoint,
            companions=companions,
            registry_conflicts=registry_conflicts(
                read_registry(self._storage, self._state_root), registry_entry(self._spec, checkpoint.query_id)
            ),
        )

    def position(self) -> Position:
        """Where the checkpoint stands now."""
        return position_of(*read_checkpoints(self._storage, self._spec.checkpoint))

    def _epoch(self, epoch: Epoch) -> EpochFacts:
        traces = read_traces(self._storage, self._control, epoch.number)
        beats = [f"{trace.instance}:{trace.heartbeat.sequence if trace.heartbeat else 0}" for trace in traces]
        submission = epoch.submission
        # Part of the subject, so that the time before a submit never counts against the driver.
        standing = "submitted" if submission else "claimed"
        return EpochFacts(
            epoch=epoch,
            traces=traces,
            status=self._launcher.poll(submission.handle) if submission else None,
            found=() if submission else self._launcher.find(epoch.claim.token),
            stood_still=self.stillness.of(f"beat {epoch.number} {standing}", " ".join(beats)),
            watched=self.stillness.of(f"epoch {epoch.number}", standing),
        )


def read_checkpoints(storage: Storage, checkpoint: str) -> tuple[CheckpointFacts, tuple[CheckpointFacts, ...]]:
    """The checkpoint of a stream and those of its companions, as far as they were ever begun."""
    numbered = (read_checkpoint(storage, companion_checkpoint(checkpoint, number)) for number in itertools.count())
    companions = itertools.takewhile(lambda facts: facts.query_id or facts.broken or not facts.is_new, numbered)
    return read_checkpoint(storage, checkpoint), tuple(companions)


def position_of(facts: CheckpointFacts, companions: tuple[CheckpointFacts, ...] = ()) -> Position:
    """The position of a checkpoint and its companions, as records hold it."""
    return Position(
        query_id=facts.query_id or "",
        offset=facts.last_offset,
        commit=facts.last_commit,
        companions=tuple(position_of(companion) for companion in companions),
    )


def registry_entry(spec: StreamSpec, query_id: str | None) -> RegistryEntry:
    """What the registry keeps of a stream."""
    return RegistryEntry(stream=spec.name, checkpoint=spec.checkpoint, sink=spec.sink.table, query_id=query_id or "")
