"""Runs of a scheduled stream under a real Airflow, each struck once at a random moment, while orders go on coming.

A run may fail for it: what counts is that the next one goes on, that all of them together read every order once, and that there
are never two drivers. The live stream of the settings stands still meanwhile.
"""

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from rich.console import Console

from streamops.spec.wire import catchup_dag_id
from streamops_sandbox.airflow import Component
from streamops_sandbox.chaos.book import Account, Book
from streamops_sandbox.chaos.fleet import PATIENT
from streamops_sandbox.chaos.kept import drawn_seed, run_kept
from streamops_sandbox.chaos.leftovers import end_leftovers
from streamops_sandbox.demo_runs import LIMIT, SCHEDULED, RunsOfAirflow
from streamops_sandbox.drivers import DoubleWriterWatch, kill, kill_drivers_below, live_drivers, process_titled
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.sandboxed_stream import STREAM, SandboxedStream
from streamops_sandbox.timeline import now
from streamops_sandbox.waiting import SilentNarrator, StderrNarrator

SECTION = "scheduled"
FOLDER = "chaos-runs"
ORDERS = 1500
"""Sent during each run."""
RATE = 100.0
LATEST_BLOW = 30.0
"""Seconds after the begin of a run: by then it has read and its driver is ending, or gone."""
_LOOK_SECONDS = 0.2


class RunVictim(StrEnum):
    """Whom a run loses."""

    NOBODY = "nobody"
    DRIVER = "driver"
    TASK = "task"
    TRIGGERER = "triggerer"


@dataclass(frozen=True, slots=True, kw_only=True)
class StruckRun:
    """One run and what became of it."""

    victim: RunVictim
    after: float
    """Seconds from its begin to the blow."""
    hit: bool
    """Whether the victim was there."""
    state: str
    seconds: float


@dataclass(slots=True, kw_only=True)
class ScheduledResult:
    """What `chaos.json` holds of one such experiment."""

    started_at: str
    seed: int
    runs: list[StruckRun] = field(default_factory=list)
    account: Account | None = None
    double_writers: int = 0
    looks: int = 0
    seconds: float = 0.0
    error: str = "not ended"

    @property
    def is_good(self) -> bool:
        """Nothing lost, nothing twice, never two drivers, told to its end."""
        account = self.account
        return (
            not self.error and not self.double_writers and account is not None and not account.lost + account.duplicated
        )


class ScheduledChaos:
    """The experiment, in a sandbox of its own."""

    def __init__(self, project: Path, console: Console) -> None:
        layout = SandboxLayout(project=project, root=SandboxLayout.of_project(project).root / FOLDER)
        self._sandbox = Sandbox(layout, narrator=StderrNarrator(), inherited={**os.environ, **PATIENT})
        self._console = console

    def go(self, result: ScheduledResult, *, cycles: int, save: Callable[[], None]) -> None:
        """Strike run after run, then let one run in peace and take the account. StreamOpsError."""
        rng = random.Random(result.seed)
        end_leftovers(self._sandbox)
        self._sandbox.reset()
        try:
            self._sandbox.up(with_airflow=False)
            self._stream(STREAM).requests.stop("chaos of scheduled runs")
            self._sandbox.up()
            stream = self._stream(SCHEDULED)
            runs = RunsOfAirflow(self._sandbox, stream)
            with DoubleWriterWatch(stream.timeline.control) as watch:
                for _ in range(cycles):
                    result.runs.append(self._struck(rng, stream, runs))
                    result.double_writers, result.looks = len(watch.pairs), watch.samples
                    save()
                result.account = self._account(stream, runs)
                result.double_writers, result.looks = len(watch.pairs), watch.samples
        finally:
            kill_drivers_below(f"file://{self._sandbox.layout.root}")
            self._sandbox.down()

    def _stream(self, name: str) -> SandboxedStream:
        return SandboxedStream(self._sandbox, narrator=SilentNarrator(), actor=FOLDER, name=name)

    def _struck(self, rng: random.Random, stream: SandboxedStream, runs: "RunsOfAirflow") -> StruckRun:
        victim, after = rng.choice(list(RunVictim)), rng.uniform(0.0, LATEST_BLOW)
        self._sandbox.start_orders(rate=RATE, count=ORDERS)
        dag, begun = catchup_dag_id(SCHEDULED), time.monotonic()
        run = runs.begin(dag, {})
        time.sleep(after)
        hit = self._strike(victim, stream, runs, dag, run)
        state = runs.end(dag, run)
        found = StruckRun(
            victim=victim, after=round(after, 1), hit=hit, state=state, seconds=round(time.monotonic() - begun, 1)
        )
        self._console.print(f"run {run}: {found}", highlight=False, markup=False, soft_wrap=True)
        return found

    def _strike(self, victim: RunVictim, stream: SandboxedStream, runs: "RunsOfAirflow", dag: str, run: str) -> bool:
        match victim:
            case RunVictim.NOBODY:
                return True
            case RunVictim.DRIVER:
                return any(kill(driver.leader) for driver in live_drivers(stream.timeline.control))
            case RunVictim.TASK:
                return self._kill_task(runs, dag, run)
            case RunVictim.TRIGGERER:
                hit = self._sandbox.airflow.kill(Component.TRIGGERER)
                self._sandbox.airflow.start(Component.TRIGGERER)
                return hit

    def _kill_task(self, runs: "RunsOfAirflow", dag: str, run: str) -> bool:
        """A deferred task has no process: it is waited for as long as its run lives."""
        while runs.state(dag, run) not in runs.OVER:
            pid = next((pid for title in runs.titles(dag, run) if (pid := process_titled(title))), None)
            if pid and kill(pid):
                return True
            time.sleep(_LOOK_SECONDS)
        return False

    def _account(self, stream: SandboxedStream, runs: "RunsOfAirflow") -> Account:
        orders = stream.stop_orders()
        dag = catchup_dag_id(SCHEDULED)
        last = runs.begin(dag, {})
        stream.wait(lambda: "" if runs.state(dag, last) in runs.OVER else "the last run", what=dag, limit=LIMIT)
        timeline = stream.timeline
        return Account.of(
            SCHEDULED,
            stream.ledger(orders),
            epochs=timeline.epochs(),
            epochs_with_batches=timeline.epochs_with_batches(),
        )


def run_scheduled(result: ScheduledResult, project: Path, book: Book, console: Console, *, cycles: int) -> None:
    """The experiment from begin to end, kept in the book as it goes."""
    chaos = ScheduledChaos(project, console)
    run_kept(SECTION, result, lambda save: chaos.go(result, cycles=cycles, save=save), book=book, console=console)


def begun_now(seed: int | None) -> ScheduledResult:
    """A result that begins now."""
    return ScheduledResult(started_at=now().isoformat(timespec="seconds"), seed=drawn_seed(seed))
