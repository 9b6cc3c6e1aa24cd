"""Why a driver ended, what helps against it, and when to start again."""

from streamops.failures.classify import Classification, DriverEvidence, classify
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.failures.policy import (
    RestartAdvice,
    RestartPolicy,
    RestartTiming,
    advise_restart,
    fruitless_row,
    wait_after,
)

__all__ = [
    "Classification",
    "DriverEvidence",
    "FailureClass",
    "Remedy",
    "RestartAdvice",
    "RestartPolicy",
    "RestartTiming",
    "advise_restart",
    "classify",
    "fruitless_row",
    "wait_after",
]
