"""Judgement on checkpoints: what is wrong, what a start makes of it, and how to repair it, from facts alone."""

from streamops.catalogue.expectations import Expectations
from streamops.diagnosis.judge import Evidence, judge

__all__ = ["Evidence", "Expectations", "judge"]
