"""Sentences of a plan: what a driver and a supervisor will make of a request. Pure."""

from dataclasses import dataclass, replace
from datetime import timedelta

from streamops.control.attendance import Attendance
from streamops.control.drivers import QueryStep
from streamops.control.fold import fold
from streamops.control.records import Adopted, Author, Body, Claimed, Record
from streamops.control.state import LogState, UnsafeStart
from streamops.formatting import counted, moment
from streamops.launch import DriverState
from streamops.operations.snapshot import Declaration, Drift, StreamSnapshot, drift_between
from streamops.spec import Mode, StreamSpec
from streamops.spec.wire import dag_id_of
from streamops.supervision.decide import decide
from streamops.supervision.decision import Action
from streamops.supervision.observation import EpochFacts
from streamops.supervision.preflight import plans_for

SHOWN_CHANGES = 8
"""Settings named in a plan; `status --drift` names all."""


def unsafe_start_text(start: UnsafeStart) -> str:
    """A start that lost or repeated data by a person's word."""
    lost = f", {counted(start.given_up, 'Kafka offset')} passed over" if start.given_up else ""
    return f"epoch {start.epoch} at {moment(start.at)} UTC{lost}: {start.foretold}"


def stop_effect(facts: EpochFacts, spec: StreamSpec, *, force: bool) -> str:
    """What becomes of one driver, and of the batch that it is at."""
    number = facts.epoch.number
    if facts.status is None:
        return f"epoch {number} is claimed and not submitted yet: it stops before its first batch"
    if facts.status.state is DriverState.ENDED:
        return f"epoch {number} has ended already"
    if facts.status.state in (DriverState.UNKNOWN, DriverState.GONE):
        seen = f"epoch {number} can't be seen from here ({facts.status.evidence})"
        return f"{seen}: it stops if it lives; a supervisor must prove it gone before anything else starts"
    if force:
        return f"a supervisor kills epoch {number} at once: {_cut_off(facts)}"
    grace = f"after {in_seconds(spec.timings.stop)} a supervisor kills it, and that batch runs again"
    return f"epoch {number} finishes its batch and stops; {grace}{_batch_at_work(facts)}"


def brought_by_restart(claim: Claimed, declaration: Declaration) -> tuple[str, ...]:
    """What the next driver has that the present one has not."""
    drift = drift_between(claim, declaration)
    changes = [change for change in drift.settings if change.needs_restart]
    lines = [f"brings {change.setting}: {change.running or '—'} → {change.declared or '—'}" for change in changes]
    if len(lines) > SHOWN_CHANGES:
        lines = [*lines[:SHOWN_CHANGES], f"brings {len(lines) - SHOWN_CHANGES} more settings (`status --drift`)"]
    lines += [f"brings {line}" for line in other_files(drift)]
    return tuple(lines) or ("brings nothing new: same settings, same job file, same library",)


def other_files(drift: Drift) -> tuple[str, ...]:
    """The job's file and the library, where they differ."""
    lines = []
    if drift.has_other_job:
        lines.append(f"another job file: {drift.running_job[:12] or '—'} → {drift.declared_job[:12] or drift.trouble}")
    if drift.has_other_library:
        lines.append(f"another streamops: {drift.running_library} → {drift.declared_library}")
    return tuple(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStart:
    """What a supervisor will make of a request."""

    effects: tuple[str, ...]
    in_vain: str = ""
    """Why no driver comes of it; empty where one may, and where none is wanted."""


def next_start(sight: StreamSnapshot, spec: StreamSpec, *requested: Body, wants_running: bool) -> NextStart:
    """Its own decision, now that no driver lives, on the log with what is requested."""
    state = _after(sight, requested)
    if not wants_running:
        return NextStart(effects=(f"it stays stopped until `streamops start {spec.name}`",))
    if rests(state, spec):
        when = f" until its next run ({spec.schedule.cron} {spec.schedule.timezone})" if spec.schedule else ""
        return NextStart(effects=(f"it rests{when}",))
    is_adopted = any(isinstance(body, Adopted) for body in requested)
    seen = replace(sight.seen, state=state, epochs=(), epochs_ahead=0 if is_adopted else sight.seen.epochs_ahead)
    seen = replace(seen, plans=plans_for(seen, spec, sight.start))
    decision = decide(seen, spec, mine=frozenset())
    plan = seen.plan
    what = f"a start now is {plan.safety}: {plan.summary}"
    match decision.action:
        case Action.CLAIM:
            return NextStart(effects=(what, f"a supervisor claims epoch {decision.epoch} at its next look"))
        case Action.PARK:
            return NextStart(effects=(decision.reason, "a supervisor parks it again"), in_vain=decision.reason)
        case Action.PARKED:
            stays = f"it stays parked until `streamops release {spec.name}`: {decision.reason}"
            return NextStart(effects=(stays,), in_vain=stays)
        case Action.BLOCKED:
            stays = f"it stays blocked: {decision.reason}"
            return NextStart(effects=(stays,), in_vain=stays)
        case Action.WAIT:
            until = f" until {decision.until:%H:%M:%S} UTC" if decision.until else ""
            return NextStart(effects=(what, f"a supervisor waits{until}: {decision.reason}"))
        case _:
            return NextStart(effects=(what, decision.reason))


def _after(sight: StreamSnapshot, requested: tuple[Body, ...]) -> LogState:
    """The state once these records are in the log."""
    seen = sight.seen
    records = (
        Record(number=seen.state.next_number + index, at=seen.now, by=PLAN, reason="", nonce="", body=body)
        for index, body in enumerate(requested)
    )
    return fold(records, seen.state)


PLAN = Author(actor="plan", host="", pid=0)
"""Of records that are never written."""


def rests(state: LogState, spec: StreamSpec) -> bool:
    """Whether nothing is to run even where nothing is wrong: a scheduled stream between two runs."""
    return spec.mode is not Mode.LIVE and state.maintenance is None


def budget_of_release(state: LogState) -> str:
    """What a release does to the account of failures."""
    return f"failures so far are forgotten ({len(state.failures)}), the restart budget is whole again"


def unattended(sight: StreamSnapshot, spec: StreamSpec, consequence: str) -> tuple[str, ...]:
    """What a request comes to where no supervisor is around."""
    if not sight.is_unattended:
        return ()
    return (
        f"{nobody_since(sight.around.attendance)}: {consequence} until `streamops supervise` runs, or the DAG"
        f" {dag_id_of(spec)} (not paused, with a live triggerer)",
    )


def nobody_since(attendance: Attendance | None) -> str:
    """Since when nobody looks after the stream."""
    if attendance is None:
        return "nobody attends to it, nobody ever has"
    return f"nobody has attended to it since {attendance.at.isoformat(timespec='seconds')} ({attendance.by.actor})"


def in_seconds(duration: timedelta) -> str:
    """`120 s`"""
    return f"{duration.total_seconds():.0f} s"


def _cut_off(facts: EpochFacts) -> str:
    beat = facts.heartbeat
    if beat and beat.queries and beat.queries[0].step is QueryStep.WAITING:
        return "it is between two batches now; one that has begun by then runs again, with exactly its range"
    return "the batch that it is at runs again, with exactly its range"


def _batch_at_work(facts: EpochFacts) -> str:
    """As far as the newest beat tells."""
    beat = facts.heartbeat
    if beat is None or not beat.queries:
        return ""
    query = beat.queries[0]
    if query.step is QueryStep.BATCH:
        return f" (at work on it for {query.step_seconds:.0f} s, the last finished is {query.batch})"
    return f" (now {query.step}, the last finished is batch {query.batch})" if query.batch >= 0 else ""
