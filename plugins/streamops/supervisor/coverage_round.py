"""One round of retention coverage over some streams: one scan a cluster, looks kept, changes of verdict told.

Checkpoints are read first, each with a limit of its own, then each cluster is asked once for all its streams. A place or a
cluster that hangs costs its own streams' answers (`unknown`) and no more. Nothing but `coverage.json` is written beside a
checkpoint, no offset is committed, and no consumer group is joined.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from streamops.clock import Clock
from streamops.errors import StreamOpsError
from streamops.health.checkpoint.sample import HealthSample
from streamops.health.verdict import Verdict
from streamops.kafka.access import KafkaAccess
from streamops.kafka.broker import Broker
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.supervisor.checkup_text import printable
from streamops.supervisor.coverage_history import write_past
from streamops.supervisor.health_look import HealthLook
from streamops.supervisor.lag import StreamLag, unknown_lag
from streamops.supervisor.lag_lines import lag_lines
from streamops.supervisor.lag_look import LagDoors, ReadStream, lags_in, read_stream
from streamops.supervisor.timed_work import Fate, Pace, work_on
from streamops.supervisor.verdict_change import OnChange, Subject
from streamops.supervisor.verdict_keeping import (
    RoundPace,
    RoundReport,
    VerdictKeeping,
    order_of_round,
    reason_of,
    why_blind,
)

log = logging.getLogger(__name__)

FOLDER = "coverage"
"""Below the state root: the verdicts. What was seen of the offsets lies beside the control log of each stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageDoors:
    """What a round works with."""

    storage_for: Callable[[str], Storage]
    access_for: Callable[[StreamSpec], KafkaAccess]
    """Asked in the round's own thread; raises SettingsError where the credentials can't be had."""
    broker_for: Callable[[KafkaAccess], Broker]
    clock: Clock
    on_change: OnChange | None = None

    @property
    def looking(self) -> LagDoors:
        """Those through which nothing is changed."""
        return LagDoors(
            storage_for=self.storage_for, access_for=self.access_for, broker_for=self.broker_for, clock=self.clock
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveragePace:
    """How long each step may take."""

    reading: Pace
    """Checkpoints."""
    asking: Pace
    """Clusters, at most so many seats at a time; a scan is bounded by its own requests as well."""
    remembering: Pace
    verdicts: RoundPace
    confirmed_after: timedelta
    """An odd answer of a cluster counts when rounds have had it for so long: two of them."""

    @classmethod
    def within(cls, every: timedelta) -> "CoveragePace":
        """The paces for a round that comes each so often; at worst they sum up to 0.95 of it."""
        limit = min(timedelta(seconds=60), every / 10)
        return cls(
            reading=Pace(limit=limit / 2, budget=every * 0.15),
            asking=Pace(seat=limit, limit=limit, budget=every * 0.1),
            remembering=Pace(limit=every / 20, budget=every / 10),
            verdicts=RoundPace(
                looking=Pace(limit=every / 20, budget=every / 20),
                keeping=Pace(limit=every / 20, budget=every / 10),
                telling=Pace(seats=1, seat=every / 20, limit=every / 20, budget=every / 10),
                patience=every * 0.9,
            ),
            confirmed_after=every / 2,
        )


def run_coverage_round(
    specs: Sequence[StreamSpec], *, state_root: str, doors: CoverageDoors, pace: CoveragePace
) -> RoundReport:
    """Look at these streams, keep and tell. Raises nothing that a stream, a place or a cluster gives rise to."""
    keeping = VerdictKeeping(
        state_root=state_root,
        storage_for=doors.storage_for,
        pace=pace.verdicts,
        on_change=doors.on_change,
        subject=Subject.RETENTION,
        folder=FOLDER,
    )
    away = keeping.trouble()
    order = order_of_round(specs, doors.clock.now())
    lags = _lags(order, doors, pace)
    worked = work_on(lags, partial(_remember, storage_for=doors.storage_for), pace=pace.remembering)
    forgotten = tuple(
        f"{one.job[0].name}: its looks are not kept: {reason_of(one)}" for one in worked if one.fate is not Fate.DONE
    )
    looks = tuple(coverage_look(spec, lag) for spec, lag in lags)
    if away:
        return RoundReport(looks=looks, troubles=(away, *forgotten))
    return RoundReport(looks=looks, troubles=(*forgotten, *keeping.keep_and_tell(looks)))


def look_at_coverage(spec: StreamSpec, *, doors: CoverageDoors, pace: CoveragePace) -> HealthLook:
    """One look at one stream, for whoever reads a round's report later: nothing is kept and nobody is told."""
    ((_, lag),) = _lags([spec], doors, pace)
    return coverage_look(spec, lag)


def coverage_look(spec: StreamSpec, lag: StreamLag) -> HealthLook:
    """A lag as rounds keep it and as their reports show it."""
    sample = HealthSample(at=lag.at, verdict=lag.verdict, rules=(lag.rule,) if lag.rule else ())
    is_blind = lag.verdict is Verdict.UNKNOWN and not lag.partitions
    return HealthLook(
        spec=spec, sample=sample, report=lag_lines(lag), trouble=printable(lag.reason) if is_blind else ""
    )


Lags = list[tuple[StreamSpec, StreamLag]]


def _lags(specs: Sequence[StreamSpec], doors: CoverageDoors, pace: CoveragePace) -> Lags:
    read = work_on(specs, lambda spec: read_stream(spec, doors.storage_for(spec.checkpoint)), pace=pace.reading)
    found: dict[str, StreamLag] = {}
    clusters: dict[KafkaAccess, list[ReadStream]] = {}
    for one in read:
        if one.answer is None:
            found[one.job.name] = _blind(one.job, why_blind(one, pace.reading), doors)
            continue
        try:
            clusters.setdefault(doors.access_for(one.job), []).append(one.answer)
        except StreamOpsError as error:
            found[one.job.name] = _blind(one.job, str(error), doors)
    ask = partial(_ask, doors=doors.looking, confirmed_after=pace.confirmed_after)
    for asked in work_on(clusters.items(), ask, pace=pace.asking):
        for stream in asked.job[1]:
            answer = (asked.answer or {}).get(stream.spec.name)
            why = f"{stream.spec.source.bootstrap_servers}: {why_blind(asked, pace.asking)}"
            found[stream.spec.name] = answer or _blind(stream.spec, why, doors)
    return [(spec, found[spec.name]) for spec in specs]


def _ask(
    cluster: tuple[KafkaAccess, Sequence[ReadStream]], *, doors: LagDoors, confirmed_after: timedelta
) -> dict[str, StreamLag]:
    access, streams = cluster
    return lags_in(access, streams, doors=doors, confirmed_after=confirmed_after)


def _blind(spec: StreamSpec, why: str, doors: CoverageDoors) -> StreamLag:
    return unknown_lag(spec.name, why, at=doors.clock.now())


def _remember(seen: tuple[StreamSpec, StreamLag], *, storage_for: Callable[[str], Storage]) -> None:
    spec, lag = seen
    if lag.past is not None:
        write_past(storage_for(spec.checkpoint), spec.checkpoint, lag.past)
