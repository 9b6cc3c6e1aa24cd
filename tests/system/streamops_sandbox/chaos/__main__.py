"""`python -m streamops_sandbox.chaos rounds|stock|airflow|runs|catchup`: real streams in trouble, and the account.

All figures go into `.sandbox/chaos.json`, those of several runs added up; the table is for people and on stderr.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from streamops.errors import StreamOpsError
from streamops_sandbox.chaos import experiments, mounts
from streamops_sandbox.chaos.book import Book, totals
from streamops_sandbox.chaos.bounded import bounded_now, run_bounded
from streamops_sandbox.chaos.campaign import Campaign, Plan
from streamops_sandbox.chaos.fleet import Fleet
from streamops_sandbox.chaos.kept import drawn_seed
from streamops_sandbox.chaos.scheduled import begun_now, run_scheduled
from streamops_sandbox.chaos.table import print_accounts, print_airflow, print_rounds, print_stock
from streamops_sandbox.chaos.victims import Victim, victims_of
from streamops_sandbox.layout import SandboxLayout, find_project

RESULT = "chaos.json"

LOG_WIDTH = 160
"""Of the tables where no terminal says how wide it is."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one experiment in a sandbox of its own; exit code 1 when it failed or found what must not be."""
    arguments = _arguments(argv)
    console, project = Console(stderr=True), find_project(Path.cwd())
    if not console.is_terminal:
        console.width = LOG_WIDTH
    book = Book(SandboxLayout.of_project(project).root / RESULT)
    if arguments.reset:
        book.begin_anew()
    return int(arguments.experiment(arguments, project, book, console))


def rounds(arguments: argparse.Namespace, project: Path, book: Book, console: Console) -> int:
    """Blows against streams, their surroundings and their supervisor."""
    plan = _plan(arguments, SandboxLayout.of_project(project).root)
    console.print(f"chaos: {plan.cycles} rounds, seed {plan.seed}. {plan.left_out}", highlight=False, markup=False)
    campaign = Campaign(Fleet.in_project(project, folder="chaos", size=plan.streams), plan, book, console)
    try:
        campaign.go()
    except StreamOpsError as error:
        console.print(f"chaos failed: {error}", highlight=False, markup=False)
        campaign.run.error = str(error)
        book.save_run(campaign.run)
    runs = book.runs()
    print_rounds(runs, console)
    print_accounts(runs, console)
    print_stock(book.section(experiments.STOCK), console)
    print(json.dumps(totals(runs), indent=2))
    return 0 if campaign.run.is_good else 1


def stock(arguments: argparse.Namespace, project: Path, book: Book, console: Console) -> int:
    """A stream under Airflow's own SparkSubmitOperator, for comparison; what it loses is no failure of ours."""
    result = experiments.StockResult.begun(
        retry_delay=arguments.retry_delay, task_timeout=arguments.task_timeout, kills=arguments.cycles
    )
    experiments.run_stock(result, project, book, console)
    print_stock(book.section(experiments.STOCK), console)
    print(json.dumps(asdict(result), indent=2))
    return 1 if result.error else 0


def airflow(arguments: argparse.Namespace, project: Path, book: Book, console: Console) -> int:
    """Outages and acts against Airflow while it supervises streams."""
    result = experiments.AirflowResult.begun(
        streams=arguments.streams, outage=timedelta(minutes=arguments.minutes), sigterms=arguments.sigterms
    )
    experiments.run_airflow(result, project, book, console)
    print_airflow(book.section(experiments.AIRFLOW), console)
    print(json.dumps(asdict(result), indent=2))
    return 0 if result.is_good else 1


def scheduled(arguments: argparse.Namespace, project: Path, book: Book, console: Console) -> int:
    """Runs of a scheduled stream under Airflow, each struck once."""
    result = begun_now(arguments.seed)
    console.print(f"chaos: {arguments.cycles} scheduled runs, seed {result.seed}", highlight=False, markup=False)
    run_scheduled(result, project, book, console, cycles=arguments.cycles)
    print(json.dumps(asdict(result), indent=2))
    return 0 if result.is_good else 1


def catchup(arguments: argparse.Namespace, project: Path, book: Book, console: Console) -> int:
    """Bounded runs against a live query and of a scheduled stream, without Airflow."""
    result = bounded_now(arguments.seed)
    console.print(f"chaos: {arguments.cycles} rounds of two runs, seed {result.seed}", highlight=False, markup=False)
    run_bounded(result, project, book, console, cycles=arguments.cycles)
    print(json.dumps(asdict(result), indent=2))
    return 0 if result.is_good else 1


def _plan(arguments: argparse.Namespace, root: Path) -> Plan:
    mountless = mounts.why_no_mounts(root / "mount-probe")
    victims = victims_of(with_airflow=arguments.airflow, with_mounts=not mountless)
    chosen = [Victim(word) for word in arguments.victims.split(",") if word]
    return Plan(
        cycles=arguments.cycles,
        seed=drawn_seed(arguments.seed),
        streams=arguments.streams,
        with_airflow=arguments.airflow,
        victims=tuple(victim for victim in victims if not chosen or victim in chosen),
        left_out=f"left out, no mounts here: read-only, disk full ({mountless})" if mountless else "",
    )


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m streamops_sandbox.chaos", description=__doc__)
    parser.add_argument("--reset", action="store_true", help="forget the figures of earlier runs")
    kinds = parser.add_subparsers(required=True, metavar="rounds|stock|airflow|runs|catchup")

    blows = kinds.add_parser("rounds", help="blows at random instants, and the account")
    blows.set_defaults(experiment=rounds)
    blows.add_argument("--cycles", type=int, default=20, help="how many blows")
    blows.add_argument("--seed", type=int, default=None, help="draw the blows of an earlier run again")
    blows.add_argument("--streams", type=int, default=3, help="how many streams at once")
    blows.add_argument("--airflow", action="store_true", help="supervise by Airflow instead of `streamops supervise`")
    blows.add_argument("--victims", default="", help=f"only these, joined by commas, of: {', '.join(Victim)}")

    others = kinds.add_parser("stock", help="the worker is killed under Airflow's own SparkSubmitOperator")
    others.set_defaults(experiment=stock)
    others.add_argument("--cycles", type=int, default=2, help="how many kills")
    others.add_argument("--retry-delay", type=int, default=None, help="seconds; Airflow's own are 300")
    others.add_argument("--task-timeout", type=int, default=None, help="seconds of silence; Airflow's own are 300")

    outage = kinds.add_parser("airflow", help="Airflow is stopped, cleaned, paused, and its tasks are ended")
    outage.set_defaults(experiment=airflow)
    outage.add_argument("--minutes", type=float, default=10, help="how long all of Airflow is down")
    outage.add_argument("--sigterms", type=int, default=100, help="how many task processes are ended")
    outage.add_argument("--streams", type=int, default=3, help="how many streams at once")
    runs = kinds.add_parser("runs", help="runs of a scheduled stream under Airflow, each struck at a random moment")
    runs.set_defaults(experiment=scheduled)
    runs.add_argument("--cycles", type=int, default=15, help="how many runs")
    runs.add_argument("--seed", type=int, default=None, help="draw the blows of an earlier run again")
    duel = kinds.add_parser("catchup", help="catch-ups against a live query and runs of a scheduled stream, no Airflow")
    duel.set_defaults(experiment=catchup)
    duel.add_argument("--cycles", type=int, default=15, help="how many rounds, a run of each stream in each")
    duel.add_argument("--seed", type=int, default=None, help="draw the blows of an earlier round again")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
