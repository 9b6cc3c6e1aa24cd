"""Experiments whose figures are kept as they go: a crash of the program costs the present round and nothing else."""

import random
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich.console import Console

from streamops.errors import StreamOpsError
from streamops_sandbox.chaos.book import Book


def run_kept(
    section: str, result: Any, go: Callable[[Callable[[], None]], None], *, book: Book, console: Console
) -> None:
    """Run an experiment from begin to end; `go` is given what saves the figures so far.

    `result`: a dataclass that has `seconds` and `error`, empty when it came to its end, among its fields.
    """
    begun = time.monotonic()

    def save() -> None:
        result.seconds = round(time.monotonic() - begun, 1)
        book.save_entry(section, asdict(result))

    try:
        go(save)
        result.error = ""
    except StreamOpsError as error:
        console.print(f"chaos failed: {error}", highlight=False, markup=False)
        result.error = str(error)
    save()


def drawn_seed(seed: int | None) -> int:
    """The seed that was asked for, or one by chance."""
    return seed if seed is not None else random.SystemRandom().randrange(10**6)
