"""Who looks after a stream that may run, and whether the log disowns a driver that lives. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum

from streamops.control.records import Claimed, DriverEnded, Record
from streamops.control.state import Desire, LogState
from streamops.launch import FoundDriver
from streamops.reconcile.facts import StreamFacts, StreamTask
from streamops.reconcile.finding import FindingKind, ReconcileFinding, ReconcileRemedy, ReconcileSeverity, finding_of
from streamops.status import Phase, StreamStatus


class DriverFault(Enum):
    """Why a living driver should not be there."""

    SUPERSEDED = "was superseded by a newer claim"
    ENDED = "has ended on record"
    FOREIGN_TOKEN = "carries a token that the log does not know"
    AHEAD = "is newer than every claim in the log"
    NO_LOG = "has no control log any more"

    @property
    def is_killable(self) -> bool:
        """Whether the log itself says that this driver may write no more. A log that does not know it says nothing:
        it may be the log that is wrong."""
        return self in (DriverFault.SUPERSEDED, DriverFault.ENDED)


def fault_of(driver: FoundDriver, state: LogState) -> DriverFault | None:
    """Why the log disowns the driver; None when it is the one that may write.

    The fold keeps no claims of older epochs that have ended, so there the number alone speaks; `may_be_killed` looks at
    the token before anything is done.
    """
    if state.is_empty:
        return DriverFault.NO_LOG
    newest = state.newest
    if newest is None or driver.epoch > newest.number:
        return DriverFault.AHEAD
    claims = {epoch.number: epoch.claim for epoch in (*state.open_epochs, newest)}
    claim = claims.get(driver.epoch)
    if claim and claim.token != driver.token:
        return DriverFault.FOREIGN_TOKEN
    if driver.epoch == newest.number:
        return None if newest.is_open else DriverFault.ENDED
    return DriverFault.SUPERSEDED if claim else DriverFault.ENDED


def may_be_killed(driver: FoundDriver, records: Sequence[Record]) -> bool:
    """Whether the whole log knows this very driver by its token, and that it may write no more."""
    tokens = [(record.number, record.body) for record in records if isinstance(record.body, Claimed)]
    own = [number for number, claim in tokens if (claim.token, claim.epoch) == (driver.token, driver.epoch)]
    if len(own) != 1:
        return False
    is_superseded = any(number > own[0] and claim.epoch > driver.epoch for number, claim in tokens)
    ends = (record.body for record in records if record.number > own[0] and isinstance(record.body, DriverEnded))
    return is_superseded or any(end.epoch == driver.epoch for end in ends)


def named(driver: FoundDriver) -> str:
    """A driver as a person can find it."""
    return f"epoch {driver.epoch}, process {driver.handle.process} on {driver.handle.host},"


AIRFLOW = "airflow:"
"""How the names of supervisors begin that live in Airflow."""


def supervision(facts: StreamFacts, now: datetime, *, is_new: bool) -> Iterator[ReconcileFinding]:
    """Who looks after a stream that may run: nobody, or somebody who could not restart it."""
    yield from _never_begun(facts)
    if not (facts.is_meant_to_run or facts.overstays(now)):
        return
    if facts.is_attended(now):
        yield from _watched_in_vain(facts)
        yield from _standing_still(facts)
        return
    if is_new:
        return
    yield _unattended(facts, ReconcileSeverity.CRITICAL)
    if facts.is_meant_to_run and facts.is_down:
        yield _lost(facts)


def _never_begun(facts: StreamFacts) -> Iterator[ReconcileFinding]:
    """A scheduled stream whose DAG begins no runs, though nobody stopped it; during a run it is missed like any other."""
    task = facts.task
    is_resting = facts.is_scheduled and not facts.is_meant_to_run and facts.state.desire is Desire.RUNNING
    if not is_resting or task is None or (task.is_present and not task.is_paused):
        return
    yield finding_of(
        facts,
        FindingKind.PAUSED_DAG if task.is_present else FindingKind.MISSING_DAG,
        ReconcileSeverity.WARNING,
        evidence=_cause(task),
        meaning="no scheduled run of it begins, and its backlog grows",
        repair=_advice(task, facts.stream),
    )


def with_idle_dag(status: StreamStatus, task: StreamTask) -> StreamStatus:
    """The status of a stream of whose DAG Airflow says that it is paused or missing.

    It is the same as the findings above, for whoever asks about the stream.
    """
    is_begun = status.phase is not Phase.NEW or status.attended_at is not None
    is_left = status.desire is Desire.RUNNING and status.phase is not Phase.PARKED and is_begun
    is_airflows = bool(status.unattended) or status.attended_by.startswith(AIRFLOW)
    if is_left and status.phase is Phase.IDLE:
        return replace(status, dag_trouble=f"{_cause(task)}: no scheduled run of it begins")
    if is_left and is_airflows:
        then = "when its driver ends, nobody restarts it" if status.running_spec else "nobody starts it"
        trouble = f"{_cause(task)}: {then}"
        return replace(status, dag_trouble=trouble, needs_attention=True)
    return status


def _unattended(facts: StreamFacts, severity: ReconcileSeverity) -> ReconcileFinding:
    sign = facts.attendance
    if sign:
        evidence = (
            f"unsupervised since {sign.at:%Y-%m-%d %H:%M:%S} UTC, the last sign of {sign.by.actor} on {sign.by.host}"
        )
    else:
        evidence = "no supervisor has ever signed for it"
    reason = _cause(facts.task)
    return finding_of(
        facts,
        FindingKind.UNATTENDED,
        severity,
        evidence=f"{evidence}; {reason}" if reason else evidence,
        meaning=_standing(facts),
        repair=_advice(facts.task, facts.stream),
    )


def _standing(facts: StreamFacts) -> str:
    if not facts.is_meant_to_run:
        return "it was stopped and its driver does not obey: nobody is there to end it"
    if facts.live_epochs:
        return f"epoch {facts.live_epochs[-1]} runs; when it ends, nobody restarts it"
    if facts.is_unseen:
        return "its driver can't be seen from here; when it ends, nobody restarts it"
    return "it does not run, and nobody starts it"


def _cause(task: StreamTask | None) -> str:
    """Why nobody signs, as far as the orchestrator tells; a run that lives but gets no worker comes last."""
    if task is None:
        return ""
    if not task.is_present:
        return f"Airflow has no DAG {task.dag}"
    if task.is_paused:
        return f"its DAG {task.dag} is paused"
    if task.living_runs is None:
        return ""
    if task.is_deferred:
        return f"the task of {task.dag} is deferred, and no trigger looks after it"
    if task.living_runs:
        return f"a run of {task.dag} lives, but its task gets no further"
    return f"no run of {task.dag} lives"


def _advice(task: StreamTask | None, stream: str) -> str:
    by_hand = f"`streamops supervise {stream}` does without Airflow"
    if task is None:
        return f"start a supervisor again: the DAG of the stream, or {by_hand}"
    if not task.is_present:
        return f"see the import errors of the DAG file; until then {by_hand}"
    if task.is_paused:
        return f"`airflow dags unpause {task.dag}`, or `streamops stop {stream} --reason …` when a standstill is meant"
    if task.is_deferred:
        return f"see whether a triggerer runs and answers; until then {by_hand}"
    return f"see what the scheduler, the pool and the workers do with {task.dag}; until then {by_hand}"


def _lost(facts: StreamFacts) -> ReconcileFinding:
    newest, status, decision = facts.newest, facts.newest_status, facts.decision
    end = newest.end if newest else None
    said = f"{end.outcome} on record" if end else status.evidence if status else "it is gone"
    due = f"; a supervisor would {decision.action}: {decision.reason}" if decision else ""
    return finding_of(
        facts,
        FindingKind.LOST_DRIVER,
        ReconcileSeverity.CRITICAL,
        evidence=f"epoch {newest.number if newest else 0} has ended ({said}){due}",
        meaning="the stream stands still, its backlog grows, and nobody starts it",
        repair=f"get it supervised again; `streamops supervise {facts.stream} --once` starts it now",
        remedy=ReconcileRemedy.SETTLE,
    )


def _watched_in_vain(facts: StreamFacts) -> Iterator[ReconcileFinding]:
    """Airflow runs no task of a DAG that is paused or gone: its trigger still watches, and wakes nobody."""
    sign, task = facts.attendance, facts.task
    if task is None or sign is None or not sign.by.actor.startswith(AIRFLOW):
        return
    if task.is_present and not task.is_paused:
        return
    yield finding_of(
        facts,
        FindingKind.PAUSED_DAG if task.is_present else FindingKind.MISSING_DAG,
        ReconcileSeverity.CRITICAL,
        evidence=_cause(task),
        meaning="its trigger watches it still, but when its driver ends, nobody restarts it",
        repair=_advice(task, facts.stream),
    )


def _standing_still(facts: StreamFacts) -> Iterator[ReconcileFinding]:
    """Somebody signs for a stream that does not run: what was due long ago is not done, or it waits without end.

    What the stream waited for may have answered a moment ago: then nobody is late yet for certain.
    """
    overdue, sign = facts.overdue, facts.attendance
    if facts.decision and facts.decision.waits_for:
        yield finding_of(
            facts,
            FindingKind.WAITING,
            ReconcileSeverity.WARNING,
            evidence=facts.decision.waits_for,
            meaning="nothing is read until it answers; then the stream goes on by itself",
            repair="see why it does not answer",
        )
        return
    if overdue is None or sign is None:
        return
    decision, who = overdue.decision, f"{sign.by.actor} on {sign.by.host}"
    since = f" since {facts.changed_at:%Y-%m-%d %H:%M:%S} UTC" if facts.changed_at else ""
    if overdue.is_act:
        yield finding_of(
            facts,
            FindingKind.OVERDUE,
            ReconcileSeverity.WARNING if overdue.waited_for else ReconcileSeverity.CRITICAL,
            evidence=f"nothing was done{since}, and {_claimed_in_vain(facts)}{decision.action} is due: {decision.reason}",
            meaning=f"the stream stands still, its backlog grows, and {who}, who looks after it, gets no further",
            repair=f"see the log of {who}; `streamops supervise {facts.stream} --once` tells what is in the way",
        )
    elif overdue.is_endless_wait:
        yield finding_of(
            facts,
            FindingKind.WAITING,
            ReconcileSeverity.WARNING,
            evidence=f"it waits{since}: {decision.reason}",
            meaning="the stream stands still, and this does not end by itself",
            repair=f"do what the evidence says; `streamops status {facts.stream}` tells more",
        )


def _claimed_in_vain(facts: StreamFacts) -> str:
    newest = facts.newest
    if newest is None or newest.submission or not newest.is_open:
        return ""
    return f"epoch {newest.number} was claimed and never submitted; "
