"""Judgement on what runs: is it idle, at work, slow, or stuck. Pure: no clock, no files."""

from streamops.liveness.judge import QUICK, Liveness, LivenessKind, Rhythm, is_history_needed, judge_liveness
from streamops.liveness.stall_policy import StallAction, StallPolicy

__all__ = [
    "QUICK",
    "Liveness",
    "LivenessKind",
    "Rhythm",
    "StallAction",
    "StallPolicy",
    "is_history_needed",
    "judge_liveness",
]
