"""One table from facts to the next step, in order, each row with its reason. Pure: no clock, no files, no logging."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from streamops.control.drivers import ExitRecord
from streamops.control.fold import Desire
from streamops.control.records import DriverHandle, Outcome
from streamops.launch import DriverState
from streamops.restart import RestartPlan, RestartTiming, Safety, advise_restart, plan_restart
from streamops.spec import StreamSpec
from streamops.supervisor.observe import EpochFacts, Observation, position_of


class Action(StrEnum):
    """What to do next."""

    KEEP = "keep"
    """A driver runs: look again later."""
    WAIT = "wait"
    """Nothing may be done yet."""
    STOPPED = "stopped"
    """It stands still because somebody asked for it."""
    PARKED = "parked"
    """It stands still until a person releases it."""
    BLOCKED = "blocked"
    """It may not even be parked here: the checkpoint is another's."""
    PARK = "park"
    KILL = "kill"
    RECORD_END = "record-end"
    CLAIM = "claim"
    SUBMIT = "submit"
    END_MAINTENANCE = "end-maintenance"


RESTING = frozenset({Action.KEEP, Action.WAIT, Action.STOPPED, Action.PARKED, Action.BLOCKED})
"""Actions that change nothing: whoever drives the supervisor may go to sleep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The next step and why."""

    action: Action
    reason: str
    epoch: int = 0
    handles: tuple[DriverHandle, ...] = ()
    """Whom to kill."""
    outcome: Outcome | None = None
    exit: ExitRecord | None = None
    until: datetime | None = None
    """When a wait ends by itself."""
    needs_attention: bool = False
    """Whether a person should be told: the supervisor can't settle it alone."""
    plan: RestartPlan | None = None


def decide(observation: Observation, spec: StreamSpec, *, mine: frozenset[str]) -> Decision:
    """The next step. `mine` are the tokens of claims that this very supervisor appended and has not submitted yet.

    Whose checkpoint it is comes first: nothing of another stream is touched. Then older epochs: nothing may be submitted
    while one of their drivers may live. Then the newest epoch; only when all have ended is a start considered.
    """
    if decision := _not_ours(observation, spec):
        return decision
    newest = observation.state.newest
    for facts in observation.epochs:
        is_newest = newest is not None and facts.epoch.number == newest.number
        decision = _newest_epoch(facts, observation, spec, mine=mine) if is_newest else _older_epoch(facts, spec)
        if decision:
            return decision
    return _start(observation, spec)


def _older_epoch(facts: EpochFacts, spec: StreamSpec) -> Decision | None:
    """A newer claim exists: this driver must be gone before the newer one is submitted."""
    number = facts.epoch.number
    if facts.status:
        if facts.status.state is DriverState.ENDED:
            return _record_end(facts, facts.status.evidence, superseded=True)
        if facts.status.state is DriverState.UNKNOWN:
            return _wait_for_unseen(facts, spec, facts.status.evidence)
        return _kill(facts, f"epoch {number} was superseded and still lives: {facts.status.evidence}")
    if facts.found:
        return _kill(facts, f"epoch {number} was superseded, and a driver with its token lives")
    if not facts.traces:
        # Its claim was read after the newer one was appended: should its driver appear after all, it writes its first
        # beat, reads the log, sees the newer claim and halts.
        return _record_end(facts, "no driver and no beat of it was ever seen", superseded=True)
    if facts.stood_still >= spec.timings.takeover:
        return _record_end(facts, "its beat stands still and no process carries its token", superseded=True)
    return Decision(
        action=Action.WAIT,
        reason=f"epoch {number} has been superseded and left a beat: waiting until it must have halted",
        epoch=number,
    )


def _newest_epoch(
    facts: EpochFacts, observation: Observation, spec: StreamSpec, *, mine: frozenset[str]
) -> Decision | None:
    if facts.status is None:
        return _unsubmitted(facts, observation, spec, mine=mine)
    if facts.status.state is DriverState.ENDED:
        return _record_end(facts, facts.status.evidence, stop=observation.state.desire is Desire.STOPPED)
    if facts.status.state is DriverState.BROKEN:
        return _kill(facts, facts.status.evidence)
    if facts.status.state is DriverState.UNKNOWN:
        return _wait_for_unseen(facts, spec, facts.status.evidence)
    return _hung(facts, spec) or _over_grace(facts, observation, spec) or _keep(facts, observation)


def _unsubmitted(facts: EpochFacts, observation: Observation, spec: StreamSpec, *, mine: frozenset[str]) -> Decision:
    """One epoch is submitted at most once, by whoever claimed it; anybody else claims the next.

    Neither happens while the stream is meant to stand still. A driver that was submitted without a record all the same
    sees the request, which lies behind its claim.
    """
    number = facts.epoch.number
    held_back = _stopped(observation, spec) or _maintenance(observation, spec)
    if held_back and facts.epoch.claim.token in mine:
        return _record_end(facts, f"not submitted, {held_back.reason}")
    if held_back:
        return held_back
    if facts.epoch.claim.token in mine:
        # Judged once more: an older driver may have planned a batch between the claim and its end.
        plan = worst_plan(observation)
        if not (spec.sink.guarantee.accepts(plan.safety) or facts.epoch.claim.accepts_unsafe):
            return _record_end(facts, f"not submitted, a start is {plan.safety} by now: {plan.summary}")
        return Decision(action=Action.SUBMIT, reason="claimed, and every older driver is proven gone", epoch=number)
    by = facts.epoch.claimed.by
    if facts.watched < spec.timings.claim:
        return Decision(
            action=Action.WAIT,
            reason=f"epoch {number} is claimed by {by.actor} on {by.host}, not yet submitted",
            epoch=number,
        )
    # Left behind. The next claim is a start like any other; the one before stays open until its driver, which may have
    # been submitted without a record, is proven gone.
    return _start(observation, spec)


def _wait_for_unseen(facts: EpochFacts, spec: StreamSpec, evidence: str) -> Decision:
    """Unreachable is not dead: a moving beat shows life, a still one is one sign of two."""
    number = facts.epoch.number
    if facts.stood_still < spec.timings.takeover:
        return Decision(action=Action.KEEP, reason=f"epoch {number} can't be seen from here: {evidence}", epoch=number)
    return Decision(
        action=Action.WAIT,
        reason=f"epoch {number} can't be seen from here ({evidence}) and its beat stands still: make sure that it is dead,"
        f" then `streamops start {spec.name} --confirm-dead {number} --reason …`",
        epoch=number,
        needs_attention=True,
    )


def _hung(facts: EpochFacts, spec: StreamSpec) -> Decision | None:
    """The process lives, and its beat stands still: two signs."""
    number, still = facts.epoch.number, facts.stood_still
    if any(trace.exit for trace in facts.traces):
        if still > spec.timings.halt:
            return _kill(facts, f"epoch {number} has left its exit record, but its process does not end")
        return None
    if facts.heartbeat is None:
        if still > spec.timings.start:
            return _kill(facts, f"epoch {number} has not beaten once in {_seconds(still)}")
        return None
    if still > spec.timings.takeover:
        return _kill(facts, f"the beat of epoch {number} has stood still for {_seconds(still)}: it hangs")
    return None


def _over_grace(facts: EpochFacts, observation: Observation, spec: StreamSpec) -> Decision | None:
    """A graceful stop was asked for, and its grace is over."""
    state = observation.state
    maintenance = state.maintenance.note if state.maintenance else None
    asked = state.desired if state.desire is Desire.STOPPED else maintenance
    if asked is None:
        return None
    waited = observation.now - min(asked.at, observation.now)
    if waited <= spec.timings.stop:
        return None
    return _kill(facts, f"epoch {facts.epoch.number} did not stop within {_seconds(spec.timings.stop)} of the request")


def _keep(facts: EpochFacts, observation: Observation) -> Decision:
    number, beat = facts.epoch.number, facts.heartbeat
    if observation.state.desire is Desire.STOPPED:
        return Decision(action=Action.KEEP, reason=f"epoch {number} is stopping", epoch=number)
    if beat is None:
        return Decision(action=Action.KEEP, reason=f"epoch {number} is starting", epoch=number)
    return Decision(action=Action.KEEP, reason=f"epoch {number} is {beat.phase}, batch {beat.batch}", epoch=number)


def _kill(facts: EpochFacts, reason: str) -> Decision:
    submission = facts.epoch.submission
    handles = (submission.handle,) if submission else facts.found
    return Decision(action=Action.KILL, reason=reason, epoch=facts.epoch.number, handles=handles)


def _record_end(facts: EpochFacts, evidence: str, *, superseded: bool = False, stop: bool = False) -> Decision:
    exit_record = _telling_exit(facts)
    return Decision(
        action=Action.RECORD_END,
        reason=f"epoch {facts.epoch.number} has ended: {evidence}",
        epoch=facts.epoch.number,
        outcome=_outcome(facts, exit_record, superseded=superseded, stop=stop),
        exit=exit_record,
    )


def _telling_exit(facts: EpochFacts) -> ExitRecord | None:
    """Of several instances the one that did the work: a second one halts with lease-lost and hides nothing."""
    records = [trace.exit for trace in facts.traces if trace.exit]
    return min(records, key=lambda record: (record.outcome is Outcome.LEASE_LOST, record.at), default=None)


def _outcome(facts: EpochFacts, exit_record: ExitRecord | None, *, superseded: bool, stop: bool) -> Outcome:
    """Its own word first; without one, what was done to it; and only then the plain fact that it is gone."""
    if exit_record:
        return exit_record.outcome
    if stop:
        return Outcome.STOPPED
    was_there = bool(facts.traces)
    if superseded:
        return Outcome.LEASE_LOST if was_there or facts.epoch.submission else Outcome.NEVER_STARTED
    if facts.status is None:
        return Outcome.NEVER_STARTED
    if facts.epoch.kill and was_there:
        return Outcome.KILLED
    return Outcome.DIED if was_there else Outcome.LAUNCH_FAILED


def _start(observation: Observation, spec: StreamSpec) -> Decision:
    """Nothing lives. What people asked for comes first, then whose work the checkpoint is, then policy, then the data."""
    for rule in _START_RULES:
        if decision := rule(observation, spec):
            return decision
    return _by_plan(observation, spec)


def _not_ours(observation: Observation, spec: StreamSpec) -> Decision | None:
    """Nothing is written to a log that belongs to another stream."""
    owner = observation.state.stream
    conflicts = observation.registry_conflicts
    if owner and owner != spec.name:
        conflicts = (f"the control log of {spec.checkpoint} belongs to stream {owner}", *conflicts)
    if not conflicts:
        return None
    return Decision(action=Action.BLOCKED, reason="; ".join(conflicts), needs_attention=True)


def _parked(observation: Observation, spec: StreamSpec) -> Decision | None:
    note = observation.state.parked
    return Decision(action=Action.PARKED, reason=note.reason, needs_attention=True) if note else None


def _stopped(observation: Observation, spec: StreamSpec) -> Decision | None:
    state = observation.state
    if state.desire is not Desire.STOPPED or state.desired is None:
        return None
    return Decision(action=Action.STOPPED, reason=f"stopped by {state.desired.by.actor}: {state.desired.reason}")


def _maintenance(observation: Observation, spec: StreamSpec) -> Decision | None:
    maintenance = observation.state.maintenance
    if maintenance is None:
        return None
    who = f"maintenance by {maintenance.note.by.actor}: {maintenance.note.reason}"
    if maintenance.until > observation.now:
        return Decision(action=Action.WAIT, reason=who, until=maintenance.until)
    return Decision(action=Action.END_MAINTENANCE, reason=f"{who}, over since {maintenance.until.isoformat()}")


def _unadopted(observation: Observation, spec: StreamSpec) -> Decision | None:
    """A checkpoint with history but without a log of ours: somebody else may be running it."""
    checkpoint = observation.checkpoint
    if checkpoint is None or checkpoint.is_new or observation.state.position is not None:
        return None
    return Decision(
        action=Action.PARK,
        reason=f"the checkpoint has a history (batch {checkpoint.last_offset}) that the control log knows nothing of:"
        f" make sure that nobody runs it, then `streamops adopt {spec.name} --reason …`",
    )


def _foreign_writer(observation: Observation, spec: StreamSpec) -> Decision | None:
    """Progress without a live driver of ours: a notebook, another tool, a restored copy."""
    known, checkpoint = observation.state.position, observation.checkpoint
    if known is None or checkpoint is None or observation.state.accepts_unsafe:
        return None
    if any(facts.traces or facts.found for facts in observation.epochs):
        # A driver of ours that was submitted without a record has been here: its progress is not foreign.
        return None
    found = position_of(checkpoint)
    is_other_query = bool(known.query_id and found.query_id and found.query_id != known.query_id)
    if not is_other_query and found.offset <= known.offset and found.commit <= known.commit:
        return None
    return Decision(
        action=Action.PARK,
        reason=f"a foreign writer was here: the last driver of ours left query {known.query_id or 'none'} at offset"
        f" {known.offset}, commit {known.commit}; now it is query {found.query_id or 'none'} at offset {found.offset},"
        f" commit {found.commit}. Stop it, then `streamops release {spec.name} --accept-unsafe --reason …`",
    )


def _unasked_end(observation: Observation, spec: StreamSpec) -> Decision | None:
    """An end that is no failure and that nobody asked for: it costs no budget, but it must not become a busy loop."""
    state, newest = observation.state, observation.state.newest
    if newest is None or newest.end is None or newest.ended is None or newest.has_progressed:
        return None
    was_asked = state.desired is not None and state.desired.at >= newest.ended.at
    if was_asked or newest.end.outcome not in _UNCOUNTED:
        return None
    until = min(newest.ended.at, observation.now) + spec.restart.initial_delay
    if until <= observation.now:
        return None
    return Decision(
        action=Action.WAIT, reason=f"back-off: epoch {newest.number} ended {newest.end.outcome}", until=until
    )


_UNCOUNTED = frozenset({Outcome.LEASE_LOST, Outcome.STOPPED})


def _policy(observation: Observation, spec: StreamSpec) -> Decision | None:
    advice = advise_restart(observation.state.failures, policy=spec.restart, now=observation.now)
    if advice.timing is RestartTiming.PARK:
        return Decision(action=Action.PARK, reason=advice.reason)
    if advice.timing is RestartTiming.LATER:
        return Decision(action=Action.WAIT, reason=f"back-off: {advice.reason}", until=advice.at)
    return None


_START_RULES: tuple[Callable[[Observation, StreamSpec], Decision | None], ...] = (
    _parked,
    _stopped,
    _maintenance,
    _unadopted,
    _foreign_writer,
    _unasked_end,
    _policy,
)


def _by_plan(observation: Observation, spec: StreamSpec) -> Decision:
    """Never start blind: what Spark would do decides."""
    plan = worst_plan(observation)
    next_epoch = observation.state.next_epoch
    if spec.sink.guarantee.accepts(plan.safety) or observation.state.accepts_unsafe:
        reason = f"start is {plan.safety}: {plan.summary}"
        return Decision(action=Action.CLAIM, reason=reason, epoch=next_epoch, plan=plan)
    if plan.safety is Safety.UNKNOWN:
        return Decision(action=Action.WAIT, reason=plan.summary, plan=plan)
    return Decision(
        action=Action.PARK,
        reason=f"a start now is {plan.safety}: {plan.summary}. Repair it, or accept it with"
        f" `streamops release {spec.name} --accept-unsafe --reason …`",
        plan=plan,
    )


def worst_plan(observation: Observation) -> RestartPlan:
    """The plan of the stream's own checkpoint, or of a companion's where that is worse."""
    if observation.checkpoint is None:
        return RestartPlan(safety=Safety.UNKNOWN, summary="the checkpoint was not read while a driver may live")
    plans = [plan_restart(observation.checkpoint, known=observation.state.position)]
    plans += [plan_restart(companion, known=None) for companion in observation.companions]
    return max(plans, key=lambda plan: _SEVERITY.index(plan.safety))


_SEVERITY = (
    Safety.SAFE,
    Safety.SAFE_IF_IDEMPOTENT,
    Safety.UNKNOWN,
    Safety.BLOCKED,
    Safety.UNSAFE,
    Safety.FUTILE,
)


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.0f} s"
