"""A sample of delays from a file: one a line, as a duration or as seconds."""

import re
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from streamops.cli.estimate_options import LONGEST
from streamops.durations import EXPECTED, parse_duration
from streamops.errors import SettingsError

MOST_BYTES = 16 * 1024 * 1024
"""Two million delays, read in some seconds: far more than a share needs."""

_SECONDS = re.compile(r"\d{1,12}(\.\d{1,12})?")
_SHOWN = 60


def read_delays(path: Path) -> tuple[timedelta, ...]:
    """The delays in a file; blank lines and those that begin with `#` are passed over. SettingsError with the line."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise SettingsError(f"--sample {path}: it is not a plain file: write the delays to one")
        if found.st_size > MOST_BYTES:
            raise SettingsError(
                f"--sample {path}: more than {MOST_BYTES >> 20} MiB: take a sample of it, `shuf -n 100000`"
            )
        text = path.read_text(errors="replace")
    except OSError as error:
        raise SettingsError(f"--sample {path}: it can't be read: {error.strerror}") from error
    delays = tuple(_each(path, text))
    if not delays:
        raise SettingsError(
            f"--sample {path}: there is no delay in it: one a line is expected, `12.5` (seconds) or `3m`"
        )
    return delays


def _each(path: Path, text: str) -> Iterator[timedelta]:
    for number, line in enumerate(text.split("\n"), start=1):
        word = line.strip()
        if word and not word.startswith("#"):
            try:
                yield delay(word)
            except ValueError as error:
                raise SettingsError(
                    f"--sample {path}: line {number}: {word[:_SHOWN]!r}: {error}; expected: seconds (`12.5`) or {EXPECTED}"
                ) from error


def delay(word: str) -> timedelta:
    """One delay. ValueError that says what is wrong with it."""
    if word.startswith("-"):
        raise ValueError("a delay is not negative: an event with a later time than its arrival has 0")
    if _SECONDS.fullmatch(word):
        seconds = float(word)
        found = timedelta(seconds=seconds) if seconds <= LONGEST.total_seconds() else timedelta.max
    else:
        try:
            found = parse_duration(word)
        except ValueError as error:
            raise ValueError("no delay") from error
    if found > LONGEST:
        raise ValueError(f"longer than {LONGEST.days} days")
    return found
