"""Why a driver ended, from what it left behind."""

from dataclasses import dataclass

from streamops.control.records import Outcome
from streamops.restart.failure_class import DEFAULT_REMEDIES, FailureClass, Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is known of a driver's end."""

    outcome: Outcome
    error_classes: tuple[str, ...] = ()
    text: str = ""
    exit_code: int | None = None
    has_progressed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """One answer: the class, what helps, and why it was answered so."""

    failure_class: FailureClass
    remedy: Remedy
    rule: str
    evidence: str


def classify(ending: Ending) -> Classification:
    """The failure class of an ending."""
    failure_class = _BY_OUTCOME.get(ending.outcome, FailureClass.UNKNOWN)
    return Classification(
        failure_class=failure_class, remedy=DEFAULT_REMEDIES[failure_class], rule="outcome", evidence=""
    )


_BY_OUTCOME = {
    Outcome.DIED: FailureClass.KILLED,
    Outcome.KILLED: FailureClass.KILLED,
    Outcome.LAUNCH_FAILED: FailureClass.LAUNCH_FAILED,
    Outcome.FINISHED: FailureClass.ENDED_BY_ITSELF,
    Outcome.STOPPED: FailureClass.STOPPED_BY_REQUEST,
    Outcome.LEASE_LOST: FailureClass.LEASE_LOST,
}
