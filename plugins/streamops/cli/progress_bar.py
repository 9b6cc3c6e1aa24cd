"""How far long work has come: a bar on a terminal, a line for each tenth elsewhere. On stderr, as all talk."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from streamops.cli.console import PrintableConsole
from streamops.cli.stderr import say

Tell = Callable[[int, str], None]
"""What is done so far, and in words what is at hand."""


@contextmanager
def counted(text: str, *, total: int | None) -> Iterator[Tell]:
    """Show how much of `total` is done; without a total only what is at hand."""
    console = PrintableConsole(is_talk=True)
    if not console.is_terminal:
        say(text)
        yield _in_lines(total)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task(text, total=total or None)
        yield lambda done, told: progress.update(bar, completed=done, description=f"{text}: {told}" if told else text)


@contextmanager
def shown(text: str, total: timedelta) -> Iterator[Callable[[timedelta], None]]:
    """Show how much of a time has passed."""
    with counted(text, total=round(total.total_seconds())) as tell:
        yield lambda passed: tell(round(passed.total_seconds()), "seconds without movement" if passed else "")


def _in_lines(total: int | None) -> Tell:
    """A new line when the words are others, or another tenth is done."""
    before = ("", 0)

    def tell(done: int, told: str) -> None:
        nonlocal before
        tenth = 10 * done // total if total else 0
        if (told, tenth) != before:
            before = (told, tenth)
            say(f"{done} of {total}: {told}" if total else told)

    return tell
