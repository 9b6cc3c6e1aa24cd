"""Runs the benchmarks and keeps their figures: `python -m bench [--only NAME,NAME] [--target FILE]`."""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import broker_scan, catchup, checks, fleet, look
from bench.figure import Figure, keep

BENCHMARKS: dict[str, Callable[[Path], Iterator[Figure]]] = {
    "look": look.measure,
    "fleet": fleet.measure,
    "broker": broker_scan.measure,
    "check": checks.measure,
    "catchup": catchup.measure,
}
"""Quick ones first. The value is given a folder of its own."""


def main() -> None:
    """Figures are put down after each benchmark: one that fails costs no other."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure, and keep the figures.")
    parser.add_argument("--only", type=_names, default=tuple(BENCHMARKS), help="some alone, with commas between them")
    parser.add_argument("--target", type=Path, required=True, help="the JSON file that keeps the figures")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    for name, measure in BENCHMARKS.items():
        if name in arguments.only:
            with tempfile.TemporaryDirectory(prefix=f"bench-{name}-") as root:
                found = list(measure(Path(root)))
            keep(found, arguments.target)
            figures += found
    Console(width=140).print(_table(figures))


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := set(names) - set(BENCHMARKS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: known are {', '.join(BENCHMARKS)}")
    return names


def _table(figures: list[Figure]) -> Table:
    table = Table(title="Benchmarks", title_justify="left")
    for heading in ("benchmark", "value", "unit", "goal", "baseline", "ratio", "against"):
        table.add_column(heading, justify="left" if heading in ("benchmark", "unit", "against") else "right")
    for figure in figures:
        goal = f"≤ {figure.goal:g}" if figure.goal is not None else ""
        table.add_row(
            figure.name,
            f"{figure.value:.4g}",
            figure.unit,
            goal,
            f"{figure.baseline:.4g}",
            f"{figure.ratio:.3g}",
            figure.against,
        )
        table.add_row("", "", "", "", "", "", figure.note, style="dim", end_section=True)
    return table


if __name__ == "__main__":
    main()
