"""The table of failures: how each is recognised, and in which order."""

from streamops.failures.rules.rule import FailureRule, rules_by_stage
from streamops.failures.rules.table import STAGES, rules

__all__ = ["STAGES", "FailureRule", "rules", "rules_by_stage"]
