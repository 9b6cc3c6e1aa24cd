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
from typing import Any

from streamops.bounded_pool import Worked, WorkLimits, WorkResult, work_on
from streamops.catalogue.watch import HealthSample
from streamops.clock import Clock
from streamops.control.layout import control_folder
from streamops.diagnosis.checkup_text import printable
from streamops.errors import StreamOpsError
from streamops.fleet.observe_health import HealthLook
from streamops.fleet.verdict_change import OnChange, Subject
from streamops.fleet.verdict_store import (
    RoundPace,
    RoundReport,
    VerdictKeeping,
    order_of_round,
    reason_of,
    why_blind,
)
from streamops.kafka.broker import Broker, KafkaAccess
from streamops.retention.coverage_history import write_past
from streamops.retention.lag import StreamLag, lag_lines, unknown_lag
from streamops.retention.observe_lag import LagPorts, ReadStream, lags_in, read_stream
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.verdict import Verdict

log = logging.getLogger(__name__)

FOLDER = "coverage"
"""Below the state root: the verdicts. What was seen of the offsets lies beside the control log of each stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveragePorts:
    """What a round works with."""

    storage_for: Callable[[str], Storage]
    access_for: Callable[[StreamSpec], KafkaAccess]
    """Asked in the round's own thread; raises SettingsError where the credentials can't be had."""
    broker_for: Callable[[KafkaAccess], Broker]
    clock: Clock
    on_change: OnChange | None = None

    @property
    def looking(self) -> LagPorts:
        """Those through which nothing is changed."""
        return LagPorts(
            storage_for=self.storage_for, access_for=self.access_for, broker_for=self.broker_for, clock=self.clock
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveragePace:
    """How long each step may take."""

    reading: WorkLimits
    """Checkpoints."""
    asking: WorkLimits
    """Clusters, at most so many seats at a time; a scan is bounded by its own requests as well."""
    remembering: WorkLimits
    verdicts: RoundPace
    confirmed_after: timedelta
    """An odd answer of a cluster counts when rounds have had it for so long: two of them."""

    @classmethod
    def within(cls, every: timedelta) -> "CoveragePace":
        """The paces for a round that comes each so often; at worst they sum up to 0.95 of it."""
        limit = min(timedelta(seconds=60), every / 10)
        return cls(
            reading=WorkLimits(limit=limit / 2, budget=every * 0.15),
            asking=WorkLimits(seat=limit, limit=limit, budget=every * 0.1),
            remembering=WorkLimits(limit=every / 20, budget=every / 10),
            verdicts=RoundPace(
                looking=WorkLimits(limit=every / 20, budget=every / 20),
                keeping=WorkLimits(limit=every / 20, budget=every / 10),
                telling=WorkLimits(seats=1, seat=every / 20, limit=every / 20, budget=every / 10),
                patience=every * 0.9,
            ),
            confirmed_after=every / 2,
        )


def run_coverage_round(
    specs: Sequence[StreamSpec], *, state_root: str, doors: CoveragePorts, pace: CoveragePace
) -> RoundReport:
    """Look at these streams, keep and tell. Raises nothing that a stream, a place or a cluster gives rise to.

    Streams that read no Kafka are passed by: Kafka keeps nothing for them.
    """
    keeping = VerdictKeeping(
        state_root=state_root,
        storage_for=doors.storage_for,
        pace=pace.verdicts,
        on_change=doors.on_change,
        subject=Subject.RETENTION,
        folder=FOLDER,
    )
    away = keeping.trouble()
    order = order_of_round([spec for spec in specs if spec.reads_kafka], doors.clock.now())
    seen = _seen(order, doors, pace)
    worked = work_on(seen, partial(_remember, storage_for=doors.storage_for), pace=pace.remembering)
    forgotten = tuple(
        f"{one.job.spec.name}: its looks are not kept: {reason_of(one)}"
        for one in worked
        if one.fate is not WorkResult.DONE
    )
    looks = tuple(coverage_look(one.spec, one.lag) for one in seen)
    if away:
        return RoundReport(looks=looks, troubles=(away, *forgotten))
    begun = [look for one, look in zip(seen, looks, strict=True) if one.is_begun]
    return RoundReport(looks=looks, troubles=(*forgotten, *keeping.keep_and_tell(begun)))


def look_at_coverage(spec: StreamSpec, *, doors: CoveragePorts, pace: CoveragePace) -> HealthLook:
    """One look at one stream, for whoever reads a round's report later: nothing is kept and nobody is told."""
    (seen,) = _seen([spec], doors, pace)
    return coverage_look(spec, seen.lag)


def look_at_coverages(
    specs: Sequence[StreamSpec], *, doors: CoveragePorts, pace: CoveragePace
) -> tuple[HealthLook, ...]:
    """One look at each of these streams, which all read Kafka, as far as the time goes; nothing is kept and nobody is told."""
    return tuple(coverage_look(seen.spec, seen.lag) for seen in _seen(specs, doors, pace) if seen.is_begun)


def coverage_look(spec: StreamSpec, lag: StreamLag) -> HealthLook:
    """A lag as rounds keep it and as their reports show it."""
    sample = HealthSample(at=lag.at, verdict=lag.verdict, rules=(lag.rule,) if lag.rule else ())
    is_blind = lag.verdict is Verdict.UNKNOWN and not lag.partitions
    return HealthLook(
        spec=spec,
        sample=sample,
        report=lag_lines(lag),
        summary=printable(lag.reason),
        trouble=printable(lag.reason) if is_blind else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a round saw of a stream."""

    spec: StreamSpec
    lag: StreamLag
    is_begun: bool = True
    """False where the time of the round was over before anybody looked: that says nothing of the stream."""


def _seen(specs: Sequence[StreamSpec], doors: CoveragePorts, pace: CoveragePace) -> list[_Seen]:
    """Each stream once."""
    seen: list[_Seen] = []
    clusters: dict[KafkaAccess, list[ReadStream]] = {}
    for read in work_on(specs, partial(_read, doors=doors), pace=pace.reading):
        if read.answer is None:
            seen.append(_blind(read.job, read, pace.reading, doors))
            continue
        try:
            clusters.setdefault(doors.access_for(read.job), []).append(read.answer)
        except Exception as error:
            # Secrets backends raise what they like.
            reason = str(error) if isinstance(error, StreamOpsError) else f"{type(error).__name__}: {error}"
            seen.append(_Seen(spec=read.job, lag=unknown_lag(read.job.name, reason, at=doors.clock.now())))
    ask = partial(_ask, doors=doors.looking, confirmed_after=pace.confirmed_after)
    for asked in work_on(clusters.items(), ask, pace=pace.asking):
        for stream in asked.job[1]:
            if asked.answer is None:
                seen.append(_blind(stream.spec, asked, pace.asking, doors))
            else:
                seen.append(_Seen(spec=stream.spec, lag=asked.answer[stream.spec.name]))
    return seen


def _read(spec: StreamSpec, *, doors: CoveragePorts) -> ReadStream:
    return read_stream(spec, doors.storage_for(spec.checkpoint))


def _ask(
    cluster: tuple[KafkaAccess, Sequence[ReadStream]], *, doors: LagPorts, confirmed_after: timedelta
) -> dict[str, StreamLag]:
    access, streams = cluster
    return lags_in(access, streams, doors=doors, confirmed_after=confirmed_after)


def _blind(spec: StreamSpec, worked: Worked[Any, Any], pace: WorkLimits, doors: CoveragePorts) -> _Seen:
    place = "" if worked.job is spec else f"{spec.kafka.bootstrap_servers}: "
    lag = unknown_lag(spec.name, f"{place}{why_blind(worked, pace)}", at=doors.clock.now())
    return _Seen(spec=spec, lag=lag, is_begun=worked.fate is not WorkResult.NOT_BEGUN)


def _remember(seen: _Seen, *, storage_for: Callable[[str], Storage]) -> None:
    """Beside a checkpoint or a control log that is there: below a bare mount point no folder is made for it."""
    storage, checkpoint = storage_for(seen.spec.checkpoint), seen.spec.checkpoint
    is_there = storage.list(checkpoint) or storage.list(control_folder(checkpoint))
    if seen.lag.past is not None and is_there:
        write_past(storage, checkpoint, seen.lag.past)
