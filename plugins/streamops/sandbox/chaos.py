"""`make chaos CYCLES=20`: the driver is killed at random instants, again and again, and then the account is taken."""

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from streamops.errors import StreamOpsError
from streamops.sandbox.drivers import DoubleWriterWatch, LiveDriver, kill, live_drivers
from streamops.sandbox.layout import SandboxLayout, find_project
from streamops.sandbox.ledger import Ledger
from streamops.sandbox.sandbox import Sandbox
from streamops.sandbox.sandboxed_stream import SandboxedStream
from streamops.sandbox.timeline import Reaction, now
from streamops.sandbox.waiting import SilentNarrator, StderrNarrator

RESULT = "chaos.json"
RATE = 100.0
LONGEST_START_SECONDS = 20.0
LONGEST_RUN_SECONDS = 8.0
"""Every other driver is killed at a random instant of its first twenty seconds: while the JVM starts, before or after the
first beat, in its first batch. The others at a random instant after a batch of theirs: in the middle of one, between two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosResult:
    """What `.sandbox/chaos.json` holds; durations in seconds, waits of the restart policy left out."""

    cycles: int
    seed: int
    lost: int
    duplicated: int
    double_writers: int
    noticed_s_p50: float
    noticed_s_p99: float
    resubmitted_s_p50: float
    resubmitted_s_p99: float
    sent: int
    delivered: int
    epochs: int
    epochs_with_batches: int
    """Of the killed ones, how many had committed a batch."""
    samples: int
    """Looks at the process table in search of two drivers."""

    @property
    def is_good(self) -> bool:
        """Nothing lost, nothing twice, never two drivers."""
        return not (self.lost or self.duplicated or self.double_writers)


def run_cycles(
    stream: SandboxedStream, *, cycles: int, seed: int, console: Console
) -> tuple[list[Reaction], Ledger, DoubleWriterWatch]:
    """Kill, wait for the successor, again; then let the stream catch up and take the account."""
    chance = random.Random(seed)
    reactions: list[Reaction] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with DoubleWriterWatch(stream.timeline.control) as watch, Progress(*columns, console=console) as progress:
        bar = progress.add_task("kill -9", total=cycles)
        for cycle in range(cycles):
            stream.wait(lambda: "" if stream.timeline.newest_submitted() else "a driver", what="driver", limit=_LIMIT)
            _live_a_while(stream, chance, with_batches=cycle % 2 == 1)
            reactions.append(_kill_and_wait(stream, chance))
            progress.advance(bar)
        state = stream.stop_orders()
        progress.update(bar, description="drain")
        ledger = stream.drain(state)
    return reactions, ledger, watch


_LIMIT = timedelta(minutes=8)


def _live_a_while(stream: SandboxedStream, chance: random.Random, *, with_batches: bool) -> None:
    if not with_batches:
        time.sleep(chance.uniform(0.0, LONGEST_START_SECONDS))
        return
    stream.wait_committed(stream.timeline.committed() + 1, what="a batch", limit=_LIMIT)
    time.sleep(chance.uniform(0.0, LONGEST_RUN_SECONDS))


def _kill_and_wait(stream: SandboxedStream, chance: random.Random) -> Reaction:
    stream.wait(lambda: "" if live_drivers(stream.timeline.control) else "a process", what="driver", limit=_LIMIT)
    driver = live_drivers(stream.timeline.control)[-1]
    killed_at = now()
    for pid in _victims(driver, chance):
        kill(pid)
    return stream.wait_for_reaction(driver.epoch, killed_at, limit=_LIMIT)


def _victims(driver: LiveDriver, chance: random.Random) -> list[int]:
    """The JVM alone, the Python alone, or all at once: each leaves other remains."""
    others = [pid for pid in driver.members if pid != driver.leader]
    return chance.choice([[driver.leader], others[:1] or [driver.leader], list(driver.members)])


def _percentile(values: Sequence[float], percent: int) -> float:
    if len(values) == 1:
        return round(values[0], 2)
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the chaos in a sandbox of its own; exit code 1 on any loss, duplicate or second driver."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--cycles", type=int, default=20, help="how many kills")
    parser.add_argument("--seed", type=int, default=None, help="repeat the instants of an earlier run")
    parser.add_argument("--airflow", action="store_true", help="supervise by Airflow instead of `streamops supervise`")
    arguments = parser.parse_args(argv)
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**6)
    console, project = Console(stderr=True), find_project(Path.cwd())
    root = SandboxLayout.of_project(project).root
    # Patience without end: what is measured is the supervisor, and a parked stream ends the run.
    generous = {"STREAMOPS_RESTARTS_PER_HOUR": "999", "STREAMOPS_THRASH_LIMIT": "999", "STREAMOPS_MAX_DELAY": "15s"}
    os.environ.update(generous)
    layout = SandboxLayout(project=project, root=root / "chaos")
    sandbox = Sandbox(layout, narrator=StderrNarrator(), inherited=os.environ)
    console.print(f"chaos: {arguments.cycles} kills, seed {seed}", highlight=False)
    (root / RESULT).unlink(missing_ok=True)
    try:
        sandbox.reset()
        result = _run(sandbox, arguments, seed, console)
    except StreamOpsError as error:
        console.print(f"[red]chaos failed:[/] {error}", highlight=False)
        return 1
    text = json.dumps(asdict(result), indent=2)
    (root / RESULT).write_text(text + "\n")
    print(text)
    return 0 if result.is_good else 1


def _run(sandbox: Sandbox, arguments: argparse.Namespace, seed: int, console: Console) -> ChaosResult:
    sandbox.up(with_airflow=arguments.airflow)
    stream = SandboxedStream(sandbox, narrator=SilentNarrator(), actor="chaos")
    try:
        if not arguments.airflow:
            sandbox.start_supervisor()
        sandbox.start_orders(rate=RATE)
        reactions, ledger, watch = run_cycles(stream, cycles=arguments.cycles, seed=seed, console=console)
        noticed = [reaction.noticed for reaction in reactions]
        resubmitted = [reaction.resubmitted for reaction in reactions]
        return ChaosResult(
            cycles=len(reactions),
            seed=seed,
            lost=ledger.lost,
            duplicated=ledger.duplicated + max(0, ledger.dead_letters - ledger.malformed),
            double_writers=len(watch.pairs),
            noticed_s_p50=_percentile(noticed, 50),
            noticed_s_p99=_percentile(noticed, 99),
            resubmitted_s_p50=_percentile(resubmitted, 50),
            resubmitted_s_p99=_percentile(resubmitted, 99),
            sent=ledger.sent,
            delivered=ledger.delivered,
            epochs=stream.timeline.epochs(),
            epochs_with_batches=stream.timeline.epochs_with_batches(),
            samples=watch.samples,
        )
    finally:
        try:
            stream.stop("chaos has ended")
        finally:
            sandbox.down()


if __name__ == "__main__":
    sys.exit(main())
