"""The plan of each request. Pure: told before the act, and all there is to a dry run."""

from dataclasses import replace

from streamops.control.records import (
    Acknowledged,
    Adopted,
    DriverEnded,
    Outcome,
    Position,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from streamops.control.state import Desire, LogState, Note
from streamops.diagnosis.companions import position_of
from streamops.diagnosis.restart_plan import Safety, accepts
from streamops.errors import ControlLogError, SettingsError
from streamops.launch import DriverState
from streamops.operations.act_effects import (
    NextStart,
    brought_by_restart,
    budget_of_release,
    in_seconds,
    next_start,
    rests,
    stop_effect,
    unattended,
    unsafe_start_text,
)
from streamops.operations.act_plan import NOTHING_BESIDE, Act, ActPlan, ActTerms, AwaitedStart
from streamops.operations.snapshot import StreamSnapshot
from streamops.retention import PartitionCoverage, PartitionState
from streamops.retention.covered_plan import told
from streamops.spec import Mode, StreamSpec
from streamops.supervision.cli_hints import called
from streamops.supervision.decision import Action
from streamops.supervision.desired_run import timings_of
from streamops.supervision.hand_over import HandOver
from streamops.supervision.observation import EpochFacts
from streamops.supervision.preflight import plans_for
from streamops.supervision.start_rules import foreign_writer
from streamops.supervision.supervisor import Look

NOTHING_FIRST = HandOver()
NOTHING_FOLLOWS = NextStart(effects=())


def plan_stop(sight: StreamSnapshot, spec: StreamSpec, *, reason: str, force: bool = False) -> ActPlan:
    """From now on the stream is meant to stand still."""
    state, epochs = sight.look.observation.state, sight.look.observation.epochs
    if state.desire is Desire.STOPPED and (state.is_stop_forced or not force or not epochs):
        return _nothing(Act.STOP, spec, reason, f"it is asked to stand still already, by {_told(state.desired)}")
    no_restart = f"no restart until `streamops start {spec.name}`"
    return ActPlan(
        act=Act.STOP,
        stream=spec.name,
        reason=reason,
        records=(StopRequested.kind,),
        effects=(*(stop_effect(facts, spec, force=force) for facts in epochs), no_restart),
        warnings=unattended(sight, spec, "a driver that does not stop by itself is not killed") if epochs else (),
        ends=tuple(facts.epoch.number for facts in epochs if not _has_ended(facts)),
    )


def _has_ended(facts: EpochFacts) -> bool:
    return facts.status is not None and facts.status.state is DriverState.ENDED


def plan_replacement(sight: StreamSnapshot, spec: StreamSpec, *, reason: str, force: bool = False) -> ActPlan:
    """Another driver, with the present declaration, takes the living one's place; a parked stream is released for it.

    Released, because whoever asks for a restart wants the stream to run and has given a reason: a refusal that names
    another command to type would cost minutes and prevent nothing. The start is judged as after any release.

    Raises ControlLogError for a stream that was stopped on purpose, and where no start could follow the stop;
    SettingsError where the new driver could not be claimed because its job can't be read.
    """
    state, decision = sight.look.observation.state, sight.look.decision
    if state.desire is Desire.STOPPED:
        raise ControlLogError(
            f"stream {spec.name} is stopped on purpose, by {_told(state.desired)}. To let it run: `streamops start"
            f" {spec.name} --reason …`"
        )
    if decision.action is Action.BLOCKED:
        raise ControlLogError(f"stream {spec.name} is blocked, no driver can be started: {decision.reason}")
    if sight.around.declaration.trouble:
        raise SettingsError(f"stream {spec.name}: no driver can be started: {sight.around.declaration.trouble}")
    if state.parked:
        return _released_by_restart(sight, spec, state.parked, reason=reason)
    if state.replacement and (state.replacement.force or not force):
        asked = f"a restart is asked for already, by {_told(state.replacement.note)}"
        return _nothing(Act.RESTART, spec, reason, f"{asked}; {decision.reason}", awaits=_next(state))
    if state.newest is None or not state.newest.is_open:
        return _without_waiting(sight, spec, reason=reason)
    _refuse_a_last_stop(sight, spec)
    return ActPlan(
        act=Act.RESTART,
        stream=spec.name,
        reason=reason,
        records=(RestartRequested.kind,),
        effects=(
            *(stop_effect(facts, spec, force=force) for facts in sight.look.observation.epochs),
            *brought_by_restart(state.newest.claim, sight.around.declaration),
            f"a supervisor claims epoch {state.next_epoch} as soon as the driver is proven gone",
        ),
        warnings=(
            *unattended(sight, spec, "the driver stops by itself at its next beat, and nothing starts another one"),
            *_forced_repeat(spec, force=force),
        ),
        awaits=_next(state),
    )


def plan_start(
    sight: StreamSnapshot,
    spec: StreamSpec,
    *,
    reason: str,
    confirm_dead: int | None = None,
    hand_over: HandOver = NOTHING_FIRST,
) -> ActPlan:
    """From now on the stream is meant to run; before that, a person may vouch for the end of an epoch's driver.

    Raises ControlLogError when that epoch is not open, when its driver is seen alive, or when somebody else seems to run the
    query.
    """
    look = sight.look
    state = look.observation.state
    is_stopped = state.desire is Desire.STOPPED
    if confirm_dead is None and not is_stopped:
        parked = f"; but it is parked: `streamops release {spec.name}`" if state.parked else ""
        return _nothing(Act.START, spec, reason, f"it is meant to run already{parked}")
    effects = _watched_first(hand_over, spec) if is_stopped else ()
    if confirm_dead is not None:
        vouched_for = refuse_if_seen_alive(look, spec, epoch=confirm_dead)
        halt = timings_of(vouched_for.epoch, spec.timings).halt
        effects += (
            f"epoch {confirm_dead} is watched for {in_seconds(halt)} first: a beat that moves refuses this",
            f"epoch {confirm_dead} is recorded as ended, by your word alone",
        )
    follows = NOTHING_FOLLOWS
    remaining = [facts.epoch.number for facts in look.observation.epochs if facts.epoch.number != confirm_dead]
    if remaining:
        effects += (f"epoch {remaining[-1]} is still open: it goes on if it has not begun to stop, or is replaced",)
    else:
        ended = () if confirm_dead is None else (_ended_by_word(confirm_dead, sight),)
        started = (StartRequested(),) if is_stopped else ()
        follows = next_start(sight, spec, *ended, *started, wants_running=True)
    return ActPlan(
        act=Act.START,
        stream=spec.name,
        reason=reason,
        records=((DriverEnded.kind,) if confirm_dead is not None else ())
        + ((StartRequested.kind,) if is_stopped else ()),
        effects=(*effects, *follows.effects),
        in_vain=follows.in_vain,
        warnings=() if rests(state, spec) else unattended(sight, spec, "nothing starts it"),
        awaits=None
        if rests(state, spec)
        else AwaitedStart(epoch=remaining[-1] if remaining else state.next_epoch, commit=sight.checkpoint.last_commit),
    )


def plan_release(
    sight: StreamSnapshot,
    spec: StreamSpec,
    *,
    reason: str,
    terms: ActTerms = NOTHING_BESIDE,
    hand_over: HandOver = NOTHING_FIRST,
) -> ActPlan:
    """Forget the failures so far, and let the supervisor start it again.

    ControlLogError when somebody else seems to run the query, and where no expired records are in the way that could be accepted.
    """
    state = sight.look.observation.state
    if state.parked is None and not terms.accepts:
        return _nothing(Act.RELEASE, spec, reason, "it is not parked")
    effects: tuple[str, ...] = (*_watched_first(hand_over, spec), budget_of_release(state))
    if terms.accepts_expired:
        lost = _expired(sight, spec)
        if not terms.accepts_unsafe:
            _refuse_more_than_expired(sight, spec)
        effects += tuple(
            f"the next start, and only that one, passes over what is gone{whose}: {told(gone, most=EXPIRED_SHOWN)}"
            for whose, gone in lost
        )
    elif terms.accepts:
        effects += ("the next start, and only that one, goes ahead although its plan is not safe",)
    wants_running = state.desire is Desire.RUNNING and not rests(state, spec)
    follows = NOTHING_FOLLOWS
    if sight.look.observation.epochs:
        effects += (f"epoch {sight.look.observation.epochs[-1].epoch.number} is not touched",)
    else:
        released = Released(accepts_unsafe=terms.accepts, accepts_expired=terms.accepts_expired)
        follows = next_start(sight, spec, released, wants_running=state.desire is Desire.RUNNING)
    return ActPlan(
        act=Act.RELEASE,
        stream=spec.name,
        reason=reason,
        records=(Released.kind,),
        effects=(*effects, *follows.effects),
        in_vain=follows.in_vain,
        warnings=unattended(sight, spec, "nothing starts it") if wants_running else (),
        awaits=_next(state) if wants_running else None,
    )


def _expired(sight: StreamSnapshot, spec: StreamSpec) -> list[tuple[str, list[PartitionCoverage]]]:
    """What a start would miss, query by query. ControlLogError where that is nothing, not known, or not all that keeps it."""
    if not spec.reads_kafka or spec.mode is Mode.BACKFILL:
        raise ControlLogError(
            f"{called(spec)}: expired records are accepted of a stream that reads Kafka, and of no other"
        )
    partitions = [one for coverage in sight.coverages for one in coverage.partitions]
    unknown = [one for one in partitions if one.standing is PartitionState.UNKNOWN]
    if unknown or not partitions:
        why = f": {told(unknown)}" if unknown else ""
        raise ControlLogError(f"{called(spec)}: Kafka did not say what it has deleted{why}; nothing is accepted")
    lossy = [one for one in partitions if one.standing.is_lossy]
    if not lossy:
        raise ControlLogError(f"{called(spec)}: Kafka has deleted no records that are needed; nothing is accepted")
    others = [one for one in lossy if not one.standing.is_expired]
    if others:
        raise ControlLogError(
            f"{called(spec)}: not only deleted records are in the way: {told(others)}. Take a look at that first:"
            f" `streamops lag {spec.name}`"
        )
    of_each = ([one for one in coverage.partitions if one.standing.is_lossy] for coverage in sight.coverages)
    return [(f" for its companion {number - 1}" if number else "", gone) for number, gone in enumerate(of_each) if gone]


def _refuse_more_than_expired(sight: StreamSnapshot, spec: StreamSpec) -> None:
    """ControlLogError where the start is unsafe for another reason, too: whoever accepts one loss has not accepted the other."""
    without = plans_for(sight.seen, spec, replace(sight.start, coverages=()))
    refused = [one.plan for one in without if not accepts(spec.sink.guarantee, one.plan.safety)]
    stranger = foreign_writer(sight.seen, spec)
    why = stranger.reason if stranger else f"a start is {refused[0].safety}: {refused[0].summary}" if refused else ""
    if why:
        raise ControlLogError(
            f"{called(spec)}: expired records are not all that is in the way: {why}. To accept both, add --accept-unsafe"
        )


EXPIRED_SHOWN = 20


def plan_adopt(
    sight: StreamSnapshot, spec: StreamSpec, *, reason: str, hand_over: HandOver, from_stream: str = ""
) -> ActPlan:
    """Take over a checkpoint that others have written, or the log of a stream of another name.

    ControlLogError when there is nothing to adopt, or when somebody seems to run the query.
    """
    look = sight.look
    state, checkpoint = look.observation.state, look.observation.checkpoint
    if from_stream:
        refuse_to_take_over(state, spec, from_stream=from_stream)
    is_behind = look.observation.epochs_ahead > 0
    if state.position is not None and not is_behind and not from_stream:
        raise ControlLogError(f"stream {spec.name}: its checkpoint has a control log already, nothing to adopt")
    if checkpoint is None or (checkpoint.is_new and not is_behind and not from_stream):
        raise ControlLogError(f"stream {spec.name}: its checkpoint is new, nothing to adopt")
    follows = next_start(
        sight,
        spec,
        Adopted(
            stream=spec.name,
            position=_stands(sight),
            epochs_seen=look.observation.epochs_ahead,
            from_stream=from_stream,
        ),
        wants_running=state.desire is Desire.RUNNING,
    )
    return ActPlan(
        act=Act.ADOPT,
        stream=spec.name,
        reason=reason,
        records=(Adopted.kind,),
        effects=(
            *_watched_first(hand_over, spec),
            f"query {checkpoint.query_id or 'without id'} at batch {checkpoint.last_offset} becomes ours",
            *((f"its control log goes over from {from_stream} to {spec.name}",) if from_stream else ()),
            *follows.effects,
        ),
        in_vain=follows.in_vain,
    )


def plan_acknowledge(state: LogState, spec: StreamSpec, *, reason: str) -> ActPlan:
    """Let `status` and `reconcile` tell no more of the unsafe starts so far; the history keeps them."""
    if not state.unsafe_starts:
        return _nothing(Act.ACKNOWLEDGE, spec, reason, "no unsafe start waits for it")
    return ActPlan(
        act=Act.ACKNOWLEDGE,
        stream=spec.name,
        reason=reason,
        records=(Acknowledged.kind,),
        effects=tuple(f"nobody is reminded any more of {unsafe_start_text(one)}" for one in state.unsafe_starts),
    )


def _stands(sight: StreamSnapshot) -> Position:
    """Where the stream's checkpoints stand now."""
    own, *companions = (snapshot.facts for snapshot in sight.checkpoints)
    return position_of(own, tuple(companions))


def _ended_by_word(epoch: int, sight: StreamSnapshot) -> DriverEnded:
    return DriverEnded(epoch=epoch, outcome=Outcome.CONFIRMED_DEAD, position=_stands(sight))


def _watched_first(hand_over: HandOver, spec: StreamSpec) -> tuple[str, ...]:
    """What comes before a driver of ours may take the checkpoint over."""
    if hand_over.refusal:
        raise ControlLogError(f"{called(spec)}: {hand_over.refusal}")
    if not hand_over.watch:
        return ()
    why = f" ({hand_over.because})" if hand_over.because else ""
    return (
        f"the checkpoint is watched for {in_seconds(hand_over.watch)} first{why}: if it moves, somebody runs it and this is"
        " refused",
    )


def refuse_to_take_over(state: LogState, spec: StreamSpec, *, from_stream: str) -> None:
    """ControlLogError where the log is not that stream's, or while a driver of it may live."""
    if state.stream != from_stream:
        raise ControlLogError(
            f"{called(spec)}: its control log belongs to {state.stream or 'nobody'}, not to {from_stream}"
        )
    if state.open_epochs:
        raise ControlLogError(
            f"{called(spec)}: epoch {state.open_epochs[-1].number} of {from_stream} is open, its driver may live: declare"
            f" {from_stream} once more, `streamops stop {from_stream} --reason …`, then rename it"
        )


def refuse_if_seen_alive(look: Look, spec: StreamSpec, *, epoch: int) -> EpochFacts:
    """The facts of an open epoch whose driver nobody sees.

    A person's word counts where the machine can't tell, not against what it sees: ControlLogError.
    """
    found = next((facts for facts in look.observation.epochs if facts.epoch.number == epoch), None)
    if found is None:
        open_epochs = ", ".join(str(facts.epoch.number) for facts in look.observation.epochs) or "none"
        raise ControlLogError(f"{called(spec)}: epoch {epoch} is not open; open epochs: {open_epochs}")
    is_alive = found.status is not None and found.status.state in (DriverState.RUNNING, DriverState.BROKEN)
    if is_alive or found.found:
        evidence = found.status.evidence if found.status else "a driver with its token lives"
        raise ControlLogError(f"{called(spec)}: epoch {epoch} is not dead: {evidence}")
    return found


def _released_by_restart(sight: StreamSnapshot, spec: StreamSpec, parked: Note, *, reason: str) -> ActPlan:
    state = sight.look.observation.state
    follows = next_start(sight, spec, Released(), wants_running=True)
    return ActPlan(
        act=Act.RESTART,
        stream=spec.name,
        reason=reason,
        records=(Released.kind,),
        in_vain=follows.in_vain,
        effects=(
            f"it is parked, so no driver lives: {parked.reason}",
            f"it is released: {budget_of_release(state)}",
            *follows.effects,
        ),
        warnings=unattended(sight, spec, "nothing starts it"),
        awaits=_next(state),
    )


def _refuse_a_last_stop(sight: StreamSnapshot, spec: StreamSpec) -> None:
    """A driver that runs on a checkpoint from which none could start is the last one: it is not stopped by a restart."""
    plan = sight.start_plan
    if plan.safety in (Safety.SAFE, Safety.SAFE_IF_IDEMPOTENT, Safety.UNKNOWN):
        return
    raise ControlLogError(
        f"stream {spec.name}: the driver runs, but a start on its checkpoint would be {plan.safety}: {plan.summary}. Mend"
        f" that first; to end the driver all the same: `streamops stop {spec.name} --reason …`"
    )


def _forced_repeat(spec: StreamSpec, *, force: bool) -> tuple[str, ...]:
    if not force or accepts(spec.sink.guarantee, Safety.SAFE_IF_IDEMPOTENT):
        return ()
    return (
        f"its sink is {spec.sink.guarantee}: when a batch is cut off, the stream is parked until `streamops release"
        f" {spec.name} --accept-unsafe`",
    )


def _without_waiting(sight: StreamSnapshot, spec: StreamSpec, *, reason: str) -> ActPlan:
    """No driver lives. What policy makes the next one wait for is skipped; any other wait is not for a restart to end."""
    state, decision = sight.look.observation.state, sight.look.decision
    is_skipped = decision.action is Action.WAIT and decision.until is not None and state.maintenance is None
    if state.newest is None or not is_skipped:
        return _nothing(Act.RESTART, spec, reason, _no_driver(sight, spec), awaits=_next(state))
    follows = next_start(sight, spec, RestartRequested(epoch=state.newest.number), wants_running=True)
    return ActPlan(
        act=Act.RESTART,
        stream=spec.name,
        reason=reason,
        records=(RestartRequested.kind,),
        effects=(
            f"the wait until {decision.until:%H:%M:%S} UTC is skipped ({decision.reason})",
            *brought_by_restart(state.newest.claim, sight.around.declaration),
            *follows.effects,
        ),
        in_vain=follows.in_vain,
        warnings=unattended(sight, spec, "nothing starts a driver"),
        awaits=_next(state),
    )


def _no_driver(sight: StreamSnapshot, spec: StreamSpec) -> str:
    """Why there is nothing to replace, and what comes without asking."""
    decision = sight.look.decision
    if rests(sight.look.observation.state, spec):
        return f"no driver lives, and none is to: {decision.reason}"
    when = f" at {decision.until:%H:%M:%S} UTC" if decision.until else ""
    missing = " once somebody attends to it" if sight.is_unattended else ""
    comes = f"a supervisor starts one with the present declaration{when}{missing}"
    return f"no driver lives, and {comes} ({decision.reason})"


def _next(state: LogState) -> AwaitedStart:
    return AwaitedStart(epoch=state.next_epoch)


def _nothing(act: Act, spec: StreamSpec, reason: str, why: str, *, awaits: AwaitedStart | None = None) -> ActPlan:
    return ActPlan(act=act, stream=spec.name, reason=reason, records=(), effects=(why,), awaits=awaits)


def _told(note: Note | None) -> str:
    return f"{note.by.actor} at {note.at.isoformat(timespec='seconds')}: {note.reason}" if note else "nobody known"
