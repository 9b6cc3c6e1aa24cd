"""`make demo`: a supervised stream whose driver, task, triggerer and scheduler are killed, and the account afterwards.

What it shows, in order:

1. Airflow starts the stream; batches are committed.
2. The driver is killed (SIGKILL): what it has not read, and until when that is there, is told from its checkpoint. It is
   noticed, resubmitted, and goes on from the same checkpoint.
3. The Airflow task process is killed: the stream does not notice.
4. Triggerer and scheduler are killed and started again: the stream does not notice.
5. Every order sent is in the table exactly once.
6. The DAG of a scheduled stream runs the same job until it has read all that there is, and ends.
7. The form of backfills reads a range of the topic once more, to a table of its own: exactly that range.
"""

import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta

from rich.console import Console

from streamops.errors import StreamOpsError
from streamops.retention.lag import lag_lines
from streamops_sandbox.airflow import Component
from streamops_sandbox.demo_runs import DemoRuns, RunOfDag
from streamops_sandbox.drivers import DoubleWriterWatch, kill, live_drivers
from streamops_sandbox.orders import OrdersState
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.sandboxed_stream import STREAM, SandboxedStream
from streamops_sandbox.state import ADMIN
from streamops_sandbox.supervising_task import SupervisingTask
from streamops_sandbox.timeline import Reaction, now
from streamops_sandbox.waiting import StderrNarrator

RESULT = "demo.json"
RATE = 200.0
"""Orders a second."""
BATCHES_FIRST = 3
BATCHES_WITHOUT_AIRFLOW = 2
TASK_LIMIT = timedelta(minutes=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What `.sandbox/demo.json` holds."""

    sent: int
    delivered: int
    lost: int
    duplicated: int
    malformed: int
    dead_letters: int
    epochs: int
    noticed_s: float
    resubmitted_s: float
    first_batch_s: float
    worker_kill_stopped_stream: bool
    double_writers: int
    scheduled: RunOfDag
    backfill: RunOfDag

    @property
    def is_good(self) -> bool:
        """Nothing lost, nothing twice, never two writers, and no part of Airflow took the stream with it."""
        wrong = (self.lost, self.duplicated, self.double_writers, self.malformed - self.dead_letters)
        if any(wrong) or self.worker_kill_stopped_stream:
            return False
        return self.scheduled.is_exact and self.backfill.is_exact


class Demo:
    """One run of the story."""

    def __init__(self, sandbox: Sandbox, stream: SandboxedStream, console: Console) -> None:
        self._sandbox = sandbox
        self._stream = stream
        self._console = console
        self._begin = time.monotonic()
        self._epochs_before = stream.timeline.epochs()

    def run(self) -> DemoResult:
        with DoubleWriterWatch(self._stream.timeline.control) as watch:
            self._first_batches()
            reaction, first_batch = self._kill_driver()
            before = self._living_drivers()
            self._kill_task()
            self._kill_triggerer_and_scheduler()
            survived = self._living_drivers() == before
            state = self._stop_orders()
            ledger = self._stream.drain(state)
        runs = DemoRuns(self._sandbox, self._stream, tell=self._tell)
        return DemoResult(
            **asdict(ledger),
            epochs=self._stream.timeline.epochs() - self._epochs_before,
            noticed_s=round(reaction.noticed, 1),
            resubmitted_s=round(reaction.resubmitted, 1),
            first_batch_s=round(first_batch, 1),
            worker_kill_stopped_stream=not survived,
            double_writers=len(watch.pairs),
            scheduled=runs.scheduled(state),
            backfill=runs.backfill(),
        )

    def _first_batches(self) -> None:
        self._sandbox.start_orders(rate=RATE)
        self._tell(f"{RATE:.0f} orders a second go into topic orders; Airflow starts the stream")
        committed = self._stream.timeline.committed()
        self._stream.wait_committed(committed + BATCHES_FIRST, what="first batches")
        self._tell(
            f"epoch {self._stream.timeline.epochs()} runs, batch {self._stream.timeline.committed()} is committed"
        )

    def _kill_driver(self) -> tuple[Reaction, float]:
        timeline = self._stream.timeline
        killed_at, begin = now(), time.monotonic()
        epoch = self._stream.kill_leader()
        committed = timeline.committed()
        self._tell(
            f"kill -9 of the driver of epoch {epoch}, after batch {committed}; what streamops lag says of the dead one:"
        )
        self._show(lag_lines(self._stream.lag()))
        reaction = self._stream.wait_for_reaction(epoch, killed_at, limit=timedelta(minutes=3))
        self._stream.wait_committed(committed + 1, what="first new batch")
        first_batch = time.monotonic() - begin
        self._tell(f"epoch {timeline.epochs()} goes on from the same checkpoint")
        return reaction, first_batch

    def _kill_task(self) -> None:
        """A deferred task has no process, so the task is cleared: the next try's process is the one to kill."""
        task = SupervisingTask(self._sandbox.api(), STREAM)
        self._stream.wait(task.missing_to_deferral, what="task", limit=TASK_LIMIT)
        committed = self._stream.timeline.committed()
        task.clear()
        pid = task.await_process()
        kill(pid)
        self._tell(f"the task was cleared, kill -9 of its new process {pid}")
        self._stream.wait_committed(committed + 1, what="a batch without the task")
        self._stream.wait(task.missing_to_deferral, what="task", limit=TASK_LIMIT)
        self._tell("Airflow has tried again and attached to the same driver")

    def _kill_triggerer_and_scheduler(self) -> None:
        airflow = self._sandbox.airflow
        committed = self._stream.timeline.committed()
        airflow.kill(Component.TRIGGERER)
        airflow.kill(Component.SCHEDULER)
        self._tell("kill -9 of triggerer and scheduler")
        self._stream.wait_committed(committed + BATCHES_WITHOUT_AIRFLOW, what="batches without Airflow")
        self._tell(f"{BATCHES_WITHOUT_AIRFLOW} more batches were committed meanwhile")
        airflow.start()
        self._tell("triggerer and scheduler are back")

    def _show(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._console.print(f"          {line}", highlight=False, markup=False, soft_wrap=True)

    def _stop_orders(self) -> OrdersState:
        state = self._stream.stop_orders()
        self._tell(f"generator stopped after {state.sent} orders and {state.malformed} malformed records; draining")
        return state

    def _living_drivers(self) -> tuple[tuple[int, int], ...]:
        return tuple(driver.identity for driver in live_drivers(self._stream.timeline.control))

    def _tell(self, text: str) -> None:
        self._console.print(f"[dim]{time.monotonic() - self._begin:6.1f} s[/]  {text}", highlight=False, soft_wrap=True)


def main() -> int:
    """Run the story; exit code 1 on any loss, duplicate, second writer, or when it could not be told to its end."""
    leave_up = os.environ.get("DEMO_EXIT", "") in ("", "0")
    console, narrator = Console(), StderrNarrator()
    sandbox = Sandbox.of_project(narrator=narrator)
    stream: SandboxedStream | None = None
    good = False
    try:
        sandbox.up(with_airflow=False)
        (sandbox.layout.root / RESULT).unlink(missing_ok=True)
        stream = SandboxedStream(sandbox, narrator=narrator, actor="demo")
        stream.requests.start("make demo")
        demo = Demo(sandbox, stream, console)
        sandbox.up()
        result = demo.run()
        good = result.is_good
        _close(result, sandbox, console)
    except StreamOpsError as error:
        _say(console, f"demo failed: {error}")
    finally:
        if not leave_up:
            _stop_all(sandbox, stream)
    if leave_up:
        _say_where(sandbox, console)
    return 0 if good else 1


def _close(result: DemoResult, sandbox: Sandbox, console: Console) -> None:
    (sandbox.layout.root / RESULT).write_text(json.dumps(asdict(result), indent=2) + "\n")
    _say(
        console,
        f"malformed {result.malformed}  dead letters {result.dead_letters}",
        f"sent {result.sent}  delivered {result.delivered}  lost {result.lost}  duplicated {result.duplicated}"
        f"  epochs {result.epochs}",
        f"driver killed → noticed +{result.noticed_s} s → resubmitted +{result.resubmitted_s} s"
        f" → first new batch +{result.first_batch_s} s",
        f"scheduled run {result.scheduled.rows} of {result.scheduled.expected} records"
        f"  backfill {result.backfill.rows} of {result.backfill.expected} records of its range",
    )


def _stop_all(sandbox: Sandbox, stream: SandboxedStream | None) -> None:
    """The stream first, while its supervisor lives to kill what does not stop; then Airflow and the broker."""
    try:
        if stream:
            stream.stop("make demo has ended")
    finally:
        sandbox.down()


def _say_where(sandbox: Sandbox, console: Console) -> None:
    status = sandbox.status()
    _say(
        console,
        f"Airflow: {status.airflow_url}  user {ADMIN}, password in {status.airflow_passwords}",
        "The stream goes on. To stop it: `.venv/bin/streamops stop orders_to_delta --reason done`, then"
        " `make sandbox-down`.",
    )


def _say(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
