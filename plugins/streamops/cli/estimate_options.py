"""Spans of time, amounts and shares as people write them on a command line, within bounds that can be added up."""

import re
from datetime import timedelta

import typer

from streamops.cli.options import duration

LONGEST = timedelta(days=3650)

PERCENT = "PERCENT"

_NUMBER = re.compile(r"\d{1,15}(\.\d{1,9})?")


def span(text: str) -> timedelta:
    """`30s`, `5m`, or a bare number of seconds; ten years at most."""
    found = duration(text)
    if found > LONGEST:
        raise typer.BadParameter(f"{text!r} is longer than {LONGEST.days} days")
    return found


def amount(text: str) -> float:
    """A number above zero: `1500`, `0.5`."""
    if not _NUMBER.fullmatch(text) or float(text) <= 0:
        raise typer.BadParameter(f"{text!r} is not a number above 0, such as 1500 or 0.5")
    return float(text)


def share(text: str) -> float:
    """A share in percent: `99`, `99.9%`; above 0, 100 at most."""
    number = text.removesuffix("%").rstrip()
    if not _NUMBER.fullmatch(number) or not 0 < float(number) <= 100:
        raise typer.BadParameter(f"{text!r} is not a share in percent, above 0 and 100 at most, such as 99.9")
    return float(number) / 100
