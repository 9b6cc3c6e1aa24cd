"""Why a driver ended, and what helps, from what it left behind."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamops.control.records import Outcome
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.rules import STAGES, FailureRule
from streamops.failures.rules.reading import Loudness, Statement, statements


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
