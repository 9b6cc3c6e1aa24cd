"""Rules for a stream of which nothing lives: may it be started now? Pure."""

from collections.abc import Callable
from datetime import timedelta
from itertools import takewhile

from streamops.control.state import Desire
from streamops.diagnosis.restart_plan import RestartPlan, Safety, accepts
from streamops.failures.failure_class import FailureClass
from streamops.failures.policy import RestartTiming, advise_restart, fruitless_row, wait_after
from streamops.spec import Mode, StreamSpec
from streamops.supervision.cli_hints import to_adopt, to_forget, to_release
from streamops.supervision.decision import Action, Decision
from streamops.supervision.desired_run import has_finished, timings_of, wanted_run
from streamops.supervision.observation import Observation


def decide_start(observation: Observation, spec: StreamSpec) -> Decision:
    """Nothing lives. What people asked for comes first, then whose work the checkpoint is, then policy, then the data."""
    for rule in _START_RULES:
        if decision := rule(observation, spec):
            return decision
    return _by_plan(observation, spec)


def belongs_elsewhere(observation: Observation, spec: StreamSpec) -> Decision | None:
    """Nothing is written to a log that belongs to another stream."""
    owner = observation.state.stream
    conflicts = observation.registry_conflicts
    if owner and owner != spec.name:
        conflicts = (
            f"the control log of {spec.checkpoint} belongs to stream {owner}: where that is the former name of this one,"
            f" `streamops forget {owner} --reason …`, then `{to_adopt(spec)} --reason …`",
            *conflicts,
        )
    if not conflicts:
        return None
    return Decision(action=Action.BLOCKED, reason="; ".join(conflicts), needs_attention=True)


def log_is_behind(observation: Observation, spec: StreamSpec) -> Decision | None:
    """Drivers left traces of epochs that the log knows nothing of: it was deleted, or an older copy was put back.

    Nothing is appended: the missing records may come back, and a record in their place would keep them out.
    """
    ahead, state = observation.epochs_ahead, observation.state
    if not ahead:
        return None
    known = f"ends at epoch {state.newest.number}" if state.newest else "is empty"
    return Decision(
        action=Action.BLOCKED,
        reason=f"drivers up to epoch {ahead} ran on {spec.checkpoint}, but its control log {known}: it was deleted or an"
        f" older copy was put back. Restore the log; where that can't be done, make sure that no driver lives, then"
        f" `{to_adopt(spec)} --reason …`",
        needs_attention=True,
    )


def missing(observation: Observation, spec: StreamSpec) -> Decision | None:
    """The registry knows a driver, and no log has its claim: the control log is gone, and perhaps the checkpoint as well.

    Nothing can be recorded in it: a folder made now would lie below the mount point of the volume that is to come back.
    """
    checkpoint, entry = observation.checkpoint, observation.registered
    if checkpoint is None or entry is None or observation.state.position is not None:
        return None
    if not entry.had_driver_on(spec.checkpoint):
        return None
    plan = observation.plan
    if checkpoint.is_empty and entry.misses(spec.checkpoint, has_claims=False):
        reason = f"a start now is {plan.safety}: {plan.summary}. Mount the volume of {spec.checkpoint}, or restore both"
    else:
        reason = (
            f"the registry knows a driver on {spec.checkpoint}, and its control log is not there: its volume is not mounted, or"
            " it was deleted. Mount it, or restore the log"
        )
    anew = f"to start anew on purpose, `{to_forget(spec)} --reason …`"
    adopted = f"where that can't be done, make sure that no driver lives, then `{to_adopt(spec)} --reason …`"
    return Decision(
        action=Action.BLOCKED,
        reason=f"{reason}; {anew if checkpoint.is_new else adopted}",
        needs_attention=True,
        plan=plan,
    )


def parked(observation: Observation, spec: StreamSpec) -> Decision | None:
    """Somebody, or the policy, said that a person must look first."""
    note = observation.state.parked
    return Decision(action=Action.PARKED, reason=note.reason, needs_attention=True) if note else None


def stopped(observation: Observation, spec: StreamSpec) -> Decision | None:
    """A person asked for a standstill."""
    state = observation.state
    if state.desire is not Desire.STOPPED or state.desired is None:
        return None
    return Decision(action=Action.STOPPED, reason=f"stopped by {state.desired.by.actor}: {state.desired.reason}")


def maintenance(observation: Observation, spec: StreamSpec) -> Decision | None:
    """Somebody needs the checkpoint for a while; a while that is over is ended here."""
    open_one = observation.state.maintenance
    if open_one is None:
        return None
    what = "a bounded run" if open_one.run else "maintenance"
    who = f"{what} by {open_one.note.by.actor}: {open_one.note.reason}"
    if open_one.until <= observation.now:
        return Decision(action=Action.END_MAINTENANCE, reason=f"{who}, over since {open_one.until.isoformat()}")
    if open_one.run is None:
        return Decision(action=Action.WAIT, reason=who, until=open_one.until)
    checkpoint = observation.checkpoint
    if open_one.is_once and checkpoint and not checkpoint.has_pending_batch:
        # Without a batch in flight `once` would read everything in one.
        return Decision(action=Action.END_MAINTENANCE, reason=f"{who}: no batch is in flight any more")
    if has_finished(observation.state):
        return Decision(action=Action.END_MAINTENANCE, reason=f"{who}, has read all that there was")
    return None


def idle(observation: Observation, spec: StreamSpec) -> Decision | None:
    """A scheduled stream waits for its next run, a backfill until somebody goes on with it."""
    if wanted_run(observation.state, spec, now=observation.now):
        return None
    if spec.mode is Mode.BACKFILL:
        return Decision(action=Action.IDLE, reason="the backfill is done, or waits for somebody to go on with it")
    when = f" ({spec.schedule.cron} {spec.schedule.timezone})" if spec.schedule else ""
    return Decision(action=Action.IDLE, reason=f"between two runs{when}")


def _unadopted(observation: Observation, spec: StreamSpec) -> Decision | None:
    """A checkpoint with history but without a log of ours: somebody else may be running it."""
    checkpoint = observation.checkpoint
    if checkpoint is None or checkpoint.is_new or observation.state.position is not None:
        return None
    return Decision(
        action=Action.PARK,
        reason=f"the checkpoint has a history (batch {checkpoint.last_offset}) that the control log knows nothing of:"
        f" make sure that nobody runs it, then `{to_adopt(spec)} --reason …`",
    )


def foreign_writer(observation: Observation, spec: StreamSpec) -> Decision | None:
    """Progress without a live driver of ours: a notebook, another tool, a restored copy."""
    known, checkpoint = observation.state.position, observation.checkpoint
    if known is None or checkpoint is None or observation.state.accepts_unsafe:
        return None
    found, offset, commit = checkpoint.query_id, checkpoint.last_offset, checkpoint.last_commit
    is_other_query = bool(known.query_id and found and found != known.query_id)
    has_moved = is_other_query or offset > known.offset or commit > known.commit
    if not has_moved:
        return _late_batch(observation, spec)
    return Decision(
        action=Action.PARK,
        reason=f"a foreign writer was here: the last driver of ours left query {known.query_id or 'none'} at offset"
        f" {known.offset}, commit {known.commit}; now it is query {found or 'none'} at offset {offset},"
        f" commit {commit}. Stop it, then `{to_release(spec, accepts_unsafe=True)} --reason …`",
    )


def _late_batch(observation: Observation, spec: StreamSpec) -> Decision | None:
    """A batch newer than our last beat: our driver would have halted long before it could plan it.

    Both moments are of one clock when the batch is ours, so a clock that is wrong raises no false alarm.
    """
    newest, checkpoint = observation.state.newest, observation.checkpoint
    sign = newest.end.last_sign_at if newest and newest.end else None
    planned = checkpoint.newest.planned_at if checkpoint and checkpoint.newest else None
    if newest is None or newest.end is None or checkpoint is None or sign is None or planned is None:
        return None
    # Planned between that claim and that end, or it is another epoch's, and of another clock.
    if not newest.claim.position.offset < checkpoint.last_offset <= newest.end.position.offset:
        return None
    if planned <= sign + timings_of(newest, spec.timings).takeover:
        return None
    return Decision(
        action=Action.PARK,
        reason=f"a foreign writer was here: the driver of epoch {newest.number} gave its last sign at {sign.isoformat()},"
        f" batch {checkpoint.last_offset} was planned at {planned.isoformat()}. Stop it, then"
        f" `{to_release(spec, accepts_unsafe=True)} --reason …`",
    )


def _unasked_end(observation: Observation, spec: StreamSpec) -> Decision | None:
    """An end that is no failure and that nobody asked for: it costs no budget, but it must not become a busy loop."""
    newest, row = observation.state.newest, fruitless_row(observation.state.unasked_ends, spec.restart)
    if newest is None or newest.end is None or not row or _is_wanted_now(observation):
        return None
    changed = len(list(takewhile(lambda end: end.failure_class == FailureClass.JOB_CHANGED, row)))
    if changed > spec.restart.thrash_limit:
        return _other_job_file(changed, spec)
    left = wait_after(len(row), spec.restart) - observation.since(row[0].at)
    if left <= timedelta(0):
        return None
    times = f"{len(row)} times in a row " if len(row) > 1 else ""
    how = FailureClass.JOB_CHANGED if changed else newest.end.outcome
    return Decision(
        action=Action.WAIT,
        reason=f"back-off: a driver ended {how} {times}without a batch, and nobody had asked for it",
        until=observation.now + left,
        needs_attention=len(row) > spec.restart.thrash_limit,
    )


def _other_job_file(times: int, spec: StreamSpec) -> Decision:
    """One deployment comes between a claim and its driver once; a difference that stays is mended by no claim."""
    return Decision(
        action=Action.PARK,
        reason=f"{times} drivers in a row found another file at {spec.job} than was claimed for them: something writes it all"
        f" the time, or supervisor and driver do not see the same file. Mend that, then `{to_release(spec)} --reason …`",
    )


def policy(observation: Observation, spec: StreamSpec) -> Decision | None:
    """Why the restart policy keeps the stream from being started now; None when it does not."""
    state = observation.state
    advice = advise_restart(
        state.failures, policy=spec.restart, now=observation.now, unchanged_for=observation.unchanged_for
    )
    if advice.timing is RestartTiming.PARK:
        return Decision(action=Action.PARK, reason=f"{advice.reason}{_damage(observation, spec)}")
    if _is_wanted_now(observation):
        return None
    if advice.timing is RestartTiming.LATER:
        return Decision(
            action=Action.WAIT,
            reason=f"back-off: {advice.reason}",
            until=advice.at,
            needs_attention=advice.in_a_row > spec.restart.thrash_limit,
        )
    dependency, tried_at = observation.dependency, advice.tried_at
    if tried_at and tried_at > observation.now and dependency and dependency.is_reachable is False:
        return Decision(
            action=Action.WAIT,
            reason=f"waiting until {dependency.target} answers ({dependency.evidence}): {advice.reason}",
            waits_for=f"{dependency.target} does not answer ({dependency.evidence})",
            until=tried_at,
            needs_attention=advice.in_a_row > spec.restart.thrash_limit,
        )
    return None


def _is_wanted_now(observation: Observation) -> bool:
    """Whether a person has asked for the next driver: it does not wait."""
    replacement = observation.state.replacement
    return replacement is not None and not replacement.is_stuck


def _damage(observation: Observation, spec: StreamSpec) -> str:
    """What the checkpoint adds to a reason to park: Spark has one error for a second writer and for a broken log."""
    plan = observation.plan
    if observation.checkpoint is None or accepts(spec.sink.guarantee, plan.safety):
        return ""
    return f". Moreover, a start now is {plan.safety}: {plan.summary}"


_START_RULES: tuple[Callable[[Observation, StreamSpec], Decision | None], ...] = (
    parked,
    stopped,
    maintenance,
    idle,
    _unadopted,
    foreign_writer,
    _unasked_end,
    policy,
)


def _by_plan(observation: Observation, spec: StreamSpec) -> Decision:
    """Never start blind: what Spark would do decides."""
    plan = observation.plan
    state = observation.state
    # A claim that was left behind without a sign of a driver has not used up what it carries.
    accepted = state.accepts_unsafe or state.carried_acceptance
    if accepts(spec.sink.guarantee, plan.safety) or accepted:
        return Decision(
            action=Action.CLAIM,
            reason=f"start is {plan.safety}: {plan.summary}",
            epoch=state.next_epoch,
            run=wanted_run(observation.state, spec, now=observation.now) or spec.own_run,
            plan=plan,
            accepts_unsafe=accepted,
        )
    if plan.safety is Safety.UNKNOWN:
        return Decision(action=Action.WAIT, reason=plan.summary, waits_for=observation.without_topics, plan=plan)
    return Decision(
        action=Action.PARK,
        reason=f"a start now is {plan.safety}: {plan.summary}. {_way_out(plan, spec)}",
        plan=plan,
    )


def _way_out(plan: RestartPlan, spec: StreamSpec) -> str:
    """Nobody gains by accepting a start that can only fail."""
    if plan.safety is Safety.FUTILE:
        checked = spec.checkpoint if spec.mode is Mode.BACKFILL else spec.name
        return f"Repair it, `streamops check {checked}` says how, then `{to_release(spec)} --reason …`"
    return f"Repair it, or accept it with `{to_release(spec, accepts_unsafe=True)} --reason …`"
