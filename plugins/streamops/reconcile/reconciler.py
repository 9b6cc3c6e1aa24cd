"""Compares, repairs what is safe, and kills drivers that the log disowns.

It never stays to watch, so it starts nothing unless it knows that nobody else will. It leaves no sign of attendance
either: a stream that it helped once is still looked after by nobody.
"""

import contextlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamops.clock import Clock
from streamops.control.attendance import read_attendance
from streamops.control.fold import fold
from streamops.control.log import ControlLog
from streamops.control.records import ActBegun, ActEnded, Author, Body, Record
from streamops.control.snapshot import save_snapshot_if_due
from streamops.control.state import LogState
from streamops.control.state_root import require_state_root
from streamops.control.texts import COMPOSED_LIMIT, shortened
from streamops.errors import AppendRefusedError, LaunchError, StreamOpsError
from streamops.launch import DriverState, FoundDriver, Launcher
from streamops.reconcile.attendance import AIRFLOW, fault_of, may_be_killed, named
from streamops.reconcile.facts import DeclaredStreams, FleetFacts, StreamFacts
from streamops.reconcile.finding import (
    FindingStore,
    ReconcileFinding,
    ReconcileRemedy,
    ReconcileSeverity,
    ToldTasks,
    read_book,
    worst,
    write_book,
)
from streamops.reconcile.observe import ReconcilePorts, fleet_facts
from streamops.reconcile.pruner import Pruner
from streamops.reconcile.rules import reconcile
from streamops.spec import StreamSpec
from streamops.supervision.act import new_record
from streamops.supervision.decision import RESTING, Action, Decision
from streamops.supervision.supervisor import KILL_PAUSE, MAX_STEPS

KILL_ORPHAN = "kill-orphan"
"""The act, as the control log names it."""
KILL_REASON = "reconcile: the log says that this driver may write no more"
APPEND_TRIES = 5

KILL_LOOKS = 25
"""After a kill, with KILL_PAUSE between two of them: a JVM takes a moment to die."""

TRY_AGAIN_AFTER = timedelta(hours=1)
"""What failed a minute ago fails again, and a log that nobody shortens must not grow by it every minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillOutcome:
    """What became of an orphan."""

    text: str
    is_gone: bool = False


GONE = KillOutcome(text="was killed and is gone", is_gone=True)
LIVES = KillOutcome(text="was killed and still lives")
NOT_ALLOWED = KillOutcome(text="was left alone: the whole log, read again, does not say that it may write no more")
LOG_MOVED = KillOutcome(text="was left alone: the log grew meanwhile")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanKiller:
    """Kills drivers of one checkpoint."""

    control_log: ControlLog
    launcher: Launcher
    clock: Clock
    author: Author

    def kill(self, driver: FoundDriver) -> KillOutcome:
        """Kill a driver that its whole log, read right before, says may write no more. Intent first, outcome after.

        An intent of ours without an outcome, left by a crash, is carried out; one that failed is not tried again soon.
        """
        records = self.control_log.read()
        if not may_be_killed(driver, records):
            return NOT_ALLOWED
        plan = named(driver)
        last = last_try(records, plan, self.author)
        if last and isinstance(last.body, ActEnded) and _is_fresh(last, self.clock.now()):
            again = last.at + TRY_AGAIN_AFTER
            return KillOutcome(text=f"{last.body.outcome}, tried at {last.at:%H:%M} UTC, again from {again:%H:%M} on")
        if not (last and isinstance(last.body, ActBegun)):
            try:
                self._append(ActBegun(act=KILL_ORPHAN, plan=plan), fold(records))
            except AppendRefusedError:
                return LOG_MOVED
        ending = self._killed(driver)
        self._record(ActEnded(act=KILL_ORPHAN, plan=plan, outcome=ending.text))
        return ending

    def _killed(self, driver: FoundDriver) -> KillOutcome:
        try:
            self.launcher.kill(driver.handle)
            return GONE if self._has_gone(driver) else LIVES
        except LaunchError as error:
            return KillOutcome(text=shortened(f"could not be killed: {error}", COMPOSED_LIMIT))

    def _has_gone(self, driver: FoundDriver) -> bool:
        for _ in range(KILL_LOOKS):
            if self.launcher.poll(driver.handle).state is DriverState.ENDED:
                return True
            self.clock.sleep(KILL_PAUSE)
        return False

    def _record(self, body: Body) -> None:
        for _ in range(APPEND_TRIES):
            with contextlib.suppress(AppendRefusedError):
                self._append(body, fold(self.control_log.read()))
                return

    def _append(self, body: Body, state: LogState) -> None:
        record = new_record(body, number=state.next_number, clock=self.clock, author=self.author, reason=KILL_REASON)
        self.control_log.append(record)
        save_snapshot_if_due(self.control_log.storage, self.control_log.control, state, record)


def last_try(records: Sequence[Record], plan: str, author: Author) -> Record | None:
    """The newest record of this very kill by the same actor on the same host: another one may have more rights."""
    own = (author.actor, author.host)
    tries = (
        record
        for record in reversed(records)
        if isinstance(record.body, ActBegun | ActEnded)
        and (record.body.act, record.body.plan) == (KILL_ORPHAN, plan)
        and (record.by.actor, record.by.host) == own
    )
    return next(tries, None)


def _is_fresh(record: Record, now: datetime) -> bool:
    """A stamp from the future is of a clock that was set back since: it holds nothing up."""
    return timedelta(0) <= now - record.at < TRY_AGAIN_AFTER


log = logging.getLogger(__name__)

RECORDING = frozenset({Action.RECORD_END, Action.KILL})
"""Acts that start nothing: what has ended is recorded, and what is left of it is killed."""

EVERYTHING = frozenset(Action) - RESTING


def mandate(facts: StreamFacts) -> frozenset[Action]:
    """What may be done in the place of the supervisor of an unattended stream.

    Where a run of its DAG lives, nothing: the run is the supervisor, and it may come back. Where the DAG is paused or
    missing, or nobody can say, only what starts nothing: a pause may be meant, and without Airflow's word this may be
    the wrong host for a driver. A start only where the DAG could run, does not, and was it that looked after the stream.
    """
    task, sign = facts.task, facts.attendance
    if task is None or not task.is_present:
        return RECORDING
    if task.living_runs is None or task.living_runs:
        return frozenset()
    was_airflow = sign is not None and sign.by.actor.startswith(AIRFLOW)
    return EVERYTHING if was_airflow and not task.is_paused else RECORDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairer:
    """Carries remedies out."""

    doors: ReconcilePorts
    state_root: str
    author: Author

    def repaired(self, finding: ReconcileFinding, facts: StreamFacts, spec: StreamSpec | None) -> ReconcileFinding:
        """The finding with what was done about it; trouble with one is told and leaves the others alone."""
        try:
            if finding.remedy is ReconcileRemedy.KILL_ORPHANS:
                return self._kill_orphans(finding, facts)
            if finding.remedy is ReconcileRemedy.SETTLE and spec is not None:
                return self._settle(finding, facts, spec)
        except StreamOpsError as error:
            return replace(finding, done=f"could not: {error}")
        except Exception as error:
            # A mistake of ours about one stream: the others are looked after, and the report is written.
            log.exception("stream=%s can't be repaired", finding.stream)
            return replace(finding, done=f"failed: {type(error).__name__}: {error}")
        return finding

    def _settle(self, finding: ReconcileFinding, facts: StreamFacts, spec: StreamSpec) -> ReconcileFinding:
        """Step as a supervisor would, without its signs, within the mandate and while nobody else attends."""
        allowed = mandate(facts)
        supervisor = self.doors.supervisor_of(spec)
        done: list[str] = []
        decision: Decision | None = None
        for _ in range(MAX_STEPS if allowed else 0):
            look = supervisor.look()
            decision = look.decision
            if decision.action not in allowed or self._is_attended(spec):
                break
            supervisor.act(look)
            done.append(decision.action)
            if decision.action is Action.KILL:
                self.doors.clock.sleep(KILL_PAUSE)
        is_repaired = bool(done) and decision is not None and decision.action is Action.KEEP
        return replace(finding, is_repaired=is_repaired, done=", then ".join(done) or _why_not(allowed, decision))

    def _is_attended(self, spec: StreamSpec) -> bool:
        sign = read_attendance(self.doors.storage_for(self.state_root), self.state_root, spec.name)
        return sign is not None and not sign.is_over(self.doors.clock.now())

    def _kill_orphans(self, finding: ReconcileFinding, facts: StreamFacts) -> ReconcileFinding:
        """Each by itself; repaired when nothing is left that the log disowns, nor a second epoch."""
        control_log = ControlLog.of_checkpoint(self.doors.storage_for(facts.checkpoint), facts.checkpoint)
        doors = self.doors
        killer = OrphanKiller(control_log=control_log, launcher=doors.launcher, clock=doors.clock, author=self.author)
        endings = {driver: killer.kill(driver) for driver in finding.drivers}
        gone = {driver for driver, ending in endings.items() if ending.is_gone}
        left = [driver for driver in facts.living if driver not in gone and fault_of(driver, facts.state)]
        epochs = set(facts.live_epochs) - {driver.epoch for driver in gone}
        return replace(
            finding,
            is_repaired=not left and len(epochs) <= 1,
            done="; ".join(f"{named(driver)} {ending.text}" for driver, ending in endings.items()),
        )


def _why_not(allowed: frozenset[Action], decision: Decision | None) -> str:
    if not allowed:
        return "nothing: a run of its DAG lives, or may live"
    if decision is None or decision.action in RESTING:
        return ""
    return f"nothing: {decision.action} is left to a supervisor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One comparison of all that is declared with all that is."""

    streams: int
    """How many were compared."""
    findings: tuple[ReconcileFinding, ...]

    @property
    def severity(self) -> ReconcileSeverity:
        """The worst that is left."""
        return worst(self.findings)

    def at(self, severity: ReconcileSeverity) -> tuple[ReconcileFinding, ...]:
        """Findings of this severity that are not repaired."""
        return tuple(finding for finding in self.findings if finding.severity is severity and not finding.is_repaired)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciler:
    """Compares the streams of one settings file."""

    declared: DeclaredStreams
    doors: ReconcilePorts
    author: Author

    def run(self, *, act: bool) -> Report:
        """Look and judge; with `act` repair what is safe, keep book of what was found, and prune. Without it nothing changes.

        StorageError where the state root is not there: then every stream would look as if nobody had ever started it.
        """
        storage = self.doors.storage_for(self.declared.state_root)
        require_state_root(storage, self.declared.state_root)
        book = read_book(storage, self.declared.state_root)
        facts = fleet_facts(self.declared, self._doors(book))
        facts = replace(facts, first_seen=book.first_seen(facts.streams, facts.at if act else None))
        findings = book.dated(reconcile(facts, facts.at))
        if act:
            findings = self._repaired(findings, facts)
            told = ToldTasks.of(facts.streams, facts.at) if self.doors.orchestrator else book.told
            write_book(
                storage,
                self.declared.state_root,
                FindingStore.of(findings, facts.at, told=told, awaited=facts.first_seen),
            )
            self._prune(facts)
        return Report(streams=len(facts.streams), findings=findings)

    def _prune(self, facts: FleetFacts) -> None:
        """Of streams that can be looked at; what left the settings, or is wrong there, stays as it is."""
        doors, silent = self.doors, {stream.stream for stream in facts.streams if stream.trouble}
        pruner = Pruner(
            storage_for=doors.storage_for,
            launcher=doors.launcher,
            clock=doors.clock,
            state_root=self.declared.state_root,
        )
        pruner.run([spec for spec in self.declared.specs if spec.name not in silent], patience=doors.patience)

    def _doors(self, book: FindingStore) -> ReconcilePorts:
        """Without an orchestrator of its own it takes the word that another reconciler was given a moment ago."""
        if self.doors.orchestrator:
            return self.doors
        return replace(self.doors, orchestrator=book.recently_told(self.doors.clock.now()))

    def _repaired(self, findings: Iterable[ReconcileFinding], facts: FleetFacts) -> tuple[ReconcileFinding, ...]:
        repairer = Repairer(doors=self.doors, state_root=self.declared.state_root, author=self.author)
        subjects = {(stream.stream, stream.checkpoint): stream for stream in facts.streams}
        specs = {spec.name: spec for spec in self.declared.specs}
        return tuple(
            repairer.repaired(finding, subjects[finding.stream, finding.checkpoint], specs.get(finding.stream))
            if finding.stream
            else finding
            for finding in findings
        )
