"""What the reconciler does about its findings. Little: everything else is for a supervisor or a person.

It never stays to watch, so it starts nothing unless it knows that nobody else will. It leaves no sign of attendance
either: a stream that it helped once is still looked after by nobody.
"""

import logging
from dataclasses import dataclass, replace

from streamops.control.attendance import read_attendance
from streamops.control.log import ControlLog
from streamops.control.records import Author
from streamops.errors import StreamOpsError
from streamops.reconcile.attendance import AIRFLOW
from streamops.reconcile.drivers import fault_of, named
from streamops.reconcile.facts import StreamFacts
from streamops.reconcile.finding import ReconcileFinding, ReconcileRemedy
from streamops.reconcile.observe import ReconcilePorts
from streamops.reconcile.orphans import OrphanKiller
from streamops.spec import StreamSpec
from streamops.supervision.decision import RESTING, Action, Decision
from streamops.supervision.supervisor import KILL_PAUSE, MAX_STEPS

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
