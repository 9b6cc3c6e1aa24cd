"""A verdict that is not the one before: what whoever is to be told gets, and the record in the stream's control log."""

import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import attrgetter

from streamops.clock import Clock
from streamops.control.drivers import driver_instances, highest_epoch
from streamops.control.layout import control_folder
from streamops.control.log import ControlLog
from streamops.control.records import Author, VerdictChanged
from streamops.control.snapshot import load_and_keep, save_snapshot_if_due
from streamops.errors import AppendRefusedError, SettingsError
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.supervision.act import new_record
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


_LOOKS = 2
"""One anew where another writer took the number; a log that is so busy gets the record in the next round."""


def record_verdict(
    spec: StreamSpec, verdict: Verdict, rules: tuple[str, ...], *, storage: Storage, clock: Clock, author: Author
) -> bool:
    """Whether the control log holds the verdict now: it did already, or was given it.

    False where that is not for us: there is no log (a log that began with a verdict would make a stranger's checkpoint
    look like ours), it is another stream's, or drivers have left traces that it knows nothing of, so that the missing
    records may come back. Raises ControlLogError where the log can't be folded, StorageError.
    """
    control = control_folder(spec.checkpoint)
    for _ in range(_LOOKS):
        seen = highest_epoch(driver_instances(storage, control))
        state = load_and_keep(storage, control)
        if state.is_empty or state.stream != spec.name or seen >= state.next_epoch:
            return False
        if state.newest and state.newest.is_open and not state.newest.submission:
            return False  # A submit is under way: a record that takes its number would cost it its driver.
        if str(verdict) == (state.verdict or Verdict.OK):
            return True
        body = VerdictChanged(before=state.verdict, after=str(verdict), rules=rules)
        record = new_record(
            body, number=state.next_number, clock=clock, author=author, reason="the checkpoint was checked"
        )
        try:
            ControlLog(storage, control).append(record)
        except AppendRefusedError:
            continue
        save_snapshot_if_due(storage, control, state, record)
        return True
    return False
