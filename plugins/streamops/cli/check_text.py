"""A checkup on a terminal: the lines of a log, with colours, and wrapped below their own beginning."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from streamops.diagnosis.checkup import Checkup
from streamops.diagnosis.checkup_text import checkup_lines

_STYLES = {
    "ok": "bold green",
    "note": "dim",
    "warning": "bold yellow",
    "unknown": "bold magenta",
    "critical": "bold red",
}
"""Of the verdict and of each finding, which stand first in their lines, before two blanks."""
_WIDTH = 110
"""Columns where stdout is no terminal."""


def show_checkup(checkup: Checkup, console: Console) -> None:
    """Print it. Its lines are printable, whatever the files hold."""
    if not console.is_terminal:
        console.width = _WIDTH
    for line in checkup_lines(checkup):
        text = line.lstrip(" ")
        if text == line:
            # Whole, so that an address or an id can be copied; a terminal folds it by itself.
            console.print(_styled(line), soft_wrap=True)
        else:
            console.print(Padding(Text(text), (0, 0, 0, len(line) - len(text)), expand=False), soft_wrap=False)


def _styled(line: str) -> Text:
    first, blanks, rest = line.partition("  ")
    return Text.assemble((first, _STYLES[first]), blanks, rest) if first in _STYLES else Text(line)
