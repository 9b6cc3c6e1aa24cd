"""A reconciler beside a simulated world."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from streamops.control.attendance import UNATTENDED_AFTER, AttendanceStore
from streamops.control.codec import encode_record
from streamops.control.layout import record_address
from streamops.control.records import Author, Body
from streamops.reconcile import DeclaredStreams, FindingKind, ReconcilePorts, Reconciler, Report
from streamops.reconcile.facts import StreamTask
from support.launcher import FakeDriver
from support.records import a_record
from support.specs import seconds
from support.world import HostLauncher, World

AUTHOR = Author(actor="airflow:streamops_reconcile", host="host-1", pid=12)
TRIGGER = Author(actor="airflow:trigger", host="host-1", pid=13)
DAG = StreamTask(dag="stream__orders")
LONG = UNATTENDED_AFTER + seconds(1)


@dataclass
class Airflow:
    """What Airflow says about every stream, and what it was asked."""

    task: StreamTask | None = None
    asked: list[tuple[str, bool]] = field(default_factory=list)

    def task_of(self, stream: str, *, in_detail: bool) -> StreamTask | None:
        self.asked.append((stream, in_detail))
        return self.task


class Place:
    """A world with a reconciler beside it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.storage = world.storage
        self.launcher = HostLauncher(world, "host-1", lambda _: None)
        self.airflow: Airflow | None = Airflow()
        """None where the reconciler runs outside Airflow."""
        self.author = AUTHOR
        self.supervise_from = "host-1"
        """Where a supervisor is, if the reconciler asks one."""
        self.specs = (world.spec,)
        self.wrong: tuple[tuple[str, str], ...] = ()
        self.changed_at: datetime | None = None
        """When the settings were written last."""
        self.patience = seconds(5)

    def reconcile(self, *, act: bool = False) -> Report:
        doors = ReconcilePorts(
            storage_for=lambda address: self.storage,
            launcher=self.launcher,
            clock=self.world.clock,
            supervisor_of=lambda spec: self.world.supervisor(spec=spec, host=self.supervise_from),
            orchestrator=self.airflow,
            patience=self.patience,
        )
        declared = DeclaredStreams(
            state_root=self.world.state_root, specs=self.specs, wrong=self.wrong, changed_at=self.changed_at
        )
        return Reconciler(declared=declared, doors=doors, author=self.author).run(act=act)

    def kinds(self, *, act: bool = False) -> list[FindingKind]:
        return [finding.kind for finding in self.reconcile(act=act).findings]

    def the_finding(self, *, act: bool = False):
        (finding,) = self.reconcile(act=act).findings
        return finding

    def sign(self, by: Author = TRIGGER) -> None:
        """A supervisor looks after the stream now."""
        book = AttendanceStore(self.storage, self.world.state_root, stream="orders", author=by, clock=self.world.clock)
        book.sign()

    def leave_alone(self) -> None:
        """Everybody but the drivers goes away for long enough to be missed."""
        self.world.run(LONG)

    @property
    def record_kinds(self) -> list[str]:
        return [record.body.kind for record in self.world.records]


def orphan(place: Place) -> FakeDriver:
    """A driver of epoch 1 that neither lease nor watchdog ended, although epoch 2 was claimed long ago."""
    told = place.world.driver.process
    place.world.kill(place.world.driver)
    append(place, replace(place.world.records[0].body, epoch=2, token="second"))
    return place.world.processes.add(told.token, request=told.request)


def append(place: Place, body: Body) -> None:
    number = place.world.state.next_number
    content = encode_record(a_record(body, number, at=place.world.clock.now()))
    place.storage.write(record_address(place.world.control, number), content)


def lost(place: Place, task: StreamTask | None) -> None:
    """Supervised from Airflow, then by nobody, and then its driver dies."""
    place.airflow.task = task
    place.world.run(seconds(60))
    place.sign()
    place.leave_alone()
    place.world.kill(place.world.driver)
