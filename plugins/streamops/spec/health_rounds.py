"""How all declared streams are looked at, round after round."""

import re
from dataclasses import dataclass
from datetime import timedelta

SHORTEST = timedelta(minutes=1)
"""Airflow needs seconds to start a task; a round that is due again before it has begun is none."""
MOST_SHARDS = 64

CALLABLE_NAME = r"^([A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)?$"
"""`my_alerts:tell`, `company.alerts:oncall.tell`, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRounds:
    """The rounds of `streamops_checkpoint_health`, or of `streamops_retention_coverage`."""

    shards: int = 4
    """Tasks that share the streams of a round; never more than there are streams."""
    every: timedelta = timedelta(minutes=5)
    """From the start of one round to the next. Looking, keeping and telling take 0.9 of it at worst."""
    on_change: str = ""
    """`module:callable`, called with each `VerdictChange`; empty for a line in the log alone."""

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= MOST_SHARDS:
            raise ValueError(f"shards must be from 1 to {MOST_SHARDS}")
        if self.every < SHORTEST:
            raise ValueError("every must be at least a minute")
        if not re.fullmatch(CALLABLE_NAME, self.on_change):
            raise ValueError(f"on_change {self.on_change!r}: module:callable is expected")
