"""The terminal's one door: what other people's files hold is shown, never obeyed; talk and progress go to stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.text import Text

from streamops.diagnosis.checkup_text import printable as printable_line


def fine(duration: timedelta) -> str:
    """`58 ms`, `1.24 s`, `75 s`, `12 min`, `6 h`, `4 d`."""
    seconds = duration.total_seconds()
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    for unit, length, limit in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 2 * 86400)):
        if seconds < limit:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds / 86400:.3g} d"


def percent(share: float) -> str:
    """`3.4 %`; what is not nothing is never shown as 0.0 %."""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def size(number: float) -> str:
    """`812 B`, `1.5 KiB`, `20 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1024
    return f"{number:,.1f} TiB"


class PrintableConsole(Console):
    """Shows each character that a terminal might obey in its escaped form, `\\x1b`; line ends stay.

    Reasons, names and errors in a control log come from whoever wrote it. Rich itself takes out five control characters and
    passes on all others, escape sequences and marks of direction among them (rich 15).
    """

    def __init__(self, *, is_talk: bool = False) -> None:
        super().__init__(stderr=is_talk, highlight=False, emoji=False, markup=False, soft_wrap=not is_talk)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Rich's own segments; only those that are text are looked at, not the ones that move its cursor."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


def printable(text: str) -> str:
    """The text with everything escaped that is neither printable nor a line end."""
    return "\n".join(map(printable_line, text.split("\n")))


def say(text: str) -> None:
    """Talk: one line on stderr."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def confirmed(question: str) -> bool:
    """Ask the person at the terminal; anything but a clear yes is a no.

    Typer's own prompt writes a blank to stdout, where only data may go.
    """
    sys.stderr.write(f"{question} [y/N]: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@contextmanager
def waiting(text: str) -> Iterator[Callable[[str], None]]:
    """Talk while something takes its time, and tell more of it: a moving line on a terminal, plain lines elsewhere."""
    console = PrintableConsole(is_talk=True)
    if not console.is_terminal:
        say(text)
        yield say
        return
    with console.status(Text(text)) as moving:
        yield lambda more: moving.update(Text(f"{text}\n{more}"))


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
