"""Reading a query's failure: every error class that its text holds, not only the outermost."""

import re
import traceback
from typing import Any

from streamops.control.drivers import ExitRecord
from streamops.control.records import Outcome
from streamops.control.texts import CLASSES_KEPT, FAILURE_LIMIT, shortened, shortened_classes


def java_exception(error: BaseException) -> Any | None:
    """What the JVM threw, or None: PySpark keeps it in `_origin`, py4j in `java_exception` (4.2.0, 0.10.9.9)."""
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)


SEARCHED_LIMIT = 1_000_000
"""Characters of a failure's text in which classes are looked for, from both ends: a text may repeat the records of a batch."""

MAX_CAUSES = 20
"""Causes followed; a chain may be a circle."""

_ERROR_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]{3,}(?:\.[A-Z0-9_]+)*)\]")
_JAVA_CLASS = re.compile(r"\b((?:[a-z][a-z0-9_]{0,60}\.){1,20}[A-Z][A-Za-z0-9]{0,120}(?:Exception|Error))\b")
"""Bounded in each part: without, a long line of dots and letters is searched again from each of its dots."""


def error_classes(text: str) -> tuple[str, ...]:
    """Spark's error classes, then Java's exception classes, in order of appearance, each once.

    `StreamingQueryException.getCondition()` says only STREAM_FAILED (4.x), and foreachBatch hides the cause: the whole
    text is searched. Whatever looks like a class counts, so of very many the first and the last are kept.
    """
    searched = shortened(text, SEARCHED_LIMIT)
    spark = shortened_classes(_ERROR_CLASS.findall(searched), CLASSES_KEPT // 2)
    return (*spark, *shortened_classes(_JAVA_CLASS.findall(searched), CLASSES_KEPT // 2))


def failure_text(error: BaseException) -> str:
    """Python's traceback and every cause that the JVM knows.

    The text of a StreamingQueryException holds the outermost two messages only; what went wrong stands below (seen with
    4.2.0: a division by zero in a Delta append shows as TASK_WRITE_FAILED).
    """
    return "".join(traceback.format_exception(error)) + "".join(
        f"Caused by (JVM): {cause}\n" for cause in _java_causes(error)
    )


def _java_causes(error: BaseException) -> list[str]:
    """Each Java exception of the chain as text; none where the JVM has nothing to say, or no longer answers."""
    causes: list[str] = []
    origin = java_exception(error)
    try:
        while origin is not None and len(causes) < MAX_CAUSES:
            causes.append(str(origin.toString()))
            origin = origin.getCause()
    except Exception:
        causes.append("(the JVM stopped answering)")
    return causes


def exit_record(
    *,
    epoch: int,
    instance: str,
    outcome: Outcome,
    at: str,
    text: str,
    batch: int,
    input_rows: int = -1,
    is_batch_final: bool = False,
) -> ExitRecord:
    """The last word of a driver."""
    return ExitRecord(
        epoch=epoch,
        instance=instance,
        outcome=outcome,
        at=at,
        error_classes=error_classes(text) if outcome is Outcome.FAILED else (),
        text=shortened(text, FAILURE_LIMIT),
        batch=batch,
        input_rows=input_rows,
        is_batch_final=is_batch_final,
    )
