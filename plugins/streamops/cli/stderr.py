"""Talk: what a command says beside its answer, on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.text import Text

from streamops.cli.console import PrintableConsole, printable


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
