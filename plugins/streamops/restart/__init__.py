"""Judgement on restarts: what Spark will do if started now, whether that is acceptable, and when to try again."""

from streamops.restart.classify import Classification, Ending, classify
from streamops.restart.failure_class import FailureClass, Remedy
from streamops.restart.plan import RestartPlan, Safety, SinkGuarantee, plan_restart
from streamops.restart.policy import (
    RestartAdvice,
    RestartPolicy,
    RestartTiming,
    advise_restart,
    fruitless_row,
    wait_after,
)

__all__ = [
    "Classification",
    "Ending",
    "FailureClass",
    "Remedy",
    "RestartAdvice",
    "RestartPlan",
    "RestartPolicy",
    "RestartTiming",
    "Safety",
    "SinkGuarantee",
    "advise_restart",
    "classify",
    "fruitless_row",
    "plan_restart",
    "wait_after",
]
