"""One run of `make chaos`: blows at random instants, and then the account."""

import time
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from streamops.spec import Timings
from streamops_sandbox.chaos.book import Book, Run
from streamops_sandbox.chaos.fleet import Fleet
from streamops_sandbox.chaos.melee import Melee
from streamops_sandbox.chaos.rounds import Round
from streamops_sandbox.chaos.victims import OF_SMALL_DISK, Victim, draw_blows
from streamops_sandbox.drivers import DoubleWriterWatch
from streamops_sandbox.timeline import now
from streamops_sandbox.waiting import SilentNarrator


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What this run is to do."""

    cycles: int
    seed: int
    streams: int
    with_airflow: bool
    victims: tuple[Victim, ...]
    left_out: str


class Campaign:
    """One run, entered into the book after each round."""

    def __init__(self, fleet: Fleet, plan: Plan, book: Book, console: Console) -> None:
        self._fleet = fleet
        self._plan = plan
        self._book = book
        self._console = console
        self._begin = time.monotonic()
        self.run = Run(
            started_at=now().isoformat(timespec="seconds"),
            seed=plan.seed,
            cycles=plan.cycles,
            supervised_by="airflow" if plan.with_airflow else "streamops supervise",
            streams=fleet.names,
            left_out=plan.left_out,
        )

    def go(self) -> None:
        """Strike, take the account, stop everything. SandboxError when a part of it could not be done."""
        small_disk = any(victim in OF_SMALL_DISK for victim in self._plan.victims)
        self._fleet.begin_anew()
        with self._fleet.taken_down_afterwards():
            self._fleet.up(with_airflow=self._plan.with_airflow, small_disk=small_disk)
            with DoubleWriterWatch(*(stream.timeline.control for stream in self._fleet.streams)) as watch:
                error = self._strike(watch)
                self.run.accounts = self._fleet.account(SilentNarrator())
            self._save(watch, error=error)

    def _strike(self, watch: DoubleWriterWatch) -> str:
        plan = self._plan
        blows = draw_blows(plan.cycles, seed=plan.seed, victims=plan.victims, timings=self._timings())
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console) as progress:
            bar = progress.add_task("rounds", total=len(blows))

            def told(found: Round) -> None:
                self.run.rounds.append(found)
                self._save(watch, error="not ended")
                progress.console.print(_line(found), highlight=False, soft_wrap=True)
                progress.advance(bar)

            melee = Melee(self._fleet, seed=plan.seed, on_round=told)
            melee.deal(blows)
            progress.update(bar, description="account")
            return melee.error

    def _timings(self) -> Timings:
        return self._fleet.streams[0].spec.timings

    def _save(self, watch: DoubleWriterWatch, *, error: str) -> None:
        self.run.double_writers = len(watch.pairs)
        self.run.samples = watch.samples
        self.run.seconds = round(time.monotonic() - self._begin, 1)
        self.run.error = error
        self._book.save_run(self.run)


def _line(found: Round) -> str:
    times = found.noticed, found.resubmitted
    noticed = f" noticed {times[0]:.1f} s resubmitted {times[1]:.1f} s" if times[0] and times[1] else ""
    disturbed = f" during {', '.join(found.disturbed_by)}" if found.disturbed_by else ""
    wrong = "" if found.is_as_expected else " [red]UNEXPECTED[/]"
    return (
        f"{found.stream} epoch {found.epoch}: {found.victim} {found.instant} → {found.fate}{noticed}{disturbed}{wrong}"
    )
