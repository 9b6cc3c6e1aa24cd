"""Judgement on what runs: is it idle, at work, slow, or stuck. Pure: no clock, no files."""

from streamops.liveness.judge import QUICK, Liveness, LivenessKind, StreamPace, is_history_needed, judge_liveness
from streamops.liveness.pace import StallAction, StallPolicy

__all__ = [
    "QUICK",
    "Liveness",
    "LivenessKind",
    "StallAction",
    "StallPolicy",
    "StreamPace",
    "is_history_needed",
    "judge_liveness",
]
