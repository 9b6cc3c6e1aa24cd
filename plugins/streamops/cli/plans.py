"""What a request will record and what will then happen. Pure: told before the act, and all there is to a dry run."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from streamops.control.fold import Desire, LogState
from streamops.control.records import Adopted, DriverEnded, Released, StartRequested, StopRequested
from streamops.errors import ControlLogError
from streamops.launch import DriverState
from streamops.restart import Safety
from streamops.spec import StreamSpec
from streamops.supervisor import Look
from streamops.supervisor.observe import EpochFacts
from streamops.supervisor.start_rules import worst_plan


class Act(StrEnum):
    """What people ask for."""

    STOP = "stop"
    START = "start"
    RELEASE = "release"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActPlan:
    """One request before it is made."""

    act: Act
    stream: str
    reason: str
    records: tuple[str, ...]
    """Kinds of the records that will be appended to the control log; empty when there is nothing to do."""
    effects: tuple[str, ...]
    """What then happens, a sentence each."""

    @property
    def is_needed(self) -> bool:
        """Whether anything is left to do."""
        return bool(self.records)


class ActOutcome(StrEnum):
    """What became of a plan."""

    PLANNED = "planned"
    """A dry run: nothing was done."""
    NOTHING_TO_DO = "nothing-to-do"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActResult:
    """A request after it was made, or not."""

    plan: ActPlan
    outcome: ActOutcome
    numbers: tuple[int, ...] = ()
    """Of the records in the control log."""
    has_ended: bool | None = None
    """Whether the driver is gone; None when nobody waited for it."""


def plan_stop(look: Look, spec: StreamSpec, *, reason: str) -> ActPlan:
    """From now on the stream is meant to stand still."""
    state = look.observation.state
    if state.desire is Desire.STOPPED:
        return _nothing(Act.STOP, spec, reason, f"it is asked to stand still already, by {_desired(state)}")
    no_restart = f"no restart until `streamops start {spec.name}`"
    return ActPlan(
        act=Act.STOP,
        stream=spec.name,
        reason=reason,
        records=(StopRequested.kind,),
        effects=(*(_stop_effect(facts, spec) for facts in look.observation.epochs), no_restart),
    )


def plan_start(look: Look, spec: StreamSpec, *, reason: str, confirm_dead: int | None = None) -> ActPlan:
    """From now on the stream is meant to run; before that, a person may vouch for the end of an epoch's driver.

    Raises ControlLogError when that epoch is not open, or when its driver is seen alive.
    """
    state = look.observation.state
    is_stopped = state.desire is Desire.STOPPED
    if confirm_dead is None and not is_stopped:
        parked = f"; but it is parked: `streamops release {spec.name}`" if state.parked else ""
        return _nothing(Act.START, spec, reason, f"it is meant to run already{parked}")
    effects: tuple[str, ...] = ()
    if confirm_dead is not None:
        refuse_if_seen_alive(look, spec, epoch=confirm_dead)
        effects = (
            f"epoch {confirm_dead} is watched for {_seconds(spec.timings.halt)} first: a beat that moves refuses this",
            f"epoch {confirm_dead} is recorded as ended, by your word alone",
        )
    remaining = [facts.epoch.number for facts in look.observation.epochs if facts.epoch.number != confirm_dead]
    if remaining:
        effects += (f"epoch {remaining[-1]} is still open: it goes on if it has not begun to stop, or is replaced",)
    else:
        effects += _next_start(look, spec, wants_running=True)
    return ActPlan(
        act=Act.START,
        stream=spec.name,
        reason=reason,
        records=((DriverEnded.kind,) if confirm_dead is not None else ())
        + ((StartRequested.kind,) if is_stopped else ()),
        effects=effects,
    )


def plan_release(look: Look, spec: StreamSpec, *, reason: str, accepts_unsafe: bool) -> ActPlan:
    """Forget the failures so far, and let the supervisor start it again."""
    state = look.observation.state
    if state.parked is None and not accepts_unsafe:
        return _nothing(Act.RELEASE, spec, reason, "it is not parked")
    effects: tuple[str, ...] = (
        f"failures so far are forgotten ({len(state.failures)}), the restart budget is whole again",
    )
    if accepts_unsafe:
        effects += ("the next start, and only that one, goes ahead although its plan is not safe",)
    if look.observation.epochs:
        effects += (f"epoch {look.observation.epochs[-1].epoch.number} is not touched",)
    else:
        effects += _next_start(
            look, spec, wants_running=state.desire is Desire.RUNNING, parks=False, accepts_unsafe=accepts_unsafe
        )
    return ActPlan(act=Act.RELEASE, stream=spec.name, reason=reason, records=(Released.kind,), effects=effects)


def plan_adopt(look: Look, spec: StreamSpec, *, reason: str, watch: timedelta) -> ActPlan:
    """Take over a checkpoint that others have written. ControlLogError when there is nothing to adopt."""
    state, checkpoint = look.observation.state, look.observation.checkpoint
    is_behind = look.observation.epochs_ahead > 0
    if state.position is not None and not is_behind:
        raise ControlLogError(f"stream {spec.name}: its checkpoint has a control log already, nothing to adopt")
    if checkpoint is None or (checkpoint.is_new and not is_behind):
        raise ControlLogError(f"stream {spec.name}: its checkpoint is new, nothing to adopt")
    return ActPlan(
        act=Act.ADOPT,
        stream=spec.name,
        reason=reason,
        records=(Adopted.kind,),
        effects=(
            f"the checkpoint is watched for {_seconds(watch)} first: if it moves, somebody runs it and this is refused",
            f"query {checkpoint.query_id or 'without id'} at batch {checkpoint.last_offset} becomes ours",
            *_next_start(look, spec, wants_running=state.desire is Desire.RUNNING, parks=False, adopts=True),
        ),
    )


def refuse_if_seen_alive(look: Look, spec: StreamSpec, *, epoch: int) -> EpochFacts:
    """The facts of an open epoch whose driver nobody sees.

    A person's word counts where the machine can't tell, not against what it sees: ControlLogError.
    """
    found = next((facts for facts in look.observation.epochs if facts.epoch.number == epoch), None)
    if found is None:
        open_epochs = ", ".join(str(facts.epoch.number) for facts in look.observation.epochs) or "none"
        raise ControlLogError(f"stream {spec.name}: epoch {epoch} is not open; open epochs: {open_epochs}")
    is_alive = found.status is not None and found.status.state in (DriverState.RUNNING, DriverState.BROKEN)
    if is_alive or found.found:
        evidence = found.status.evidence if found.status else "a driver with its token lives"
        raise ControlLogError(f"stream {spec.name}: epoch {epoch} is not dead: {evidence}")
    return found


def _next_start(
    look: Look,
    spec: StreamSpec,
    *,
    wants_running: bool,
    parks: bool = True,
    accepts_unsafe: bool = False,
    adopts: bool = False,
) -> tuple[str, ...]:
    """What a supervisor will make of it, now that no driver lives."""
    state, checkpoint = look.observation.state, look.observation.checkpoint
    if not wants_running:
        return (f"it stays stopped until `streamops start {spec.name}`",)
    if parks and state.parked:
        return (f"it stays parked until `streamops release {spec.name}`: {state.parked.reason}",)
    if checkpoint and not checkpoint.is_new and state.position is None and not adopts:
        return (f"its checkpoint has a history of others: `streamops adopt {spec.name}` comes first",)
    if look.observation.registry_conflicts:
        return (f"it stays blocked: {'; '.join(look.observation.registry_conflicts)}",)
    plan = worst_plan(look.observation)
    if checkpoint is None:
        return (f"a supervisor reads the checkpoint and then claims epoch {state.next_epoch}, if a start is safe",)
    what = f"a start now is {plan.safety}: {plan.summary}"
    accepted = accepts_unsafe or spec.sink.guarantee.accepts(plan.safety)
    if accepted:
        return (what, f"a supervisor claims epoch {state.next_epoch} at its next look")
    return (what, "a supervisor waits" if plan.safety is Safety.UNKNOWN else "a supervisor parks it again")


def _stop_effect(facts: EpochFacts, spec: StreamSpec) -> str:
    number = facts.epoch.number
    if facts.status is None:
        return f"epoch {number} is claimed and not submitted yet: it stops before its first batch"
    if facts.status.state is DriverState.ENDED:
        return f"epoch {number} has ended already"
    grace = f"after {_seconds(spec.timings.stop)} a supervisor kills it"
    return f"epoch {number} finishes its batch and stops; {grace}"


def _nothing(act: Act, spec: StreamSpec, reason: str, why: str) -> ActPlan:
    return ActPlan(act=act, stream=spec.name, reason=reason, records=(), effects=(why,))


def _desired(state: LogState) -> str:
    note = state.desired
    return f"{note.by.actor} at {note.at.isoformat(timespec='seconds')}: {note.reason}" if note else "nobody known"


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.0f} s"
