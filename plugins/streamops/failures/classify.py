"""Why a driver ended, and what helps, from what it left behind; and the cause in one line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from streamops.control.records import Outcome
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.rules import STAGES, FailureRule
from streamops.failures.rules.rule import Loudness, Statement, statements

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverEvidence:
    """What is known of a driver's end."""

    outcome: Outcome
    error_classes: tuple[str, ...] = ()
    """As the exit record names them: also those of a part of the text that was cut out."""
    text: str = ""
    """The exit record's text; without a record the end of the driver's log, or what the launcher said."""
    exit_code: int | None = None
    has_progressed: bool = False
    """Whether this driver had committed a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """One answer, with its reason."""

    failure_class: FailureClass
    remedy: Remedy
    rule: str
    """Id of the row of the table that answered."""
    evidence: str
    """What was found in the text, at most 200 characters; empty where the end itself is the reason."""


def classify(ending: DriverEvidence) -> Classification:
    """The first rule of the table that holds. The same ending always gets the same answer."""
    if ending.outcome is Outcome.FINISHED and ending.error_classes:
        # A query that failed has not finished, whatever its driver's exit code was (kubeflow/spark-operator#1402).
        ending = replace(ending, outcome=Outcome.FAILED)
    heard = statements(_complete(ending))
    for stage in STAGES:
        for voice in Loudness:
            for rule in stage:
                if (evidence := _evidence(rule, ending, heard, voice)) is not None:
                    return Classification(
                        failure_class=rule.failure_class, remedy=rule.remedy, rule=rule.id, evidence=evidence
                    )
    raise AssertionError(f"no rule for outcome {ending.outcome}: the table's last stage must name each")


def _evidence(
    rule: FailureRule, ending: DriverEvidence, heard: Mapping[Loudness, Statement], voice: Loudness
) -> str | None:
    """What proves the rule in this voice; empty where no word is needed, None where it does not hold."""
    if rule.outcomes and ending.outcome not in rule.outcomes:
        return None
    if rule.exit_codes and ending.exit_code not in rule.exit_codes:
        return None
    if rule.has_progressed not in (None, ending.has_progressed):
        return None
    if not rule.needs_text:
        return ""
    return rule.evidence(heard[voice]) if voice <= rule.faintest else None


def _complete(ending: DriverEvidence) -> str:
    """The text, and the error classes that it no longer shows since its middle was cut out."""
    unseen = [name for name in ending.error_classes if name not in ending.text]
    return ending.text + "".join(f"\n[{name}]" if name.isupper() else f"\n{name}" for name in unseen)
