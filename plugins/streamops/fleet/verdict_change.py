"""A verdict that is not the one before: what whoever is to be told gets, and how it is told."""

import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import attrgetter

from streamops.errors import SettingsError
from streamops.verdict import Verdict

log = logging.getLogger(__name__)


class Subject(StrEnum):
    """What of a stream a verdict is about."""

    CHECKPOINT = "checkpoint"
    RETENTION = "retention"
    """Whether what it needs next is still in Kafka, and for how long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A stream is judged otherwise than in the rounds before. What `on_change` is called with."""

    stream: str
    before: Verdict | None
    """None where no verdict is on record."""
    after: Verdict
    at: datetime
    rules: tuple[str, ...]
    """Ids of the rules that make the verdict, worst first; none where all is well, or where nothing could be read."""
    report: str
    """As `streamops check` or `streamops lag` shows it, in plain lines."""
    subject: Subject = Subject.CHECKPOINT

    def __str__(self) -> str:
        """`orders: ok -> critical (unreadable-last-commit)`"""
        rules = f" ({', '.join(self.rules)})" if self.rules else ""
        return f"{self.stream}: {self.before or 'no verdict'} -> {self.after}{rules}"


OnChange = Callable[[VerdictChange], object]


def log_change(change: VerdictChange) -> None:
    """One line; a warning unless all is well again."""
    level = logging.INFO if change.after is Verdict.OK else logging.WARNING
    log.log(level, "stream=%s %s verdict changed: %s", change.stream, change.subject, change)


def load_on_change(name: str, *, section: str = "checkpoint_health") -> OnChange:
    """What `module:callable` names; SettingsError saying why there is no such thing. Runs the module.

    `section`: of the settings, where the name stands.
    """
    module, _, path = name.partition(":")
    try:
        found = attrgetter(path)(importlib.import_module(module))
    except Exception as error:  # a module may raise anything while it is imported
        raise SettingsError(f"{section}.on_change: {name} can't be had: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise SettingsError(f"{section}.on_change: {name} is of type {type(found).__name__}, a callable is expected")
    return found  # type: ignore[no-any-return]
