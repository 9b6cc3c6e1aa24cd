"""What the reconciler does about its findings. Little: everything else is for a supervisor or a person.

It never stays to watch, so it starts nothing unless it knows that nobody else will. It leaves no sign of attendance
either: a stream that it helped once is still looked after by nobody.
"""

import contextlib
from dataclasses import dataclass, replace
from enum import StrEnum

from streamops.control.attendance import read_attendance
from streamops.control.fold import LogState, fold
from streamops.control.log import ControlLog
from streamops.control.records import ActBegun, ActEnded, Author, Body
from streamops.control.snapshot import save_snapshot_if_due
from streamops.errors import AppendRefusedError, StreamOpsError
from streamops.launch import DriverState, FoundDriver
from streamops.spec import StreamSpec
from streamops.supervisor.act import new_record
from streamops.supervisor.decision import RESTING, Action, Decision
from streamops.supervisor.reconcile.attendance import AIRFLOW
from streamops.supervisor.reconcile.drivers import fault_of, may_be_killed, named
from streamops.supervisor.reconcile.facts import StreamFacts
from streamops.supervisor.reconcile.finding import Finding, Remedy
from streamops.supervisor.reconcile.look import Doors
from streamops.supervisor.supervisor import KILL_PAUSE, MAX_STEPS

KILL_ORPHAN = "kill-orphan"
"""The act, as the control log names it."""
KILL_REASON = "reconcile: the log says that this driver may write no more"
APPEND_TRIES = 5

KILL_LOOKS = 25
"""After a kill, with KILL_PAUSE between two of them: a JVM takes a moment to die."""

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


class Kill(StrEnum):
    """What became of an orphan."""

    GONE = "was killed and is gone"
    LIVES = "was killed and still lives"
    NOT_ALLOWED = "was left alone: the whole log, read again, does not say that it may write no more"
    LOG_MOVED = "was left alone: the log grew meanwhile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairer:
    """Carries remedies out."""

    doors: Doors
    state_root: str
    author: Author

    def repaired(self, finding: Finding, facts: StreamFacts, spec: StreamSpec | None) -> Finding:
        """The finding with what was done about it; trouble with one is told and leaves the others alone."""
        try:
            if finding.remedy is Remedy.KILL_ORPHANS:
                return self._kill_orphans(finding, facts)
            if finding.remedy is Remedy.SETTLE and spec is not None:
                return self._settle(finding, facts, spec)
        except StreamOpsError as error:
            return replace(finding, done=f"could not: {error}")
        return finding

    def _settle(self, finding: Finding, facts: StreamFacts, spec: StreamSpec) -> Finding:
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

    def _kill_orphans(self, finding: Finding, facts: StreamFacts) -> Finding:
        """Each by itself; repaired when nothing is left that the log disowns, nor a second epoch."""
        control_log = ControlLog.of_checkpoint(self.doors.storage_for(facts.checkpoint), facts.checkpoint)
        outcomes = {driver: self._kill_orphan(driver, control_log) for driver in finding.drivers}
        gone = {driver for driver, outcome in outcomes.items() if outcome is Kill.GONE}
        left = [driver for driver in facts.living if driver not in gone and fault_of(driver, facts.state)]
        epochs = set(facts.live_epochs) - {driver.epoch for driver in gone}
        return replace(
            finding,
            is_repaired=not left and len(epochs) <= 1,
            done="; ".join(f"{named(driver)} {outcome}" for driver, outcome in outcomes.items()),
        )

    def _kill_orphan(self, driver: FoundDriver, control_log: ControlLog) -> Kill:
        """Kill a driver that its whole log, read right before, says may write no more. Intent first, outcome after."""
        records = control_log.read()
        if not may_be_killed(driver, records):
            return Kill.NOT_ALLOWED
        plan = named(driver)
        try:
            self._append(ActBegun(act=KILL_ORPHAN, plan=plan), control_log, fold(records), reason=KILL_REASON)
        except AppendRefusedError:
            return Kill.LOG_MOVED
        self.doors.launcher.kill(driver.handle)
        outcome = Kill.GONE if self._has_gone(driver) else Kill.LIVES
        ended = ActEnded(act=KILL_ORPHAN, plan=plan, outcome=outcome)
        for _ in range(APPEND_TRIES):
            with contextlib.suppress(AppendRefusedError):
                self._append(ended, control_log, fold(control_log.read()), reason=KILL_REASON)
                break
        return outcome

    def _has_gone(self, driver: FoundDriver) -> bool:
        for _ in range(KILL_LOOKS):
            if self.doors.launcher.poll(driver.handle).state is DriverState.ENDED:
                return True
            self.doors.clock.sleep(KILL_PAUSE)
        return False

    def _append(self, body: Body, control_log: ControlLog, state: LogState, *, reason: str) -> None:
        record = new_record(body, number=state.next_number, clock=self.doors.clock, author=self.author, reason=reason)
        control_log.append(record)
        save_snapshot_if_due(control_log.storage, control_log.control, state, record)


def _why_not(allowed: frozenset[Action], decision: Decision | None) -> str:
    if not allowed:
        return "nothing: a run of its DAG lives"
    if decision is None or decision.action in RESTING:
        return ""
    return f"nothing: {decision.action} is left to a supervisor"
