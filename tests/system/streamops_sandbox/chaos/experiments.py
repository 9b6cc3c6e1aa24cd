"""The two experiments beside the rounds: stock Airflow for comparison, and outages of our own Airflow."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from streamops.errors import StreamOpsError
from streamops_sandbox.chaos.book import Account, Book
from streamops_sandbox.chaos.fleet import Fleet
from streamops_sandbox.chaos.stock import Stock, StockRound, changes_of_author
from streamops_sandbox.chaos.stock_files import DEFAULT_PATIENCE_SECONDS, stock_environment
from streamops_sandbox.chaos.trials import AirflowTrials, Trial
from streamops_sandbox.drivers import DoubleWriterWatch
from streamops_sandbox.ledger import authors
from streamops_sandbox.timeline import now
from streamops_sandbox.waiting import SilentNarrator

STOCK = "stock"
AIRFLOW = "airflow"


@dataclass(slots=True, kw_only=True)
class StockResult:
    """What `chaos.json` holds of one run with stock Airflow."""

    started_at: str
    kills: int
    retry_delay_s: int
    task_timeout_s: int
    """How long Airflow waits for a silent task before it calls it dead."""
    rounds: list[StockRound] = field(default_factory=list)
    account: Account | None = None
    commits_by_driver: dict[str, int] = field(default_factory=dict)
    """Commits of the table by the second in which their driver was started."""
    changes_of_author: int = 0
    """How often the writer of the table changed from one commit to the next."""
    seconds: float = 0.0
    error: str = "not ended"

    @classmethod
    def begun(cls, *, retry_delay: int | None, task_timeout: int | None, kills: int) -> "StockResult":
        """A run that begins now; None stands for Airflow's own figures."""
        return cls(
            started_at=now().isoformat(timespec="seconds"),
            kills=kills,
            retry_delay_s=DEFAULT_PATIENCE_SECONDS if retry_delay is None else retry_delay,
            task_timeout_s=DEFAULT_PATIENCE_SECONDS if task_timeout is None else task_timeout,
        )


@dataclass(slots=True, kw_only=True)
class AirflowResult:
    """What `chaos.json` holds of one run of trials."""

    started_at: str
    streams: int
    outage_s: float
    sigterms: int
    trials: list[Trial] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)
    double_writers: int = 0
    seconds: float = 0.0
    error: str = "not ended"

    @classmethod
    def begun(cls, *, streams: int, outage: timedelta, sigterms: int) -> "AirflowResult":
        """A run that begins now."""
        started_at = now().isoformat(timespec="seconds")
        return cls(started_at=started_at, streams=streams, outage_s=outage.total_seconds(), sigterms=sigterms)

    @property
    def is_good(self) -> bool:
        """No stream noticed anything, and nothing is missing or there twice."""
        wrong = self.double_writers + sum(account.lost + account.duplicated for account in self.accounts)
        return not (wrong or self.error) and all(trial.untouched for trial in self.trials)


def run_stock(result: StockResult, project: Path, book: Book, console: Console) -> None:
    """Kill workers of stock Airflow, then take the account. An error ends it early and is part of the result."""
    environment = stock_environment(path=os.environ.get("PATH", ""), task_timeout=result.task_timeout_s)
    fleet = Fleet.in_project(project, folder="chaos-stock", size=1, added=environment, own_dags=True)
    experiment = Stock(fleet, retry_delay=result.retry_delay_s)
    save = _saver(result.started_at, lambda: book.save_entry(STOCK, asdict(result)), result)
    try:
        stream = experiment.up()
        while len(result.rounds) < result.kills:
            result.rounds.append(experiment.strike(stream))
            console.print(str(result.rounds[-1]), highlight=False, soft_wrap=True)
            save()
            if result.rounds[-1].running_again is None:
                # It will not come back by itself: what would be killed now is nothing that anybody runs.
                break
        (result.account,) = fleet.account(SilentNarrator())
        written_by = authors(stream.spec.sink.table)
        result.commits_by_driver = dict(Counter(written_by))
        result.changes_of_author = changes_of_author(written_by)
        result.error = ""
    except StreamOpsError as error:
        result.error = str(error)
    finally:
        save()
        experiment.down()


def run_airflow(result: AirflowResult, project: Path, book: Book, console: Console) -> None:
    """All trials, one after the other, then the account. An error ends it early and is part of the result."""
    fleet = Fleet.in_project(project, folder="chaos-airflow", size=result.streams)
    save = _saver(result.started_at, lambda: book.save_entry(AIRFLOW, asdict(result)), result)

    def tell(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    try:
        fleet.begin_anew()
        with fleet.taken_down_afterwards():
            fleet.up(with_airflow=True)
            with DoubleWriterWatch(*(stream.timeline.control for stream in fleet.streams)) as watch:
                trials = AirflowTrials(fleet, tell=tell)
                trials.await_peace()
                for trial in _acts(trials, result):
                    result.trials.append(trial())
                    result.double_writers = len(watch.pairs)
                    save()
                result.accounts = fleet.account(SilentNarrator())
                result.double_writers = len(watch.pairs)
        result.error = ""
    except StreamOpsError as error:
        result.error = str(error)
        tell(f"failed: {error}")
    save()


def _acts(trials: AirflowTrials, result: AirflowResult) -> tuple[Callable[[], Trial], ...]:
    seed = random.SystemRandom().randrange(10**6)
    return (
        trials.restart_triggerer,
        trials.spoil_settings,
        trials.pause,
        lambda: trials.outage(timedelta(seconds=result.outage_s)),
        lambda: trials.sigterms(result.sigterms, seed=seed),
        # Last: it may take the deferred tasks' own records away.
        trials.clean_database,
    )


def _saver(started_at: str, write: Callable[[], None], result: StockResult | AirflowResult) -> Callable[[], None]:
    begin = time.monotonic()

    def save() -> None:
        result.seconds = round(time.monotonic() - begin, 1)
        write()

    return save
