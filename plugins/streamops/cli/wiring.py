"""Builds what commands work with. The only place that chooses real implementations."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from streamops.backfill.backfill_service import BackfillService, places_of
from streamops.backfill.run_service import RunService
from streamops.backfill.status import BackfillPorts, BackfillStatus, read_backfills, standing_of
from streamops.clock import Clock, SystemClock
from streamops.control.log import LogReader
from streamops.control.registry import SharedRegistry
from streamops.control.snapshot import load_state
from streamops.fleet.newest_verdicts import VerdictPorts
from streamops.kafka.broker import Broker, KafkaAccess, Sender, access_of
from streamops.kafka.confluent import ConfluentBroker
from streamops.kafka.confluent_sending import ConfluentSender
from streamops.launch import Launcher
from streamops.launch.local import LocalLauncher
from streamops.launch.outsiders import find_outsiders
from streamops.operations.requests import this_author, this_person
from streamops.operations.snapshot import ActContext
from streamops.operations.stream_operations import StreamOperations
from streamops.spec import StreamSpec
from streamops.storage.kinds import storage_for
from streamops.supervision.hand_over import FindOutsiders
from streamops.supervision.place import refuse_unmounted
from streamops.supervision.supervisor import Look, Supervisor
from streamops.terminal.console import say, shown

if TYPE_CHECKING:
    from streamops.settings import Settings

S = TypeVar("S", bound=Supervisor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """The doors to the world; tests bring their own."""

    launcher: Launcher = field(default_factory=LocalLauncher)
    clock: Clock = field(default_factory=SystemClock)
    broker: Callable[[KafkaAccess, Clock], Broker] = ConfluentBroker
    sender: Callable[[KafkaAccess, Clock], Sender] = ConfluentSender
    find_outsiders: FindOutsiders = find_outsiders
    patience: timedelta = timedelta(seconds=15)
    """How long a place may leave everybody without an answer before its streams are shown as unknown."""

    def supervisor(
        self, spec: StreamSpec, *, state_root: str, actor: str, kind: type[S], registry: SharedRegistry | None = None
    ) -> S:
        """A supervisor of one stream; those of many share a registry."""
        return kind(
            spec,
            storage=storage_for(spec.checkpoint, access=spec.file_access),
            launcher=self.launcher,
            clock=self.clock,
            state_root=state_root,
            author=this_author(actor),
            broker_for=self.broker_of,
            registry=registry,
        )

    def broker_of(self, spec: StreamSpec) -> Broker:
        """The cluster of a stream's source. SettingsError where it can't be asked at all."""
        return self.broker(access_of(spec.kafka.bootstrap_servers, spec.kafka.options), self.clock)


class Session:
    """One call of the command line: a settings file and the doors to the world."""

    def __init__(self, path: Path | None, wiring: Wiring) -> None:
        """`path`: None for the file that counts when nobody says otherwise."""
        self._path = path
        self.wiring = wiring
        self.registry = SharedRegistry(wiring.clock)
        self._settings: Settings | None = None

    @property
    def path(self) -> Path:
        """Of the settings file."""
        # To load what reads settings takes longer than most commands: whoever needs none does without.
        from streamops.settings import default_settings_path

        return self._path or default_settings_path()

    @property
    def clock(self) -> Clock:
        """The clock of this call."""
        return self.wiring.clock

    def settings(self) -> "Settings":
        """The settings that are in force, read once; SettingsError when there are none."""
        from streamops.settings import settings_in_force

        if self._settings is None:
            self._settings = settings_in_force(self.path, clock=self.clock).usable()
            for problem in self._settings.whole:
                say(f"warning: {problem}; what was declared last is in force")
        return self._settings

    def spec(self, stream: str) -> StreamSpec:
        """A stream as it is in force; SettingsError when there is no such one. What is wrong with its declaration is told."""
        spec = self.settings().stream(stream)
        for problem in self.settings().errors:
            if problem.stream == stream:
                say(f"warning: {problem}; what it declared last is in force")
        return spec

    def supervisor(self, spec: StreamSpec) -> Supervisor:
        """A supervisor of one stream, for looking only."""
        return self.wiring.supervisor(
            spec, state_root=self.settings().state_root, actor="look", kind=Supervisor, registry=self.registry
        )

    def look(self, spec: StreamSpec) -> Look:
        """One look at a stream; changes nothing."""
        return self.supervisor(spec).look()

    def surroundings(self, spec: StreamSpec) -> ActContext:
        """Who looks after a stream, and what its next driver would be given."""
        return self.desk(spec).surroundings()

    def desk(self, spec: StreamSpec) -> StreamOperations:
        """Where the person at this terminal plans acts, puts them on record and follows them."""
        return StreamOperations(
            self.supervisor(spec),
            storage=storage_for(spec.checkpoint, access=spec.file_access),
            clock=self.clock,
            state_root=self.settings().state_root,
            author=this_person(),
            find_outsiders=self.wiring.find_outsiders,
            watching=shown,
        )

    def run_desk(self, spec: StreamSpec) -> RunService:
        """Where that person plans bounded runs, asks for them and follows them."""
        return RunService(
            self.desk(spec), storage=storage_for(spec.checkpoint, access=spec.file_access), clock=self.clock
        )

    def backfill_desk(self, spec: StreamSpec) -> BackfillService:
        """Where that person plans backfills of a stream. SettingsError where its cluster can't be asked at all, StorageError
        where its place is not mounted.
        """
        self.refuse_unmounted(spec)
        return BackfillService(
            spec,
            storage=storage_for(spec.checkpoint, access=spec.file_access),
            clock=self.clock,
            author=this_person(),
            broker=self.wiring.broker_of(spec) if spec.reads_kafka else None,
            others=places_of(self.settings().streams),
        )

    def backfills(self, spec: StreamSpec) -> tuple[BackfillStatus, ...]:
        """Where each backfill of a stream stands. StorageError where nobody can tell which there are."""
        settings = self.settings()
        doors = BackfillPorts(
            storage_for=settings.storage_for, launcher=self.wiring.launcher, state_root=settings.state_root
        )
        found, now = read_backfills(spec.name, spec.checkpoint, doors), self.clock.now()
        return tuple(standing_of(facts, now=now) for facts in found)

    def verdict_ports(self) -> VerdictPorts:
        """Where the newest verdicts on streams come from."""
        settings = self.settings()
        return VerdictPorts(
            state_root=settings.state_root,
            storage_for=settings.storage_for,
            access_for=lambda spec: access_of(spec.kafka.bootstrap_servers, spec.kafka.options),
            broker_for=lambda access: self.wiring.broker(access, self.clock),
            clock=self.clock,
            checkpoint_health=settings.checkpoint_health,
            retention_coverage=settings.retention_coverage,
        )

    def refuse_unmounted(self, spec: StreamSpec) -> None:
        """StorageError where something is to be written beside a checkpoint, and its volume or the state root is not there."""
        state_root, log = self.settings().state_root, self.log_reader(spec)
        refuse_unmounted(spec, load_state(log.storage, log.control), storage=log.storage, state_root=state_root)

    def log_reader(self, spec: StreamSpec) -> LogReader:
        """The control log of a stream, to read."""
        return LogReader.of_checkpoint(storage_for(spec.checkpoint, access=spec.file_access), spec.checkpoint)
