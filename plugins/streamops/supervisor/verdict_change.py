"""A verdict that is not the one before: what whoever is to be told gets, and how it is told."""

import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from streamops.errors import SettingsError
from streamops.health.verdict import Verdict

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """The checkpoint of a stream is judged otherwise than in the rounds before. What `on_change` is called with."""

    stream: str
    before: Verdict | None
    """None where no verdict is on record."""
    after: Verdict
    at: datetime
    rules: tuple[str, ...]
    """Ids of the rules that make the verdict, worst first; none where all is well, or where nothing could be read."""
    report: str
    """As `streamops check` shows it, in plain lines."""

    def __str__(self) -> str:
        """`orders: ok -> critical (unreadable-last-commit)`"""
        rules = f" ({', '.join(self.rules)})" if self.rules else ""
        return f"{self.stream}: {self.before or 'no verdict'} -> {self.after}{rules}"


OnChange = Callable[[VerdictChange], object]


def log_change(change: VerdictChange) -> None:
    """One line; a warning unless all is well again."""
    level = logging.INFO if change.after is Verdict.OK else logging.WARNING
    log.log(level, "stream=%s checkpoint verdict changed: %s", change.stream, change)


def load_on_change(name: str) -> OnChange:
    """What `module:callable` names; SettingsError saying why there is no such thing. Runs the module."""
    module, _, path = name.partition(":")
    try:
        found = attrgetter(path)(importlib.import_module(module))
    except Exception as error:  # a module may raise anything while it is imported
        raise SettingsError(
            f"checkpoint_health.on_change: {name} can't be had: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise SettingsError(
            f"checkpoint_health.on_change: {name} is of type {type(found).__name__}, a callable is expected"
        )
    return found  # type: ignore[no-any-return]
