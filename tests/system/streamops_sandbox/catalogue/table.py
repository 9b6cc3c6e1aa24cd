"""The outcomes for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from streamops_sandbox.catalogue.outcome import Outcome

_TEXTS = ("job", "stream", "sink", "guarantee")
_FIGURES = ("records", "rows", "kills", "lost", "duplicated", "dead letters", "seconds")


def print_outcomes(outcomes: Sequence[Outcome], console: Console) -> None:
    """A line for each job, then what is wrong with those whose guarantee has not held."""
    table = Table(title_justify="left")
    for heading in _TEXTS:
        table.add_column(heading, no_wrap=True)
    for heading in _FIGURES:
        table.add_column(heading, justify="right")
    for found in outcomes:
        table.add_row(*_cells(found))
    console.print(table)
    for found in (outcome for outcome in outcomes if not outcome.is_good):
        for line in (*found.examples, *_unstruck(found)):
            console.print(f"{found.stream}: {line}", highlight=False, markup=False, soft_wrap=True)


def _cells(found: Outcome) -> tuple[str, ...]:
    figures = (
        found.records,
        found.rows,
        found.kills,
        found.lost,
        found.duplicated,
        found.dead_letters,
        f"{found.seconds:.0f}",
    )
    return (found.job, found.stream, found.sink, found.guarantee.value, *map(str, figures))


def _unstruck(found: Outcome) -> tuple[str, ...]:
    return () if found.kills else ("no blow fell in the middle of a batch: nothing is proven",)
