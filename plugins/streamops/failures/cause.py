"""Why a driver ended, in one line: the exception of its last traceback, or the deepest cause that its log names."""

import re
from collections.abc import Sequence

from streamops.control.records import Outcome

SHOWN = 300
"""Characters of the line."""

_ASKED_FOR = frozenset({Outcome.STOPPED, Outcome.KILLED, Outcome.FINISHED, Outcome.CONFIRMED_DEAD})
"""Ends that somebody wanted, or that say all there is to say: what the log said last is no error then."""
_TRACEBACK = "Traceback (most recent call last)"
_TERMINATED = "terminated with exception: "
_CAUSE = "Caused by: "
_LOST_TASK = re.compile(r".*\(TID \d+\) \([^)]*\): (.*)")
"""Of a failed stage the last part says what the task failed with."""
_LOGGED = re.compile(r"(?:\S+ \S+ )?(?:ERROR|FATAL) (.*)")
_TOLD_BY_JVM = ("java.lang.OutOfMemoryError", "Error: ", "Exception in thread ")
_NAMED = re.compile(r"\[[A-Z][A-Z0-9_.]+\]")
_SAY_NOTHING = ("py4j.", "org.apache.spark.SparkException", "StreamingQueryException")


def cause_of(outcome: Outcome, text: str, error_classes: Sequence[str] = ()) -> str:
    """The cause in the text that a driver left, or in the end of its log; empty where nobody need be told one.

    With the deepest error class in front where the line does not have it.
    """
    if outcome in _ASKED_FOR:
        return ""
    line = _last_exception(text) or _logged(text)
    if not line and outcome is not Outcome.DIED:
        line = next((line for line in text.strip().split("\n") if not line.startswith("WARN")), "")
    if not _NAMED.search(line):
        telling = [one for one in error_classes if one not in line and not any(word in one for word in _SAY_NOTHING)]
        line = f"[{telling[-1]}] {line}".rstrip() if telling else line
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _last_exception(text: str) -> str:
    """Of the last traceback of Python its exception; of a query's, what ended the query; of one of the JVM, what it says."""
    _, found, last = text.rpartition(_TRACEBACK)
    lines = [line for line in last.split("\n")[1:] if line and not line.startswith((" ", "\t"))] if found else []
    if not lines:
        return ""
    line = lines[0]
    if "Py4JJavaError" in line and len(lines) > 1 and lines[1].startswith(": "):
        line = lines[1].removeprefix(": ")
    line = line.partition(_TERMINATED)[2] or line
    task = _LOST_TASK.match(line)
    return (task[1] or line) if task else line


def _logged(text: str) -> str:
    lines = text.split("\n")
    causes = [line.strip().removeprefix(_CAUSE) for line in lines if line.strip().startswith(_CAUSE)]
    told = [line for line in lines if line.startswith(_TOLD_BY_JVM)]
    errors = [match[1] for line in lines if (match := _LOGGED.match(line))]
    return next((found[-1] for found in (causes, told, errors) if found), "")
