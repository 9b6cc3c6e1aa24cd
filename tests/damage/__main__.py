"""Damages checkpoints at random, foretells, starts real Spark, repairs, compares: `python -m damage --cases 500 --seed 7`."""

import argparse
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from damage.account import figures, in_a_line, keep, passes, show
from damage.bases import Workshop
from damage.case import Record, Run, chosen, kind_of
from damage.queries import BY_NAME, Kind
from damage.spark import PINNED, Spark
from support.provoke.broker import Broker

KEPT_EACH = 20
"""Cases after which the account is written, so that a run that is broken off leaves one."""


def main(argv: list[str] | None = None) -> int:
    """1 where a start or a repair was promised wrongly."""
    asked = _arguments(argv)
    asked.folder.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="run-", dir=asked.folder)).resolve()
    sparks = [Spark(root / f"spark-{version}", version) for version in asked.spark]
    plans = [_cases(asked, spark) for spark in sparks]
    if not all(plans):
        root.rmdir()
        print(f"no kind of query matches {asked.only!r}", file=sys.stderr)
        return 2
    workshops = [Workshop(root, (asked.bases or asked.folder / "bases").resolve(), spark) for spark in sparks]
    broker = Broker(root / "broker")
    records: list[Record] = []

    def account() -> dict[str, Any]:
        made = {f"{shop.spark.version} {name}": took for shop in workshops for name, took in shop.seconds.items()}
        return {"seed": asked.seed, **figures(records, made)}

    # Whoever ends this run wants its processes to end, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console(width=170)
    try:
        with _bar(console) as bar:
            task = bar.add_task(f"seed {asked.seed}", total=sum(len(cases) for cases in plans))
            for workshop, cases in zip(workshops, plans, strict=True):
                for seed, index, kind in cases:
                    if kind.source == "kafka" and not workshop.spark.bootstrap:
                        workshop.spark.bootstrap = broker.bootstrap()
                    records.append(Run(workshop).case(seed, index, kind))
                    if not console.is_terminal:
                        print(in_a_line(records[-1]), file=sys.stderr, flush=True)
                    bar.advance(task)
                    if len(records) % KEPT_EACH == 0:
                        keep(account(), asked.target)
                workshop.spark.stop()
    finally:
        for spark in sparks:
            spark.stop()
        broker.stop()
        shutil.rmtree(root, ignore_errors=True)
        found = account()
        keep(found, asked.target)
        show(found, console)
    if asked.replay:
        console.print_json(data=records, default=str)
    return 0 if passes(found) else 1


def _cases(asked: argparse.Namespace, spark: Spark) -> list[tuple[int, int, Kind]]:
    """Seed, number and kind of each."""
    if asked.replay:
        seed, index, name = asked.replay.split(":")
        return [(int(seed), int(index), BY_NAME[name])]
    kinds = chosen(asked.only, spark)
    return [(asked.seed, index, kind_of(asked.seed, index, kinds)) for index in range(asked.cases if kinds else 0)]


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="damage", description="Random damage against real Spark.")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--only", default="", metavar="REGEX", help="kinds of queries whose names match")
    parser.add_argument("--replay", default="", metavar="SEED:INDEX:KIND", help="one case alone, told in full")
    parser.add_argument(
        "--spark",
        nargs="+",
        default=[PINNED],
        metavar="VERSION",
        help="versions of Spark, each with all cases; what needs jars runs with the pinned one only",
    )
    parser.add_argument("--target", type=Path, default=Path(".sandbox/damage.json"))
    parser.add_argument("--folder", type=Path, default=Path(".sandbox/damage"), help="where checkpoints are made")
    parser.add_argument("--bases", type=Path, help="where whole checkpoints are kept; by default below --folder")
    return parser.parse_args(argv)


def _bar(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


if __name__ == "__main__":
    sys.exit(main())
