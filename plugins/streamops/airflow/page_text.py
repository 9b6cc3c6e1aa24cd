"""Texts as Airflow's page shows them: lines that end before its edge, and what is no markup of its own. Pure."""

import re
from collections.abc import Iterable
from textwrap import wrap

LINE = 70
"""Characters that the page shows of a failed task's message beside the exception's name, where it is 1400 pixels wide."""


def fitting(text: str) -> str:
    """Each line of a text on lines that end before the edge; what is one word, as an address, stays whole."""
    return "\n".join(
        line
        for whole in text.split("\n")
        for line in wrap(whole, LINE, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    )


def as_markdown(lines: Iterable[str]) -> str:
    """A list with an item for each line, as code: whatever people have typed is shown, and is no markup."""
    return "\n".join(f"- {_code(' '.join(line.split()))}" for line in lines)


def _code(text: str) -> str:
    """Between more backticks than the text has in a row (CommonMark, code spans)."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{ticks} {text} {ticks}"
