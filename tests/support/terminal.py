"""A terminal in a project: real settings, a real control log, and a launcher without processes."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from streamops.cli.main import main
from streamops.cli.wiring import Wiring
from streamops.control import codec
from streamops.control.drivers import DriverPhase, ExitRecord, Heartbeat, QueryBeat, QueryStep
from streamops.control.layout import EXIT, HEARTBEAT, control_folder, driver_folder
from streamops.control.log import LogReader
from streamops.control.records import Outcome, Record
from streamops.control.snapshot import load_state
from streamops.control.state import Epoch, LogState
from streamops.launch.outsiders import Outsider
from streamops.operations.requests import Requests
from streamops.settings import load_settings
from streamops.spec import StreamSpec
from streamops.storage import join
from streamops.storage.local import LocalStorage
from streamops.supervision.decision import Decision
from streamops.supervision.supervisor import Supervisor
from support.brokers import FakeBroker
from support.checkpoints import write_checkpoint
from support.clock import FakeClock
from support.launcher import FakeDriver, FakeLauncher
from support.settings import Project, a_declared_stream
from support.specs import PERSON


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command line gave back."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


NO_JITTER = {"restart": {"jitter": 0}}
"""Waits to the second."""


class Terminal:
    """Runs command lines, and plays the drivers and the supervisor behind them."""

    def __init__(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self.launcher = FakeLauncher()
        self.clock = FakeClock()
        self.storage = LocalStorage()
        self.broker = FakeBroker(self.clock, trouble="no broker is there")
        self.wiring = Wiring(
            launcher=self.launcher,
            clock=self.clock,
            broker=lambda access, clock: self.broker,
            patience=timedelta(seconds=5),
            find_outsiders=lambda path: self.outsiders,
        )
        self.outsiders: tuple[Outsider, ...] = ()
        self._capsys = capsys

    def run(self, *argv: str) -> Answer:
        code = main(["--config", str(self.project.file), *argv], wiring=self.wiring)
        shown = self._capsys.readouterr()
        return Answer(code, shown.out, shown.err)

    def declare(self, *names: str, **changes: Any) -> None:
        """The settings file declares these streams and no others."""
        self.project.load(streams={name: a_declared_stream(name, **changes) for name in names}, defaults=NO_JITTER)

    def spec(self, stream: str = "orders") -> StreamSpec:
        return load_settings(self.project.file).stream(stream)

    def supervisor(self, stream: str = "orders") -> Supervisor:
        state_root = self.project.address("data/state")
        return self.wiring.supervisor(self.spec(stream), state_root=state_root, actor="supervise", kind=Supervisor)

    def settle(self, stream: str = "orders") -> Decision:
        return self.supervisor(stream).settle()

    def started(self, stream: str = "orders", **beat: Any) -> FakeDriver:
        """The stream, claimed, submitted and beating."""
        self.settle(stream)
        self.beat(stream, **beat)
        return self.launcher.drivers[-1]

    def beat(self, stream: str = "orders", *, sequence: int = 1, batch: int = 7, **changes: Any) -> None:
        """The newest epoch's driver beats."""
        epoch = self.newest(stream)
        heartbeat = Heartbeat(
            epoch=epoch.number,
            instance="0a0a0a0a",
            token=epoch.claim.token,
            sequence=sequence,
            phase=DriverPhase.RUNNING,
            at=self.clock.now().isoformat(),
            host="host-1",
            pid=9,
            batch=batch,
        )
        self._leave(stream, HEARTBEAT, replace(heartbeat, **changes))

    def fail(self, stream: str = "orders", *, text: str = "boom") -> None:
        """The newest epoch's driver leaves an exit record with an error and ends."""
        self._end(stream, Outcome.FAILED, text)

    def obey(self, stream: str = "orders") -> None:
        """The newest epoch's driver stops between two batches, as it was asked."""
        self._end(stream, Outcome.STOPPED, "")

    def finish(self, stream: str = "orders", *, committed: int, rows: int = 0) -> None:
        """The newest epoch's query has read all that there was, up to this batch, and ends by itself."""
        self.write_batches(stream, committed=committed)
        self.beat_with(stream, rows=rows, batch=committed)
        self._end(stream, Outcome.FINISHED, "")

    def beat_with(self, stream: str = "orders", *, rows: int, batch: int) -> None:
        """The newest epoch's driver beats and tells of its query."""
        query = QueryBeat(
            query_id="q",
            name=stream,
            step=QueryStep.BATCH,
            step_seconds=1.0,
            progress_seconds=1.0,
            batch=batch,
            input_rows=rows,
        )
        self.beat(stream, batch=batch, queries=(query,))

    def requests(self, stream: str = "orders") -> Requests:
        """Somebody else, who asks for something."""
        return Requests(self.spec(stream), storage=self.storage, clock=self.clock, author=PERSON)

    def write_batches(self, stream: str = "orders", *, committed: int, planned: int | None = None) -> None:
        """The query's batches up to these are in the checkpoint."""
        address, last = self.spec(stream).checkpoint, committed if planned is None else planned
        write_checkpoint(self.storage, address, planned=range(last + 1), committed=range(committed + 1))

    def make_sound(self, stream: str = "orders", *, batch: int = 41) -> None:
        """The stream has a checkpoint in which nothing is wrong, and Kafka has all that it has yet to read."""
        self.write_batches(stream, committed=batch)
        self.broker.has("orders", (0, 23 + batch), (0, 40))

    def _end(self, stream: str, outcome: Outcome, text: str) -> None:
        epoch = self.newest(stream)
        at = self.clock.now().isoformat()
        record = ExitRecord(epoch=epoch.number, instance="0a0a0a0a", outcome=outcome, at=at, text=text)
        self._leave(stream, EXIT, record)
        self.launcher.end(self.launcher.drivers[-1])

    def records(self, stream: str = "orders") -> tuple[Record, ...]:
        return LogReader.of_checkpoint(self.storage, self.spec(stream).checkpoint).read()

    def kinds(self, stream: str = "orders") -> list[str]:
        return [record.body.kind for record in self.records(stream)]

    def state(self, stream: str = "orders") -> LogState:
        return load_state(self.storage, control_folder(self.spec(stream).checkpoint))

    def newest(self, stream: str = "orders") -> Epoch:
        newest = self.state(stream).newest
        assert newest is not None
        return newest

    def _leave(self, stream: str, name: str, value: object) -> None:
        folder = driver_folder(control_folder(self.spec(stream).checkpoint), self.newest(stream).number, "0a0a0a0a")
        self.storage.write(join(folder, name), codec.encode(value))
