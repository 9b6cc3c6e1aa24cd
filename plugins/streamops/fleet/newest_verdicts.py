"""The newest verdicts on streams, for whoever asks now: what the rounds keep, or a fresh look. Nothing is kept, nobody is told.

A kept verdict counts while it is younger than its round and than the claim of the driver that lives. A stream that stands still
is looked at anew: what has happened to its checkpoint since the last round, damage or repair, is what its next start meets.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamops.bounded_pool import WorkLimits, WorkResult, work_on
from streamops.clock import Clock
from streamops.errors import StreamOpsError
from streamops.fleet.coverage_round import FOLDER, CoveragePace, CoveragePorts, look_at_coverages
from streamops.fleet.health_history import CHECKPOINTS, HealthHistory
from streamops.fleet.observe_health import NOTHING_THERE, HealthLook, look_at
from streamops.fleet.verdict_store import order_of_round, why_blind
from streamops.kafka.broker import Broker, KafkaAccess
from streamops.spec import StreamSpec
from streamops.spec.health_rounds import HealthRounds
from streamops.storage import Storage
from streamops.verdict import DatedVerdict, StreamVerdicts, Verdict

log = logging.getLogger(__name__)

LIMITS = WorkLimits(limit=timedelta(seconds=5), budget=timedelta(seconds=20))
"""Somebody waits for the answer."""
ASKING = CoveragePace.within(timedelta(minutes=1))
LATE = 1.5
"""Rounds: a verdict of the last round is kept when the next one has ended, which takes a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictPorts:
    """Where verdicts come from."""

    state_root: str
    storage_for: Callable[[str], Storage]
    access_for: Callable[[StreamSpec], KafkaAccess]
    """Raises SettingsError where the credentials can't be had."""
    broker_for: Callable[[KafkaAccess], Broker]
    clock: Clock
    checkpoint_health: HealthRounds
    retention_coverage: HealthRounds


def newest_verdicts(
    specs: Sequence[StreamSpec], running_since: Mapping[str, datetime], doors: VerdictPorts
) -> dict[str, StreamVerdicts]:
    """By stream. `running_since`: of those whose driver gets on, when it was claimed; the others are looked at anew.

    What gives no answer in time has the verdict `unknown`; where the time does not suffice for all, some have none.
    """
    checkpoints = _checkpoints(specs, running_since, doors)
    coverages = _coverages([spec for spec in specs if spec.reads_kafka], running_since, doors)
    return {
        spec.name: StreamVerdicts(checkpoint=checkpoints.get(spec.name), retention=coverages.get(spec.name))
        for spec in specs
    }


def _checkpoints(
    specs: Sequence[StreamSpec], running_since: Mapping[str, datetime], doors: VerdictPorts
) -> dict[str, DatedVerdict]:
    def judge(spec: StreamSpec) -> DatedVerdict:
        now = doors.clock.now()
        history = HealthHistory(doors.storage_for(doors.state_root), doors.state_root, spec.name, folder=CHECKPOINTS)
        claimed = running_since.get(spec.name)
        kept = _kept(history, now, doors.checkpoint_health, since=claimed) if claimed else None
        if kept:
            return kept
        look = look_at(spec, storage_for=doors.storage_for, history=history, now=now, state_root=doors.state_root)
        is_starting = claimed is not None and now - claimed <= spec.timings.start
        if is_starting and look.verdict is Verdict.UNKNOWN and look.sample.rules == NOTHING_THERE:
            # Its first driver has its time to write the first file.
            return DatedVerdict(verdict=Verdict.OK, at=now)
        return _dated(look)

    worked = work_on(order_of_round(specs, doors.clock.now()), judge, pace=LIMITS)
    return {
        one.job.name: one.answer
        or DatedVerdict(verdict=Verdict.UNKNOWN, at=doors.clock.now(), reason=why_blind(one, LIMITS))
        for one in worked
        if one.fate is not WorkResult.NOT_BEGUN
    }


def _coverages(
    specs: Sequence[StreamSpec], running_since: Mapping[str, datetime], doors: VerdictPorts
) -> dict[str, DatedVerdict]:
    """The kept ones first: the others are asked for together, one scan a cluster."""

    def kept_for(spec: StreamSpec) -> DatedVerdict | None:
        history = HealthHistory(doors.storage_for(doors.state_root), doors.state_root, spec.name, folder=FOLDER)
        return _kept(history, doors.clock.now(), doors.retention_coverage, since=running_since[spec.name])

    running = [spec for spec in specs if spec.name in running_since]
    found = {one.job.name: one.answer for one in work_on(running, kept_for, pace=LIMITS) if one.answer}
    ports = CoveragePorts(
        storage_for=doors.storage_for, access_for=doors.access_for, broker_for=doors.broker_for, clock=doors.clock
    )
    left = [spec for spec in specs if spec.name not in found]
    return found | {look.spec.name: _dated(look) for look in look_at_coverages(left, doors=ports, pace=ASKING)}


def _kept(history: HealthHistory, now: datetime, rounds: HealthRounds, *, since: datetime) -> DatedVerdict | None:
    """The verdict of the last round; None where there was none lately, or since then, or where it can't be read."""
    try:
        entry = history.newest(now)
    except StreamOpsError as error:
        log.info("no kept verdict: %s", error)
        return None
    if entry is None or entry.sample.at < since or not timedelta(0) <= now - entry.sample.at <= rounds.every * LATE:
        return None
    return _verdict(entry.sample.verdict, entry.sample.at, entry.trouble or ", ".join(entry.sample.rules))


def _dated(look: HealthLook) -> DatedVerdict:
    return _verdict(look.verdict, look.sample.at, look.summary or look.line)


def _verdict(verdict: Verdict, at: datetime, reason: str) -> DatedVerdict:
    return DatedVerdict(verdict=verdict, at=at, reason="" if verdict is Verdict.OK else reason)
