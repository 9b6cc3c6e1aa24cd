"""A few streams with checkpoints and control logs in memory, and rounds of health checks over them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from streamops.control.layout import control_folder, log_folder
from streamops.control.log import LogReader
from streamops.control.records import Position, VerdictChanged
from streamops.fleet.health_history import HealthHistory
from streamops.fleet.health_round import RoundPace, RoundPorts, RoundReport, run_round
from streamops.fleet.verdict_change import VerdictChange
from streamops.spec import StreamSpec
from streamops.storage import Storage, join
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Verdict
from support.base_checkpoint import BASE_ID, INPUT, SOURCE, files
from support.clock import FakeClock
from support.records import a_claim, a_log, a_submit, write_log
from support.specs import SUPERVISOR, a_stream
from support.state_root import init

STATE_ROOT = "file:///data/state"
EVERY = timedelta(minutes=5)


class Fleet:
    """Streams that have been started and run well, until a test says otherwise."""

    def __init__(self, *names: str, storage: Storage | None = None, root: str = "file:///data") -> None:
        self.storage: Storage = storage or MemoryStorage()
        self.state_root = f"{root}/state"
        init(self.storage, self.state_root)
        self.clock = FakeClock()
        self.input = f"{root}/input"
        source = replace(SOURCE, path=self.input)
        self.specs = [a_stream(name, checkpoint=f"{root}/checkpoints/{name}", source=source) for name in names]
        self.told: list[VerdictChange] = []
        self.on_change: Callable[[VerdictChange], object] = self.told.append
        self.storage.write(join(self.input, "_SUCCESS"), b"")
        for spec in self.specs:
            self.heal(spec.name)
            self.write_log(spec.name)

    def spec(self, name: str) -> StreamSpec:
        return next(spec for spec in self.specs if spec.name == name)

    def heal(self, name: str) -> None:
        """Its checkpoint is whole."""
        for file, content in files().items():
            here = content.replace(INPUT.encode(), self.input.encode())
            self.storage.write(join(self.spec(name).checkpoint, file), here)

    def write_log(self, name: str, *, commit: int = -1) -> None:
        """Its control log says that it was started, with the checkpoint at this commit."""
        position = Position(query_id=BASE_ID if commit >= 0 else "", offset=commit, commit=commit)
        records = a_log(a_claim(1, stream=name, position=position), a_submit(1))
        write_log(self.storage, control_folder(self.spec(name).checkpoint), records)

    def lose_log(self, name: str) -> None:
        """There is nothing of its control log."""
        folder = log_folder(control_folder(self.spec(name).checkpoint))
        for record in self.storage.list(folder):
            self.storage.delete(join(folder, record))

    def vanish(self, name: str) -> None:
        """There is nothing of its checkpoint."""
        for file in files():
            self.storage.delete(join(self.spec(name).checkpoint, file))

    def damage(self, name: str) -> None:
        """Its last commit is empty: no start can succeed."""
        self.storage.write(join(self.spec(name).checkpoint, "commits", "4"), b"")

    def round(
        self, *, through: Callable[[Storage], Storage] = lambda storage: storage, pace: RoundPace | None = None
    ) -> RoundReport:
        """One round; `through` is what lies between it and the files."""
        storage = through(self.storage)
        doors = RoundPorts(
            storage_for=lambda address: storage, clock=self.clock, author=SUPERVISOR, on_change=self.on_change
        )
        return run_round(self.specs, state_root=self.state_root, doors=doors, pace=pace or RoundPace.within(EVERY))

    def rounds(self, count: int) -> list[RoundReport]:
        """One after the other, each with time before it."""
        reports = []
        for _ in range(count):
            self.clock.advance(EVERY)
            reports.append(self.round())
        return reports

    def history(self, name: str) -> HealthHistory:
        return HealthHistory(self.storage, self.state_root, name)

    def kept(self, name: str) -> list[str]:
        """The verdicts of its looks, as they were kept."""
        return [str(entry.sample.verdict) for entry in self.history(name).past(self.clock.now()).entries]

    def recorded(self, name: str) -> list[tuple[str, str]]:
        """The changes in its control log: before and after."""
        records = LogReader(self.storage, control_folder(self.spec(name).checkpoint)).read()
        bodies = [record.body for record in records]
        return [(body.before, body.after) for body in bodies if isinstance(body, VerdictChanged)]


def verdicts(report: RoundReport) -> dict[str, Verdict]:
    """What a round found, by stream."""
    return {look.spec.name: look.verdict for look in report.looks}


def hurried(pace: RoundPace, *, limit: timedelta) -> RoundPace:
    """With such a limit for each look, keeping and telling, so that what hangs is given up soon."""
    return replace(
        pace,
        looking=replace(pace.looking, limit=limit),
        keeping=replace(pace.keeping, limit=limit),
        telling=replace(pace.telling, limit=limit),
    )
