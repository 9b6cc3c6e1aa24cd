"""What is put on record when a driver has ended: how, why by class, and what its log said last."""

import os
from dataclasses import replace
from typing import BinaryIO

from streamops.control.records import ClaimMode, DriverEnded, Outcome, Position
from streamops.control.state import Epoch
from streamops.control.texts import FAILURE_LIMIT, shortened, shortened_classes
from streamops.errors import ObjectNotFoundError, StorageError
from streamops.failures.classify import DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.storage.local import open_regular
from streamops.supervision.decision import Decision

TAIL_LIMIT = 1024 * 1024
"""Bytes. A longer end of the log is cut at its front, so that a stream's log of any size costs the same."""


def tail(path: str, lines: int) -> list[str]:
    """The last lines, taken from the last MiB at most. Raises ObjectNotFoundError, StorageError."""
    try:
        with open_log(path) as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - TAIL_LIMIT)
            file.seek(start)
            content = file.read(TAIL_LIMIT)
    except FileNotFoundError as error:
        raise ObjectNotFoundError(f"driver log {path} does not exist on this host") from error
    except OSError as error:
        raise StorageError(f"driver log {path} can't be read: {error.strerror}") from error
    except ValueError as error:  # A null character: no such path can be.
        raise StorageError(f"driver log {path!r} can't be read: {error}") from error
    found = text_lines(content)
    if start and len(found) > 1:
        del found[0]  # Cut in the middle.
    return found[-lines:] if lines > 0 else []


def open_log(path: str) -> BinaryIO:
    """A driver's log as its launcher made it. OSError for anything else at its place, a link to another file among it.

    The path comes from a record that others may have written, and who is on call may read more than they.
    """
    return open_regular(path, flags=os.O_NOFOLLOW)


def text_lines(content: bytes) -> list[str]:
    """The lines in a piece of a log; bytes that are not UTF-8 are shown as �."""
    lines = content.decode(errors="replace").split("\n")
    if lines[-1] == "":
        del lines[-1]
    return [line.rstrip("\r") for line in lines]


LOG_LINES = 200
"""Of a driver that left no exit record: enough for a stack trace and what led to it."""

_SPEECHLESS = frozenset({Outcome.DIED, Outcome.KILLED, Outcome.LAUNCH_FAILED})
"""Ends of which the log alone may tell the reason: an error of spark-submit, a JVM out of memory."""


def driver_end(decision: Decision, epoch: Epoch, *, position: Position) -> DriverEnded:
    """The record of an end that was decided to be proven."""
    if decision.outcome is None:
        raise AssertionError("an end without an outcome was decided")
    exit_record = decision.exit
    found, position = position, own_position(position, decision, epoch)
    # Cut once more: a driver of an older version, or a stranger's hand, has left as much as it liked.
    error_classes = shortened_classes(exit_record.error_classes) if exit_record else ()
    text = shortened(exit_record.text, FAILURE_LIMIT) if exit_record else _last_words(epoch, decision.outcome)
    ending = DriverEvidence(
        outcome=decision.outcome,
        error_classes=error_classes,
        text=text,
        exit_code=decision.exit_code,
        has_progressed=position.commit > epoch.claim.position.commit,
    )
    judged = classify(ending)
    if judged.failure_class is FailureClass.CONCURRENT_WRITER and judged.remedy is Remedy.NEVER:
        # What a restart may heal is a conflict about the table alone: the batch in the checkpoint is the driver's own.
        position = own_position(found, decision, epoch, has_met_another=True)
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


def own_position(found: Position, decision: Decision, epoch: Epoch, *, has_met_another: bool = False) -> Position:
    """How far the driver itself has brought its query, of what the checkpoint holds now: the rest is somebody else's.

    A driver runs one batch after the other, so behind the newest that it has run it can have planned one more; none that
    it lost to another writer. Where its last word on that is missing (it was killed), or can't tell (a continuous query),
    the checkpoint has it, and `start_rules` looks at when its newest batch was planned.
    """
    if epoch.claim.mode is ClaimMode.BACKFILL:
        return found  # Its checkpoint is its own by its very name, and holds entries that were prepared.
    begun = epoch.claim.position
    query_id = begun.query_id or decision.query_id or found.query_id
    newest_run = max(decision.exit.batch if decision.exit else -1, decision.last_batch, begun.offset)
    if found.query_id and found.query_id != query_id:
        return replace(begun, query_id=query_id, offset=newest_run, commit=max(begun.commit, decision.last_batch))
    if epoch.foreign_batch is not None:
        last = epoch.foreign_batch - 1
    elif has_met_another:
        last = newest_run
    elif decision.exit and decision.exit.is_batch_final:
        last = newest_run + 1
    else:
        return found
    # Commits ahead of the offsets are damage, which no writer makes: the plan of a start tells of it.
    commit = found.commit if found.commit > found.offset else min(found.commit, last)
    return replace(found, offset=min(found.offset, last), commit=commit)


def _last_words(epoch: Epoch, outcome: Outcome) -> str:
    """The end of the driver's log; empty where it can't be read from here, which holds nothing up."""
    log = epoch.submission.handle.log if epoch.submission else ""
    if not log or outcome not in _SPEECHLESS:
        return ""
    try:
        return "\n".join(tail(log, LOG_LINES))[-FAILURE_LIMIT:]
    except StorageError:
        return ""
