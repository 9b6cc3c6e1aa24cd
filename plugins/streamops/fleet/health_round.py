"""One round of health checks over some streams: look at each, keep what was found, tell what has changed.

Three steps, each over all streams and each with limits, because a place that hangs costs its own answer and no more.
`verdict_keeping` says why a crash between any two of them does no harm.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from streamops.clock import Clock
from streamops.control.records import Author
from streamops.errors import StreamOpsError
from streamops.fleet.bounded_pool import WorkResult, work_on
from streamops.fleet.observe_health import HealthLook, look_at
from streamops.fleet.verdict_change import OnChange
from streamops.fleet.verdict_record import record_verdict
from streamops.fleet.verdict_store import RoundPace, RoundReport, VerdictKeeping, look_of, order_of_round
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.verdict import Verdict

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPorts:
    """What a round works with."""

    storage_for: Callable[[str], Storage]
    clock: Clock
    author: Author
    on_change: OnChange | None = None


def run_round(specs: Sequence[StreamSpec], *, state_root: str, doors: RoundPorts, pace: RoundPace) -> RoundReport:
    """Look at these streams, keep and tell. Raises nothing that a stream or a place gives rise to."""
    keeping = _keeping(state_root, doors, pace)
    away = keeping.trouble()
    look = partial(_look, keeping=keeping, doors=doors, has_history=not away)
    worked = work_on(order_of_round(specs, doors.clock.now()), look, pace=pace.looking)
    looks = tuple(look_of(one, pace=pace.looking, now=doors.clock.now()) for one in worked)
    if away:
        return RoundReport(looks=looks, troubles=(away,))
    begun = [found for one, found in zip(worked, looks, strict=True) if one.fate is not WorkResult.NOT_BEGUN]
    return RoundReport(looks=looks, troubles=keeping.keep_and_tell(begun))


def look_once(spec: StreamSpec, *, state_root: str, doors: RoundPorts, pace: RoundPace) -> HealthLook:
    """One look at one stream, for whoever reads a round's report later: nothing is kept and nobody is told."""
    look = partial(_look, keeping=_keeping(state_root, doors, pace), doors=doors, has_history=True)
    (worked,) = work_on((spec,), look, pace=pace.looking)
    return look_of(worked, pace=pace.looking, now=doors.clock.now())


def _keeping(state_root: str, doors: RoundPorts, pace: RoundPace) -> VerdictKeeping:
    return VerdictKeeping(
        state_root=state_root,
        storage_for=doors.storage_for,
        pace=pace,
        on_change=doors.on_change,
        record=partial(_record, doors=doors),
    )


def _look(spec: StreamSpec, *, keeping: VerdictKeeping, doors: RoundPorts, has_history: bool) -> HealthLook:
    history = keeping.history(spec.name) if has_history else None
    return look_at(
        spec,
        storage_for=doors.storage_for,
        history=history,
        now=doors.clock.now(),
        state_root=keeping.state_root if has_history else "",
    )


def _record(look: HealthLook, verdict: Verdict, *, doors: RoundPorts) -> bool:
    """A log that can't be used takes no verdict: the look is kept all the same, and the next round tries again."""
    storage = doors.storage_for(look.spec.checkpoint)
    try:
        return record_verdict(
            look.spec, verdict, look.sample.rules, storage=storage, clock=doors.clock, author=doors.author
        )
    except StreamOpsError as error:
        log.warning("stream=%s its control log has no record of the verdict: %s", look.spec.name, error)
        return False
