"""Rules for epochs whose driver may live: keep it, wait for it, kill it, or record its end. Pure."""

from datetime import datetime, timedelta

from streamops.control.drivers import ExitRecord
from streamops.control.fold import Desire, Epoch, LogState, Replacement
from streamops.control.records import Outcome
from streamops.launch import DriverState
from streamops.spec import StreamSpec
from streamops.supervisor.decision import Action, Decision
from streamops.supervisor.observe import EpochFacts, Observation
from streamops.supervisor.start_rules import decide_start, maintenance, policy, stopped, worst_plan


def decide_older_epoch(facts: EpochFacts, spec: StreamSpec) -> Decision | None:
    """A newer claim exists: this driver must be gone before the newer one is submitted."""
    number = facts.epoch.number
    if facts.status:
        if _has_ended(facts, spec):
            return _record_end(facts, facts.status.evidence, superseded=True)
        if facts.status.state in _UNPROVEN:
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


def decide_newest_epoch(
    facts: EpochFacts, observation: Observation, spec: StreamSpec, *, mine: frozenset[str]
) -> Decision | None:
    """The driver that may write: its end first, then what can't be seen, then what hangs, then what was asked of it."""
    if facts.status is None:
        return _unsubmitted(facts, observation, spec, mine=mine)
    if _has_ended(facts, spec):
        return _record_end(facts, facts.status.evidence, stop=_why_stop(observation.state) is not None)
    if facts.status.state is DriverState.BROKEN:
        return _kill(facts, facts.status.evidence)
    if facts.status.state is DriverState.GONE:
        return _wait_for_second_sign(facts, spec, facts.status.evidence)
    if facts.status.state is DriverState.UNKNOWN:
        return _wait_for_unseen(facts, spec, facts.status.evidence)
    return _hung(facts, spec) or _over_grace(facts, observation, spec) or _keep(facts, observation)


def _unsubmitted(facts: EpochFacts, observation: Observation, spec: StreamSpec, *, mine: frozenset[str]) -> Decision:
    """One epoch is submitted at most once, by whoever claimed it; anybody else claims the next.

    Neither happens while the stream is meant to stand still. A driver that was submitted without a record all the same
    sees the request, which lies behind its claim.
    """
    number = facts.epoch.number
    held_back = stopped(observation, spec) or maintenance(observation, spec)
    if held_back and facts.epoch.claim.token in mine:
        return _record_end(facts, f"not submitted, {held_back.reason}")
    if held_back and facts.found:
        # It sees the request itself; one that does not obey is killed like any other.
        if facts.watched > spec.timings.stop or observation.state.is_stop_forced:
            return _kill(facts, f"a driver of epoch {number}, submitted without a record, did not stop")
        return Decision(action=Action.WAIT, reason=f"{held_back.reason}; a driver still lives", epoch=number)
    if held_back:
        return held_back
    if facts.epoch.claim.token in mine:
        # Judged once more: an older driver may have planned a batch between the claim and its end.
        plan = worst_plan(observation)
        if not (spec.sink.guarantee.accepts(plan.safety) or facts.epoch.claim.accepts_unsafe):
            return _record_end(facts, f"not submitted, a start is {plan.safety} by now: {plan.summary}")
        advice = policy(observation, spec) if _has_failed_since(observation.state, facts.epoch) else None
        if advice:
            return _record_end(facts, f"not submitted, {advice.reason}")
        return Decision(action=Action.SUBMIT, reason="claimed, and every older driver is proven gone", epoch=number)
    by = facts.epoch.claimed.by
    if facts.watched < spec.timings.claim:
        return Decision(
            action=Action.WAIT,
            reason=f"epoch {number} is claimed by {by.actor} on {by.host}, not yet submitted",
            epoch=number,
        )
    if facts.found or facts.traces:
        # Submitted without a record: the next claim comes first, then the end of that driver, and the checkpoint that it
        # leaves is judged before the next submit.
        return Decision(
            action=Action.CLAIM,
            reason=f"epoch {number} was claimed by {by.actor} on {by.host} and submitted without a record",
            epoch=number + 1,
        )
    # Left behind, and nothing of a driver was ever seen: a start like any other.
    return decide_start(observation, spec)


def _has_failed_since(state: LogState, epoch: Epoch) -> bool:
    """Whether the end of an older driver, a failure, came to light after the claim that was meant to replace it."""
    return bool(state.failures) and state.failures[-1].record > epoch.record


_UNPROVEN = frozenset({DriverState.GONE, DriverState.UNKNOWN})


def _has_ended(facts: EpochFacts, spec: StreamSpec) -> bool:
    """Proven by the place itself, or said by a manager while the beat stands still: two signs."""
    if facts.status is None:
        return False
    is_gone_and_still = facts.status.state is DriverState.GONE and facts.stood_still >= spec.timings.takeover
    return facts.status.state is DriverState.ENDED or is_gone_and_still


def _wait_for_second_sign(facts: EpochFacts, spec: StreamSpec, evidence: str) -> Decision:
    """A beat that goes on moving after the manager called its driver gone shows that the manager is wrong."""
    number = facts.epoch.number
    moves_on = facts.status_for > spec.timings.halt and facts.stood_still < spec.timings.halt
    reason = f"epoch {number} is gone by the manager's word ({evidence})"
    if moves_on:
        return Decision(
            action=Action.KEEP, reason=f"{reason}, but its beat moves: it is kept", epoch=number, needs_attention=True
        )
    return Decision(action=Action.WAIT, reason=f"{reason}: waiting until its beat has stood still", epoch=number)


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
        if still > spec.timings.start and not facts.traces:
            return _kill(facts, f"epoch {number} has not beaten once in {_seconds(still)}")
        return None
    if still > spec.timings.takeover:
        return _kill(facts, f"the beat of epoch {number} has stood still for {_seconds(still)}: it hangs")
    return None


def _over_grace(facts: EpochFacts, observation: Observation, spec: StreamSpec) -> Decision | None:
    """A graceful stop was asked for, and its grace is over."""
    asked = _why_stop(observation.state)
    if asked is None:
        return None
    number = facts.epoch.number
    if asked.force:
        return _kill(facts, f"epoch {number} is to end at once, asked by {asked.note.by.actor}: {asked.note.reason}")
    if observation.since(asked.note.at) <= spec.timings.stop:
        return None
    return _kill(facts, f"epoch {number} did not stop within {_seconds(spec.timings.stop)} of the request")


def _why_stop(state: LogState) -> Replacement | None:
    """Who wants the newest driver to end, if anybody: for good, for another driver, or for a while."""
    if state.desire is Desire.STOPPED and state.desired:
        return Replacement(note=state.desired, force=state.is_stop_forced)
    if state.replacement:
        return state.replacement
    return Replacement(note=state.maintenance.note, force=False) if state.maintenance else None


def _keep(facts: EpochFacts, observation: Observation) -> Decision:
    number, beat = facts.epoch.number, facts.heartbeat
    if asked := _why_stop(observation.state):
        reason = f"epoch {number} is stopping, asked by {asked.note.by.actor}: {asked.note.reason}"
        return Decision(action=Action.KEEP, reason=reason, epoch=number)
    if any(not trace.is_readable for trace in facts.traces):
        # Unreadable is not dead: another version may have written it.
        reason = f"epoch {number} runs, and what it writes can't be read"
        return Decision(action=Action.KEEP, reason=reason, epoch=number, needs_attention=True)
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
        last_sign_at=_last_sign(facts),
        exit_code=facts.status.exit_code if facts.status else None,
    )


def _last_sign(facts: EpochFacts) -> datetime | None:
    """The driver's own clock at its last beat or exit record; None where it left none that can be read."""
    signs = [sign.at for trace in facts.traces for sign in (trace.heartbeat, trace.exit) if sign]
    moments = [datetime.fromisoformat(sign) for sign in signs if _is_moment(sign)]
    return max(moments, default=None)


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


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


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.0f} s"
