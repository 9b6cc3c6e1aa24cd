"""What is put on record when a driver has ended: how, why by class, and what its log said last."""

from dataclasses import replace

from streamops.control.records import DriverEnded, Outcome, Position
from streamops.control.state import Epoch
from streamops.errors import StorageError
from streamops.restart import Ending, classify
from streamops.supervisor.decision import Decision
from streamops.supervisor.driver_log import tail

LOG_LINES = 200
"""Of a driver that left no exit record: enough for a stack trace and what led to it."""

TEXT_LIMIT = 16_000
"""Characters kept of them, from the end."""

_SPEECHLESS = frozenset({Outcome.DIED, Outcome.KILLED, Outcome.LAUNCH_FAILED})
"""Ends of which the log alone may tell the reason: an error of spark-submit, a JVM out of memory."""


def driver_end(decision: Decision, epoch: Epoch, *, position: Position) -> DriverEnded:
    """The record of an end that was decided to be proven."""
    if decision.outcome is None:
        raise AssertionError("an end without an outcome was decided")
    exit_record = decision.exit
    error_classes = exit_record.error_classes if exit_record else ()
    text = exit_record.text if exit_record else _last_words(epoch, decision.outcome)
    ending = Ending(
        outcome=decision.outcome,
        error_classes=error_classes,
        text=text,
        exit_code=decision.exit_code,
        has_progressed=position.commit > epoch.claim.position.commit,
    )
    judged = classify(ending)
    # A checkpoint that was put back meanwhile is behind what its driver has told.
    position = replace(position, offset=max(position.offset, decision.last_batch))
    return DriverEnded(
        epoch=decision.epoch,
        outcome=decision.outcome,
        position=position,
        error_classes=error_classes,
        text=text,
        instance=exit_record.instance if exit_record else "",
        failure_class=judged.failure_class,
        remedy=judged.remedy,
        last_sign_at=decision.last_sign_at,
    )


def _last_words(epoch: Epoch, outcome: Outcome) -> str:
    """The end of the driver's log; empty where it can't be read from here, which holds nothing up."""
    log = epoch.submission.handle.log if epoch.submission else ""
    if not log or outcome not in _SPEECHLESS:
        return ""
    try:
        return "\n".join(tail(log, LOG_LINES))[-TEXT_LIMIT:]
    except StorageError:
        return ""
