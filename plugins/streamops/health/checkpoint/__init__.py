"""Judgement on checkpoints: what is wrong, what a start makes of it, and how to repair it, from facts alone."""

from streamops.health.checkpoint.expectations import Expectations
from streamops.health.checkpoint.judge import Evidence, judge

__all__ = ["Evidence", "Expectations", "judge"]
