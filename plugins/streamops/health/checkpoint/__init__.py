"""Health of a checkpoint: one pure function for each rule, from facts to findings."""

from streamops.health.checkpoint.expectations import Expectations
from streamops.health.checkpoint.judge import judge_checkpoint, judge_logs

__all__ = ["Expectations", "judge_checkpoint", "judge_logs"]
