"""Bounded runs without Airflow, forced against the live query and struck at random moments, while orders go on coming.

Two streams read the same topic under one `streamops supervise`: a live one, in whose place `streamops catchup` runs, and a
scheduled one. In each round both are asked for a run, and one blow falls. What counts: never two drivers of a stream, each run
comes to its end, the live query comes back, and in the end both tables hold every order once.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from rich.console import Console

from streamops.backfill.report import RunReport, report_run
from streamops.control.log import LogReader
from streamops.control.records import MaintenanceBegun, Record
from streamops.storage.local import LocalStorage
from streamops_sandbox.chaos.book import Account, Book
from streamops_sandbox.chaos.fleet import PATIENT
from streamops_sandbox.chaos.kept import drawn_seed, run_kept
from streamops_sandbox.chaos.leftovers import end_leftovers
from streamops_sandbox.demo_runs import SCHEDULED
from streamops_sandbox.drivers import DoubleWriterWatch, kill, kill_drivers_below, live_drivers
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.sandbox import SUPERVISOR_DAEMON, Sandbox
from streamops_sandbox.sandboxed_stream import STREAM, SandboxedStream
from streamops_sandbox.timeline import now
from streamops_sandbox.waiting import SilentNarrator, StderrNarrator

SECTION = "bounded"
FOLDER = "chaos-bounded"
RATE = 40.0
LATEST_BLOW = 40.0
"""Seconds after the request: by then the live query has yielded, and the run is ending or over."""
LIMIT = timedelta(minutes=6)


class Blow(StrEnum):
    """What happens during a round; the words stay, they are in `chaos.json`."""

    NONE = "none"
    DRIVER_KILL = "driver-kill"
    """SIGKILL for the driver that lives at that moment: the live query, or the run."""
    SUPERVISOR_KILL = "supervisor-kill"
    """SIGKILL for `streamops supervise`, started again at once."""
    RESTART = "restart"
    """A person asks for a restart in the middle of it."""
    SECOND_RUN = "second-run"
    """Two more requests for a run at once, of which none may begin a second one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRound:
    """One round of one stream."""

    stream: str
    blow: Blow
    after: float
    """Seconds from the request to the blow."""
    hit: bool
    """Whether there was something to strike, or somebody to refuse."""
    outcome: str
    drivers: int
    """That the run took."""
    seconds: float | None


@dataclass(slots=True, kw_only=True)
class BoundedResult:
    """What `chaos.json` holds of one such experiment."""

    started_at: str
    seed: int
    rounds: list[BoundedRound] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)
    double_writers: int = 0
    looks: int = 0
    seconds: float = 0.0
    error: str = "not ended"

    @property
    def is_good(self) -> bool:
        """Nothing lost, nothing twice, never two drivers, every run read all that there was."""
        wrong = self.double_writers + sum(account.lost + account.duplicated for account in self.accounts)
        finished = all(found.outcome == "finished" for found in self.rounds)
        return not (wrong or self.error) and finished and len(self.accounts) == 2


class BoundedChaos:
    """The experiment, in a sandbox of its own."""

    def __init__(self, project: Path, console: Console) -> None:
        layout = SandboxLayout(project=project, root=SandboxLayout.of_project(project).root / FOLDER)
        self._sandbox = Sandbox(layout, narrator=StderrNarrator(), inherited={**os.environ, **PATIENT})
        self._console = console
        self._streams: tuple[SandboxedStream, ...] = ()

    def go(self, result: BoundedResult, *, cycles: int, save: Callable[[], None]) -> None:
        """Round after round, then the account. StreamOpsError when what must happen does not happen in time."""
        chance = random.Random(result.seed)
        end_leftovers(self._sandbox)
        self._sandbox.reset()
        try:
            self._sandbox.up(with_airflow=False)
            self._streams = tuple(self._stream(name) for name in (STREAM, SCHEDULED))
            self._sandbox.start_orders(rate=RATE)
            self._sandbox.start_supervisor()
            self._streams[0].wait_committed(0, what="a batch of the live query", limit=LIMIT)
            with DoubleWriterWatch(*(stream.timeline.control for stream in self._streams)) as watch:
                for blow in drawn(chance, cycles):
                    result.rounds += self._round(blow, chance.uniform(0.0, LATEST_BLOW))
                    result.double_writers, result.looks = len(watch.pairs), watch.samples
                    save()
                result.accounts = self._accounts()
                result.double_writers, result.looks = len(watch.pairs), watch.samples
        finally:
            self._take_down()

    def _take_down(self) -> None:
        self._sandbox.daemons.stop(SUPERVISOR_DAEMON, grace=timedelta(0))
        kill_drivers_below(f"file://{self._sandbox.layout.root}")
        self._sandbox.down()

    def _stream(self, name: str) -> SandboxedStream:
        return SandboxedStream(self._sandbox, narrator=SilentNarrator(), actor=FOLDER, name=name)

    def _round(self, blow: Blow, after: float) -> list[BoundedRound]:
        asked = [self._begin(stream) for stream in self._streams]
        time.sleep(after)
        hits = self._strike(blow)
        rounds = []
        for stream, number, hit in zip(self._streams, asked, hits, strict=True):
            report = self._end(stream, number)
            rounds.append(
                BoundedRound(
                    stream=stream.spec.name,
                    blow=blow,
                    after=round(after, 1),
                    hit=hit,
                    outcome=str(report.outcome),
                    drivers=len(report.epochs),
                    seconds=report.seconds,
                )
            )
            self._console.print(f"{rounds[-1]}", highlight=False, markup=False, soft_wrap=True)
        return rounds

    def _begin(self, stream: SandboxedStream) -> int:
        """Ask for a run at the terminal; the number of its record."""
        answer = self._ask("catchup", stream)
        if answer.returncode:
            raise SandboxError(f"catchup {stream.spec.name}: {answer.stderr[-500:]}")
        return self._asked(stream)[-1].number

    def _ask(self, command: str, stream: SandboxedStream) -> "subprocess.CompletedProcess[str]":
        arguments = ("--reason", "chaos", "--yes", "--no-wait")
        return subprocess.run(
            [sys.executable, "-m", "streamops.cli.main", command, stream.spec.name, *arguments],
            env={**os.environ, **PATIENT, **self._sandbox.environment()},
            cwd=self._sandbox.layout.project,
            capture_output=True,
            text=True,
        )

    def _asked(self, stream: SandboxedStream) -> list[Record]:
        return [found for found in self._records(stream) if isinstance(found.body, MaintenanceBegun)]

    def _records(self, stream: SandboxedStream) -> tuple[Record, ...]:
        return LogReader(LocalStorage(), stream.timeline.control).read()

    def _strike(self, blow: Blow) -> list[bool]:
        """Strike both streams; whether there was something to strike."""
        match blow:
            case Blow.NONE:
                return [True for _ in self._streams]
            case Blow.DRIVER_KILL:
                return [_kill_driver(stream) for stream in self._streams]
            case Blow.SUPERVISOR_KILL:
                hit = self._kill_supervisor()
                return [hit for _ in self._streams]
            case Blow.RESTART:
                return [self._ask("restart", stream).returncode == 0 for stream in self._streams]
            case Blow.SECOND_RUN:
                return [self._ask_twice_more(stream) for stream in self._streams]

    def _kill_supervisor(self) -> bool:
        record = self._sandbox.daemons.running(SUPERVISOR_DAEMON)
        hit = record is not None and kill(record.pid)
        self._sandbox.daemons.stop(SUPERVISOR_DAEMON, grace=timedelta(0))
        self._sandbox.start_supervisor()
        return hit

    def _ask_twice_more(self, stream: SandboxedStream) -> bool:
        """Whether somebody was refused; where the run is over by then, another one is no fault, and is waited for."""
        answers = [self._ask("catchup", stream) for _ in range(2)]
        return any("is under way" in answer.stderr for answer in answers)

    def _end(self, stream: SandboxedStream, number: int) -> RunReport:
        """Wait until the run is over and what is declared goes on: the live query, or nothing."""
        stream.wait(lambda: self._missing(stream), what=f"{stream.spec.name}: end of the run", limit=LIMIT)
        records = tuple(record for record in self._records(stream) if record.number >= number)
        return report_run(records, rows_of={})

    def _missing(self, stream: SandboxedStream) -> str:
        state = stream.timeline.state()
        if state.parked:
            raise SandboxError(f"{stream.spec.name} is parked: {state.parked.reason}")
        if state.maintenance or state.replacement:
            return "the end of the run"
        if stream.spec.schedule:
            return "nothing that runs" if state.open_epochs else ""
        return "" if stream.timeline.newest_submitted() else "the live query"

    def _accounts(self) -> list[Account]:
        live, scheduled = self._streams
        sent = live.stop_orders()
        ledgers = [live.drain(sent)]
        if scheduled.rows() < sent.sent + sent.malformed:
            self._end(scheduled, self._begin(scheduled))
        ledgers.append(scheduled.ledger(sent))
        return [
            Account.of(
                stream.spec.name,
                ledger,
                epochs=stream.timeline.epochs(),
                epochs_with_batches=stream.timeline.epochs_with_batches(),
            )
            for stream, ledger in zip(self._streams, ledgers, strict=True)
        ]


def drawn(chance: random.Random, cycles: int) -> list[Blow]:
    """So many blows by chance, each kind as often as any other, give or take one."""
    kinds = list(Blow)
    blows: list[Blow] = []
    while len(blows) < cycles:
        blows += chance.sample(kinds, len(kinds))
    return blows[:cycles]


def _kill_driver(stream: SandboxedStream) -> bool:
    return any([kill(driver.leader) for driver in live_drivers(stream.timeline.control)])


def run_bounded(result: BoundedResult, project: Path, book: Book, console: Console, *, cycles: int) -> None:
    """The experiment from begin to end, kept in the book as it goes."""
    chaos = BoundedChaos(project, console)
    run_kept(SECTION, result, lambda save: chaos.go(result, cycles=cycles, save=save), book=book, console=console)


def bounded_now(seed: int | None) -> BoundedResult:
    """A result that begins now."""
    return BoundedResult(started_at=now().isoformat(timespec="seconds"), seed=drawn_seed(seed))
