"""Reads what the reconciler compares. Reads only.

One look at the process table and one at the registry for all streams; for each stream one snapshot, the end of its log
and one sign. The orchestrator is asked about the rest: one call a stream, more only where nobody attends.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from streamops.backfill.status import BackfillFacts, BackfillPorts, read_backfills
from streamops.bounded_pool import WorkLimits, work_on
from streamops.clock import Clock
from streamops.control.attendance import read_attendance
from streamops.control.drivers import read_traces
from streamops.control.layout import control_folder
from streamops.control.log import read_record
from streamops.control.records import VerdictChanged
from streamops.control.registry import RegistryEntry, read_registry
from streamops.control.snapshot import load_state
from streamops.control.state import LogState
from streamops.errors import StreamOpsError
from streamops.launch import DriverState, DriverStatus, FoundDriver, Launcher, why_unseen
from streamops.reconcile.facts import (
    ALIVE,
    GRACE,
    DeclarationState,
    DeclaredStreams,
    FleetFacts,
    OrchestratorFacts,
    StreamFacts,
    overdue,
)
from streamops.spec import Mode, StreamSpec
from streamops.storage import Storage
from streamops.supervision.observation import busy_query
from streamops.supervision.supervisor import Look, Supervisor
from streamops.verdict import StreamVerdicts

log = logging.getLogger(__name__)

S = TypeVar("S")
T = TypeVar("T")

LONGEST_ROUND = timedelta(minutes=10)
"""For all streams: nobody waits longer for a report."""
MOST_VERDICTS = 50
"""Records in a row that are read to find one that is no verdict."""
PATIENCE = timedelta(seconds=15)
"""How long one stream may take before it counts as unreadable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcilePorts:
    """What the reconciler works with."""

    storage_for: Callable[[str], Storage]
    launcher: Launcher
    clock: Clock
    supervisor_of: Callable[[StreamSpec], Supervisor]
    verdicts_of: Callable[[Sequence[StreamSpec], Mapping[str, datetime]], Mapping[str, StreamVerdicts]] = (
        lambda specs, _: {}
    )
    """The newest verdicts on streams, by name; the second argument tells of those whose driver lives when it was claimed."""
    orchestrator: OrchestratorFacts | None = None
    patience: timedelta = PATIENCE


def fleet_facts(declared: DeclaredStreams, doors: ReconcilePorts) -> FleetFacts:
    """Everything about the declared streams, and about those that were declared once.

    The process table is read before any log: a driver that is in it has been claimed before, so a log that does not
    know it does not know it.
    """
    at = doors.clock.now()
    troubles: list[str] = []
    living = _asked(doors.launcher.living, "the process table", troubles) or ()
    registry = _asked(
        lambda: read_registry(doors.storage_for(declared.state_root), declared.state_root), "the registry", troubles
    )
    troubles += [f"a registry entry can't be read: {entry.reason}" for entry in registry.broken] if registry else []
    subjects = _subjects(declared, registry.entries if registry else ())
    by_control: dict[str, tuple[FoundDriver, ...]] = {}
    for driver in living:
        by_control[driver.control] = (*by_control.get(driver.control, ()), driver)
    specs = {spec.name: spec for spec in declared.specs}

    def read(subject: StreamFacts) -> StreamFacts:
        spec = specs[subject.stream] if subject.declaration is DeclarationState.VALID else None
        found = by_control.get(control_folder(subject.checkpoint), ())
        return _stream_facts(subject, spec, found, doors, declared)

    facts = _with_verdicts(_read_all(subjects, read, patience=doors.patience), specs, doors, troubles)
    ours = {control_folder(subject.checkpoint) for subject in subjects}
    return FleetFacts(
        at=at,
        streams=tuple(_with_task(stream, doors, at) for stream in facts),
        strays=tuple(driver for driver in living if driver.control not in ours and _is_stray(driver, doors)),
        troubles=tuple(troubles),
        settings_faults=tuple(text for name, text in declared.wrong if not name),
        settings_age=_age(declared.changed_at, at),
    )


def _subjects(declared: DeclaredStreams, registry: Iterable[RegistryEntry]) -> tuple[StreamFacts, ...]:
    """Whom to look at: streams as declared, wrong ones as far as they were started, and checkpoints left behind."""
    entries = {entry.stream: entry for entry in registry}
    problems: dict[str, tuple[str, ...]] = {}
    for name, text in declared.wrong:
        problems[name] = (*problems.get(name, ()), text)
    valid = [
        StreamFacts(
            stream=spec.name,
            problems=problems.pop(spec.name, ()),
            has_left=spec.name in declared.left,
            checkpoint=spec.checkpoint,
            stop_grace=spec.timings.stop,
            is_scheduled=spec.mode is Mode.SCHEDULED,
        )
        for spec in declared.specs
    ]
    wrong = [
        StreamFacts(
            stream=name,
            declaration=DeclarationState.WRONG,
            problems=texts,
            checkpoint=entries[name].checkpoint if name in entries else "",
        )
        for name, texts in problems.items()
        if name
    ]
    known = {spec.name: spec.checkpoint for spec in declared.specs}
    left = [
        StreamFacts(stream=name, declaration=DeclarationState.GONE, checkpoint=entry.checkpoint)
        for name, entry in entries.items()
        if name not in problems and known.get(name) != entry.checkpoint
    ]
    return (*valid, *wrong, *left)


def _stream_facts(
    subject: StreamFacts,
    spec: StreamSpec | None,
    found: tuple[FoundDriver, ...],
    doors: ReconcilePorts,
    declared: DeclaredStreams,
) -> StreamFacts:
    """The facts of one stream. Drivers are asked for after the log was read: what lives then is no thing of the past."""
    if not subject.checkpoint:
        return subject
    storage, control = doors.storage_for(subject.checkpoint), control_folder(subject.checkpoint)
    state, state_root = load_state(storage, control), declared.state_root
    facts = replace(
        subject,
        state=state,
        statuses=tuple(_statuses(state, storage, control, doors.launcher)),
        living=tuple(driver for driver in found if doors.launcher.poll(driver.handle).state in ALIVE),
        attendance=read_attendance(doors.storage_for(state_root), state_root, subject.stream),
        backfills=_backfills(subject, doors, state_root) if spec else (),
    )
    if not facts.is_meant_to_run or _is_of_another(facts, state):
        return facts
    if facts.live_epochs:
        return _with_wait(facts, spec, doors) if spec and _is_busy(storage, control, facts.live_epochs[-1]) else facts
    look = doors.supervisor_of(spec).look() if spec else None
    seen = look.observation.state if look else state
    changed_at = declared.changed_at if seen.is_empty else _acted_at(storage, control, seen)
    facts = replace(facts, changed_at=changed_at)
    return _with_decision(facts, spec, look) if spec and look else facts


def _statuses(
    state: LogState, storage: Storage, control: str, launcher: Launcher
) -> Iterator[tuple[int, DriverStatus]]:
    for epoch in state.open_epochs:
        if epoch.submission:
            yield epoch.number, launcher.poll(epoch.submission.handle)
        elif unseen := why_unseen(launcher, read_traces(storage, control, epoch.number)):
            yield epoch.number, DriverStatus(state=DriverState.UNKNOWN, evidence=unseen)


def _backfills(subject: StreamFacts, doors: ReconcilePorts, state_root: str) -> tuple[BackfillFacts, ...]:
    ways = BackfillPorts(storage_for=doors.storage_for, launcher=doors.launcher, state_root=state_root)
    return read_backfills(subject.stream, subject.checkpoint, ways)


def _is_busy(storage: Storage, control: str, epoch: int) -> bool:
    """Whether a query of a living driver does not come to the end of a plan or a batch: only then its source is asked for."""
    return any(
        trace.heartbeat and busy_query(trace.heartbeat.queries) for trace in read_traces(storage, control, epoch)
    )


def _with_wait(facts: StreamFacts, spec: StreamSpec, doors: ReconcilePorts) -> StreamFacts:
    """With what its supervisor would do, where that is to wait for what does not answer its driver."""
    decision = doors.supervisor_of(spec).look().decision
    return replace(facts, decision=decision) if decision.waits_for else facts


def _with_decision(facts: StreamFacts, spec: StreamSpec, look: Look) -> StreamFacts:
    """Time by the clock of whoever signs, where it is ahead: most of the log is stamped by it."""
    now = max(look.observation.now, facts.attendance.at) if facts.attendance else look.observation.now
    late = overdue(look, spec, changed_at=facts.changed_at, now=now)
    return replace(facts, decision=look.decision, overdue=late)


def _acted_at(storage: Storage, control: str, state: LogState) -> datetime:
    """When the log last got a record other than a verdict: one that comes and goes must not look like somebody at work."""
    newest = read_record(storage, control, state.next_number - 1)
    record = newest
    while isinstance(record.body, VerdictChanged) and record.number > max(0, newest.number - MOST_VERDICTS):
        record = read_record(storage, control, record.number - 1)
    return record.at


def _is_of_another(facts: StreamFacts, state: LogState) -> bool:
    return bool(state.stream) and state.stream != facts.stream


def _with_task(facts: StreamFacts, doors: ReconcilePorts, at: datetime) -> StreamFacts:
    """Asked in one thread: a task of Airflow has a single line to its server."""
    is_wanted = facts.is_meant_to_run or facts.is_scheduled
    is_supervised = facts.declaration is DeclarationState.VALID and not facts.trouble and is_wanted
    if doors.orchestrator is None or not is_supervised:
        return facts
    in_detail = not facts.is_attended(at)
    return replace(facts, task=doors.orchestrator.task_of(facts.stream, in_detail=in_detail))


def _with_verdicts(
    facts: Sequence[StreamFacts], specs: Mapping[str, StreamSpec], doors: ReconcilePorts, troubles: list[str]
) -> tuple[StreamFacts, ...]:
    """Of what is declared and could be looked at."""
    seen = [one for one in facts if one.declaration is DeclarationState.VALID and not one.trouble]
    running_since = {one.stream: one.newest.claimed.at for one in seen if one.newest and one.live_epochs}
    read = [specs[one.stream] for one in seen]
    found = _asked(lambda: doors.verdicts_of(read, running_since), "the newest verdicts", troubles) or {}
    is_seen = {one.stream for one in seen}
    return tuple(
        replace(one, verdicts=found[one.stream]) if one.stream in is_seen and one.stream in found else one
        for one in facts
    )


def _is_stray(driver: FoundDriver, doors: ReconcilePorts) -> bool:
    """A driver of other settings is none of ours, unless its log is gone: then it should have halted by itself."""
    try:
        state = load_state(doors.storage_for(driver.control), driver.control)
        return state.is_empty and doors.launcher.poll(driver.handle).state in ALIVE
    except StreamOpsError:
        return False
    except Exception:
        # It is a stranger's process: whatever its arguments mean, our streams are judged.
        log.warning("the driver %s can't be placed", driver.handle.process, exc_info=True)
        return False


def written_at(path: str) -> datetime | None:
    """When a settings file was written last; None where that can't be told."""
    try:
        return datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    except OSError:
        return None


def _age(moment: datetime | None, now: datetime) -> timedelta | None:
    """How old; None where that can't be told, nor by a stamp that is far ahead."""
    is_known = moment is not None and moment - now < GRACE
    return max(timedelta(0), now - moment) if moment and is_known else None


def _asked(ask: Callable[[], T], what: str, troubles: list[str]) -> T | None:
    try:
        return ask()
    except StreamOpsError as error:
        troubles.append(f"{what} can't be read: {error}")
    except Exception as error:
        log.warning("%s can't be read", what, exc_info=True)
        troubles.append(f"{what} can't be read: {type(error).__name__}: {error}")
    return None


def _read_all(
    subjects: Sequence[StreamFacts], read: Callable[[StreamFacts], StreamFacts], *, patience: timedelta
) -> tuple[StreamFacts, ...]:
    """Each subject with its facts, in order; a slow or dead place neither holds the others up nor hides them."""
    found = answers(subjects, lambda subject: _read(subject, read), patience=patience)
    silence = f"no answer within {patience.total_seconds():.0f} s"
    return tuple(found.get(number) or replace(subject, trouble=silence) for number, subject in enumerate(subjects))


def answers(subjects: Sequence[S], ask: Callable[[S], T], *, patience: timedelta) -> dict[int, T]:
    """What each subject answers, by its place in the row; without those that took longer than `patience`."""
    worked = work_on(
        range(len(subjects)),
        lambda number: ask(subjects[number]),
        pace=WorkLimits(limit=patience, budget=LONGEST_ROUND),
    )
    return {one.job: one.answer for one in worked if one.answer is not None}


def _read(subject: StreamFacts, read: Callable[[StreamFacts], StreamFacts]) -> StreamFacts:
    try:
        return read(subject)
    except StreamOpsError as error:
        return replace(subject, trouble=str(error))
    except Exception as error:
        # Whatever is wrong with this one stream, the others are judged.
        log.warning("stream=%s can't be read", subject.stream, exc_info=True)
        return replace(subject, trouble=f"{type(error).__name__}: {error}")
