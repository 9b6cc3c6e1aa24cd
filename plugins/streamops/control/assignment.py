"""What a claim tells its driver: the part of the resolved spec that the driver side needs."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from streamops.control.records import Claimed, ClaimMode
from streamops.errors import ControlLogError


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One driver's work, as its claim gives it."""

    stream: str
    epoch: int
    token: str
    mode: ClaimMode
    job: str
    checkpoint: str
    bootstrap_servers: str
    topics: tuple[str, ...]
    source_options: tuple[tuple[str, str], ...]
    table: str
    dead_letters: str
    trigger_kind: str
    trigger_interval: timedelta
    beat: timedelta
    halt: timedelta
    stop: timedelta


def assignment_of(claim: Claimed) -> Assignment:
    """The assignment in a claim; ControlLogError when the claim was written by something that this version can't read."""
    try:
        spec: dict[str, Any] = json.loads(claim.spec)
        source, sink, timings = spec["source"], spec["sink"], spec["timings"]
        return Assignment(
            stream=claim.stream,
            epoch=claim.epoch,
            token=claim.token,
            mode=claim.mode,
            job=spec["job"],
            checkpoint=spec["checkpoint"],
            bootstrap_servers=source["bootstrap_servers"],
            topics=tuple(source["topics"]),
            source_options=tuple((key, value) for key, value in source["options"]),
            table=sink["table"],
            dead_letters=sink["dead_letters"],
            trigger_kind=spec["trigger"]["kind"],
            trigger_interval=timedelta(seconds=spec["trigger"]["interval"]),
            beat=timedelta(seconds=timings["beat"]),
            halt=timedelta(seconds=timings["halt"]),
            stop=timedelta(seconds=timings["stop"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ControlLogError(
            f"the claim of epoch {claim.epoch} on {claim.stream} does not hold a spec that this version"
            f" understands ({error!r}): supervisor and driver must run the same streamops"
        ) from error
