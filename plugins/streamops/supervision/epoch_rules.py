"""Rules for epochs whose driver may live: keep it, wait for it, kill it, or record its end. Pure."""

from dataclasses import replace
from datetime import timedelta

from streamops.control.drivers import Heartbeat
from streamops.control.state import Epoch, LogState
from streamops.diagnosis.restart_plan import accepts
from streamops.launch import DriverState
from streamops.liveness import QUICK, Liveness, LivenessKind, StallAction, StreamPace, judge_liveness
from streamops.spec import StreamSpec, TriggerKind
from streamops.supervision.cli_hints import to_confirm_dead
from streamops.supervision.decision import Action, Decision
from streamops.supervision.desired_run import timings_of, wanted_run
from streamops.supervision.end_rules import record_end
from streamops.supervision.observation import EpochFacts, Observation
from streamops.supervision.start_rules import (
    decide_start,
    foreign_writer,
    maintenance,
    parked,
    policy,
    stopped,
)


def decide_older_epoch(facts: EpochFacts, observation: Observation, spec: StreamSpec) -> Decision | None:
    """A newer claim exists: this driver must be gone before the newer one is submitted."""
    number, timings = facts.epoch.number, timings_of(facts.epoch, spec.timings)
    if facts.status:
        if _has_ended(facts, spec):
            return record_end(facts, facts.status.evidence, superseded=True)
        if facts.status.state in _UNPROVEN:
            return _wait_for_unseen(facts, spec, facts.status.evidence)
        return _kill(facts, observation, f"epoch {number} was superseded and still lives: {facts.status.evidence}")
    if facts.found:
        return _kill(facts, observation, f"epoch {number} was superseded, and a driver with its token lives")
    if not facts.traces:
        # Its claim was read after the newer one was appended: should its driver appear after all, it writes its first
        # beat, reads the log, sees the newer claim and halts.
        return record_end(facts, "no driver and no beat of it was ever seen", superseded=True)
    if facts.is_beat_hidden:
        return _wait_for_unseen(facts, spec, "no submit of it is on record")
    if facts.stood_still < timings.takeover:
        return Decision(
            action=Action.WAIT,
            reason=f"epoch {number} has been superseded and left a beat: waiting until it must have halted",
            epoch=number,
        )
    if facts.unseen:
        # A beat that stands still is one sign; that nothing was found is none where nothing would be.
        return _wait_for_unseen(facts, spec, facts.unseen)
    return record_end(facts, "its beat stands still and no process carries its token", superseded=True)


def decide_newest_epoch(
    facts: EpochFacts, observation: Observation, spec: StreamSpec, *, mine: frozenset[str]
) -> Decision | None:
    """The driver that may write: its end first, then what can't be seen, then what hangs, then what was asked of it."""
    if facts.status is None:
        return _unsubmitted(facts, observation, spec, mine=mine)
    if _has_ended(facts, spec):
        return record_end(facts, facts.status.evidence, asked=observation.state.end_wish)
    if facts.status.state is DriverState.BROKEN:
        return _kill(facts, observation, facts.status.evidence)
    if facts.status.state is DriverState.GONE:
        return _wait_for_second_sign(facts, spec, facts.status.evidence)
    if facts.status.state is DriverState.UNKNOWN:
        return _wait_for_unseen(facts, spec, facts.status.evidence)
    return (
        _beside_another(facts, observation)
        or _run_is_over(facts, observation)
        or _hung(facts, observation, spec)
        or _over_grace(facts, observation, spec)
        or _stuck(facts, observation, spec)
        or _keep(facts, observation, spec)
    )


def _beside_another(facts: EpochFacts, observation: Observation) -> Decision | None:
    """Two writers: ours is ended at once, and the checkpoint that is left parks the stream."""
    if facts.foreign_batch is None:
        return None
    reason = (
        f"a foreign writer is at work: batch {facts.foreign_batch} was planned by somebody else while epoch"
        f" {facts.epoch.number} runs"
    )
    return replace(_kill(facts, observation, reason), foreign_batch=facts.foreign_batch)


def _run_is_over(facts: EpochFacts, observation: Observation) -> Decision | None:
    """The time of a bounded run is over and its driver lives: the end of the run asks it to stop between two batches."""
    open_one = observation.state.maintenance
    if open_one is None or not open_one.is_time_of(facts.epoch) or open_one.until > observation.now:
        return None
    return Decision(
        action=Action.END_MAINTENANCE,
        reason=f"the time of the run by {open_one.note.by.actor} is over since {open_one.until.isoformat()}",
        epoch=facts.epoch.number,
    )


def _unsubmitted(facts: EpochFacts, observation: Observation, spec: StreamSpec, *, mine: frozenset[str]) -> Decision:
    """One epoch is submitted at most once, by whoever claimed it; anybody else claims the next.

    Neither happens while the stream is meant to stand still. A driver that was submitted without a record all the same
    sees the request, which lies behind its claim.
    """
    number = facts.epoch.number
    held_back = parked(observation, spec) or stopped(observation, spec) or maintenance(observation, spec)
    if held_back and facts.epoch.claim.token in mine:
        return record_end(facts, f"not submitted, {held_back.reason}")
    if held_back and facts.found:
        # It sees the request itself; one that does not obey is killed like any other.
        if facts.watched > timings_of(facts.epoch, spec.timings).stop or observation.state.is_stop_forced:
            return _kill(facts, observation, f"a driver of epoch {number}, submitted without a record, did not stop")
        return Decision(action=Action.WAIT, reason=f"{held_back.reason}; a driver still lives", epoch=number)
    if held_back and facts.unseen:
        return _held_back_unseen(held_back, facts, spec)
    if held_back:
        return held_back
    if facts.epoch.claim.token in mine:
        if facts.epoch.claim.mode is not wanted_run(observation.state, spec, now=observation.now):
            return record_end(facts, f"not submitted, a {facts.epoch.claim.mode} run is not what is wanted by now")
        if stranger := foreign_writer(observation, spec):
            return record_end(facts, f"not submitted, {stranger.reason}")
        # Judged once more: an older driver may have planned a batch between the claim and its end.
        plan = observation.plan
        if not (accepts(spec.sink.guarantee, plan.safety) or facts.epoch.claim.accepts_unsafe):
            refused = record_end(facts, f"not submitted, a start is {plan.safety} by now: {plan.summary}")
            return replace(refused, plan=plan)
        advice = policy(observation, spec) if _has_failed_since(observation.state, facts.epoch) else None
        if advice:
            return record_end(facts, f"not submitted, {advice.reason}")
        return Decision(action=Action.SUBMIT, reason="claimed, and every older driver is proven gone", epoch=number)
    by = facts.epoch.claimed.by
    if facts.watched < timings_of(facts.epoch, spec.timings).claim:
        return Decision(
            action=Action.WAIT,
            reason=f"epoch {number} is claimed by {by.actor} on {by.host}, not yet submitted",
            epoch=number,
        )
    if facts.found or facts.traces:
        # Submitted without a record: the next claim comes first, then the end of that driver, and the checkpoint that it
        # leaves is judged before the next submit.
        return _supersede(facts, observation, spec, why="submitted without a record")
    return _left_behind(facts, observation, spec)


def _held_back_unseen(held_back: Decision, facts: EpochFacts, spec: StreamSpec) -> Decision:
    """The stream is to stand still, and whether a driver that was submitted without a record obeys can't be seen."""
    waiting = _wait_for_unseen(facts, spec, facts.unseen)
    if not waiting.needs_attention:
        return replace(waiting, action=Action.WAIT, reason=f"{held_back.reason}; {waiting.reason}")
    return replace(held_back, reason=f"{held_back.reason}; {waiting.reason}", needs_attention=True)


def _left_behind(facts: EpochFacts, observation: Observation, spec: StreamSpec) -> Decision:
    """Nothing of a driver was ever seen: a start like any other. Where nothing is to run, nobody would ever end the claim.

    Its submit may be on its way still: only behind a newer claim can its end be recorded. It has not used up what it carries.
    """
    start = decide_start(observation, spec)
    if start.action is not Action.IDLE:
        return start
    superseding = _supersede(facts, observation, spec, why="never submitted, and nothing is to run by now")
    return replace(superseding, accepts_unsafe=superseding.accepts_unsafe or observation.state.carried_acceptance)


def _supersede(facts: EpochFacts, observation: Observation, spec: StreamSpec, *, why: str) -> Decision:
    """Claim the next epoch, for what is wanted; where that is nothing, it ends unsubmitted."""
    by = facts.epoch.claimed.by
    return Decision(
        action=Action.CLAIM,
        reason=f"epoch {facts.epoch.number} was claimed by {by.actor} on {by.host} and {why}",
        epoch=observation.state.next_epoch,
        run=wanted_run(observation.state, spec, now=observation.now) or facts.epoch.claim.mode,
        accepts_unsafe=observation.state.accepts_unsafe,
    )


def _has_failed_since(state: LogState, epoch: Epoch) -> bool:
    """Whether the end of an older driver, a failure, came to light after the claim that was meant to replace it."""
    return bool(state.failures) and state.failures[-1].record > epoch.record


_UNPROVEN = frozenset({DriverState.GONE, DriverState.UNKNOWN})


def _has_ended(facts: EpochFacts, spec: StreamSpec) -> bool:
    """Proven by the place itself, or said by a manager while the beat stands still: two signs."""
    if facts.status is None:
        return False
    takeover = timings_of(facts.epoch, spec.timings).takeover
    is_gone_and_still = facts.status.state is DriverState.GONE and facts.stood_still >= takeover
    return facts.status.state is DriverState.ENDED or is_gone_and_still


def _wait_for_second_sign(facts: EpochFacts, spec: StreamSpec, evidence: str) -> Decision:
    """A beat that goes on moving after the manager called its driver gone shows that the manager is wrong."""
    if facts.is_beat_hidden:
        return _wait_for_unseen(facts, spec, evidence)
    number, halt = facts.epoch.number, timings_of(facts.epoch, spec.timings).halt
    moves_on = facts.status_for > halt and facts.stood_still < halt
    reason = f"epoch {number} is gone by the manager's word ({evidence})"
    if moves_on:
        return Decision(
            action=Action.KEEP, reason=f"{reason}, but its beat moves: it is kept", epoch=number, needs_attention=True
        )
    return Decision(action=Action.WAIT, reason=f"{reason}: waiting until its beat has stood still", epoch=number)


def _wait_for_unseen(facts: EpochFacts, spec: StreamSpec, evidence: str) -> Decision:
    """Unreachable is not dead: a moving beat shows life, a still one is one sign of two, and one that can't be read is none."""
    number = facts.epoch.number
    beat = "can't be read" if facts.is_beat_hidden else "stands still"
    if not facts.is_beat_hidden and facts.stood_still < timings_of(facts.epoch, spec.timings).takeover:
        return Decision(action=Action.KEEP, reason=f"epoch {number} can't be seen from here: {evidence}", epoch=number)
    return Decision(
        action=Action.WAIT,
        reason=f"epoch {number} can't be seen from here ({evidence}) and its beat {beat}: let a supervisor look from"
        f" where it can be seen, or make sure that it is dead, then `{to_confirm_dead(spec, number)} --reason …`",
        epoch=number,
        needs_attention=True,
    )


def _hung(facts: EpochFacts, observation: Observation, spec: StreamSpec) -> Decision | None:
    """The process lives, and its beat stands still: two signs."""
    number, still = facts.epoch.number, facts.stood_still
    timings = timings_of(facts.epoch, spec.timings)
    if any(trace.exit for trace in facts.traces):
        if still > timings.halt:
            return _kill(facts, observation, f"epoch {number} has left its exit record, but its process does not end")
        return None
    if facts.heartbeat is None:
        if still > timings.start and all(trace.is_readable for trace in facts.traces):
            return _kill(facts, observation, f"epoch {number} has not beaten once in {_seconds(still)}")
        return None
    if still > timings.takeover:
        return _kill(facts, observation, f"the beat of epoch {number} has stood still for {_seconds(still)}: it hangs")
    return None


def _over_grace(facts: EpochFacts, observation: Observation, spec: StreamSpec) -> Decision | None:
    """A graceful stop was asked for, and its grace is over."""
    asked = observation.state.end_wish
    if asked is None:
        return None
    number = facts.epoch.number
    if asked.force:
        return _kill(
            facts, observation, f"epoch {number} is to end at once, asked by {asked.note.by.actor}: {asked.note.reason}"
        )
    grace = timings_of(facts.epoch, spec.timings).stop
    if observation.asked_for(asked.note) <= grace:
        return None
    return _kill(facts, observation, f"epoch {number} did not stop within {_seconds(grace)} of the request")


def _stuck(facts: EpochFacts, observation: Observation, spec: StreamSpec) -> Decision | None:
    """It beats and gets nowhere: asked to make room once, then the grace of a stop holds."""
    liveness = _liveness(facts, spec)
    if liveness is None or liveness.advice is not StallAction.RESTART:
        return None
    reason = f"epoch {facts.epoch.number} is {liveness.kind}: {liveness.reason}"
    if liveness.kind is LivenessKind.STUCK_IN_STOP or _is_deaf(facts):
        return _kill(facts, observation, reason)
    if observation.state.end_wish:
        return None
    return Decision(action=Action.REPLACE, reason=reason, epoch=facts.epoch.number, liveness=liveness)


def _is_deaf(facts: EpochFacts) -> bool:
    """The driver has not got an answer from Spark for long: it would not get round to a stop either."""
    return facts.heartbeat is not None and timedelta(seconds=facts.heartbeat.report_age_seconds) >= QUICK


def _liveness(facts: EpochFacts, spec: StreamSpec) -> Liveness | None:
    if facts.heartbeat is None:
        return None
    timings = timings_of(facts.epoch, spec.timings)
    trigger = spec.as_run(facts.epoch.claim.mode).trigger
    rhythm = StreamPace(
        trigger_interval=trigger.quiet,
        stop_grace=timings.stop,
        takeover=timings.takeover,
        epoch_interval=trigger.interval if trigger.kind is TriggerKind.CONTINUOUS else None,
    )
    return judge_liveness(
        facts.heartbeat, facts.progress, rhythm=rhythm, policy=spec.stall, stood_still=facts.stood_still
    )


def _keep(facts: EpochFacts, observation: Observation, spec: StreamSpec) -> Decision:
    number, beat = facts.epoch.number, facts.heartbeat
    if asked := observation.state.end_wish:
        reason = f"epoch {number} is stopping, asked by {asked.note.by.actor}: {asked.note.reason}"
        return Decision(action=Action.KEEP, reason=reason, epoch=number)
    if any(not trace.is_readable for trace in facts.traces):
        # Unreadable is not dead: another version may have written it.
        reason = f"epoch {number} runs, and what it writes can't be read"
        return Decision(action=Action.KEEP, reason=reason, epoch=number, needs_attention=True)
    liveness = _liveness(facts, spec)
    if beat is None or liveness is None:
        return Decision(action=Action.KEEP, reason=f"epoch {number} is starting", epoch=number)
    reason = f"epoch {number} is {beat.phase}, {_batches(beat)}"
    waits_for = _unanswered(facts, observation)
    if waits_for:
        reason = f"{reason}, but {waits_for}"
    if liveness.advice:
        reason = f"{reason}, but {liveness.kind}: {liveness.reason}"
    return Decision(
        action=Action.KEEP,
        reason=reason,
        epoch=number,
        waits_for=waits_for,
        liveness=liveness,
        needs_attention=liveness.advice is not None,
    )


def _unanswered(facts: EpochFacts, observation: Observation) -> str:
    """The source of a query that does not come to the end of a plan or a batch, where it was asked and does not answer."""
    query, source = facts.quiet, observation.dependency
    if query is None or source is None or source.is_reachable is not False:
        return ""
    return f"{source.target} has not answered for {_seconds(query.still)} ({source.evidence})"


def _batches(beat: Heartbeat) -> str:
    """The newest batch of each query: by its name, where there are several."""
    if len(beat.queries) < 2:
        return _batch(beat.batch)
    return ", ".join(f"{query.name or query.query_id}: {_batch(query.batch)}" for query in beat.queries)


def _batch(number: int) -> str:
    return f"batch {number}" if number >= 0 else "no batch yet"


def _kill(facts: EpochFacts, observation: Observation, reason: str) -> Decision:
    """Tried until the driver is gone; one that does not go is a person's business too."""
    submission, kill = facts.epoch.submission, facts.epoch.kill
    tried_for = observation.since(kill.at) if kill else timedelta(0)
    is_in_vain = tried_for > KILL_EFFECT
    return Decision(
        action=Action.KILL,
        reason=f"{reason}; kills have been in vain for {_seconds(tried_for)}" if is_in_vain else reason,
        epoch=facts.epoch.number,
        handles=(submission.handle,) if submission else facts.found,
        needs_attention=is_in_vain,
    )


KILL_EFFECT = timedelta(seconds=30)
"""By then a driver that was killed is gone, wherever it runs."""


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.0f} s"
