"""A plan: what a request will record, what will then happen, and what has become of it so far. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from streamops.control.drivers import DriverPhase, QueryStep
from streamops.control.state import Desire, LogState
from streamops.failures.classify import cause_of
from streamops.launch import DriverState
from streamops.spec import StreamSpec
from streamops.supervision.decision import Action
from streamops.supervision.observation import EpochFacts
from streamops.supervision.supervisor import Look

IDLE_AFTER = timedelta(seconds=30)
"""A query that runs this long beyond its trigger interval, and waits, has nothing to read: Spark 4.2 asks its sources
at each trigger and renews the progress of an idle query every 10 s."""


class Stage(StrEnum):
    """How far an act has come."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    """It will not come about without a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActProgress:
    """One answer."""

    stage: Stage
    evidence: str
    epoch: int | None = None
    batch: int | None = None
    """The first one that the new driver was seen to have committed; None where it had nothing to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedStart:
    """What shows that a start came about: a committed batch of a driver that counts."""

    epoch: int
    """The first epoch that counts."""
    commit: int = -1
    """The newest batch that was committed when it was asked: only a newer one counts."""


def follow_start(look: Look, spec: StreamSpec, awaited: AwaitedStart, *, commit: int) -> ActProgress:
    """Whether the awaited driver has committed a batch; `commit` is the newest one of the checkpoint now.

    The commit in the checkpoint is what counts, not the driver's word. A stream with nothing to read commits nothing:
    there a query that runs and waits is all that can be seen.
    """
    state = look.observation.state
    newest = state.newest
    if newest is not None and newest.number >= awaited.epoch:
        if commit > max(awaited.commit, _committed_before(state)):
            first = max(awaited.commit, _committed_before(state)) + 1
            evidence = f"epoch {newest.number} has committed batch {first}"
            return ActProgress(stage=Stage.DONE, evidence=evidence, epoch=newest.number, batch=first)
        if idle := _idle(look, spec, newest.number):
            return idle
    if reason := _why_never(look):
        return ActProgress(stage=Stage.FAILED, evidence=reason)
    return ActProgress(stage=Stage.PENDING, evidence=_standing(look))


def follow_stop(look: Look) -> ActProgress:
    """Whether no driver lives, and none is about to be submitted."""
    if look.observation.state.desire is Desire.RUNNING:
        return ActProgress(stage=Stage.FAILED, evidence=f"the stream was started again: {look.decision.reason}")
    if living := why_it_lives(look):
        return ActProgress(stage=Stage.PENDING, evidence=living)
    return ActProgress(stage=Stage.DONE, evidence="no driver lives")


def why_it_lives(look: Look) -> str:
    """Why a driver may still live; empty when none does."""
    for facts in look.observation.epochs:
        if facts.unseen:
            return f"epoch {facts.epoch.number} can't be seen from here: {facts.unseen}"
        if facts.status is None:
            # A driver that was submitted without a record sees the request at its first beat, before its first batch.
            if facts.found or look.decision.action is not Action.STOPPED:
                return f"epoch {facts.epoch.number} is claimed, and nothing says yet that it won't be submitted"
        elif facts.status.state is not DriverState.ENDED:
            return f"epoch {facts.epoch.number}: {facts.status.evidence}"
    return ""


def _committed_before(state: LogState) -> int:
    """The newest batch that older drivers have committed, as far as their ends and the newest claim tell."""
    newest = state.newest
    if newest and not newest.is_open:
        return newest.claim.position.commit
    return state.position.commit if state.position else -1


def _idle(look: Look, spec: StreamSpec, epoch: int) -> ActProgress | None:
    facts = _newest_open(look, epoch)
    beat = facts.heartbeat if facts else None
    if beat is None or beat.phase is not DriverPhase.RUNNING or not beat.queries:
        return None
    waits = beat.queries[0].step is QueryStep.WAITING
    if not waits or timedelta(seconds=beat.phase_seconds) < IDLE_AFTER + spec.trigger.interval:
        return None
    seconds = f"{beat.phase_seconds:.0f} s"
    evidence = f"epoch {epoch} has run its query for {seconds} and waits: there is nothing to read, so no batch"
    return ActProgress(stage=Stage.DONE, evidence=evidence, epoch=epoch)


def _newest_open(look: Look, epoch: int) -> EpochFacts | None:
    return next((facts for facts in look.observation.epochs if facts.epoch.number == epoch), None)


_NEVER = frozenset({Action.PARKED, Action.PARK, Action.BLOCKED})


def _why_never(look: Look) -> str:
    """Why no driver will come without a person; empty while one may."""
    state, decision = look.observation.state, look.decision
    if state.desire is Desire.STOPPED:
        by = f" by {state.desired.by.actor}: {state.desired.reason}" if state.desired else ""
        return f"the stream was stopped{by}"
    if decision.action not in _NEVER:
        return ""
    return f"{_last_end(state)}the stream is {'blocked' if decision.action is Action.BLOCKED else 'parked'}: {decision.reason}"


def _standing(look: Look) -> str:
    return f"{_last_end(look.observation.state)}{look.decision.reason}"


def _last_end(state: LogState) -> str:
    newest = state.newest
    if newest is None or newest.end is None:
        return ""
    cause = cause_of(newest.end.outcome, newest.end.text, newest.end.error_classes)
    return f"epoch {newest.number} ended {newest.end.outcome}{f': {cause}' if cause else ''}; "


class Act(StrEnum):
    """What people ask for."""

    STOP = "stop"
    START = "start"
    RESTART = "restart"
    RELEASE = "release"
    ADOPT = "adopt"
    ACKNOWLEDGE = "acknowledge"
    """Unsafe starts are known, and nobody is reminded of them any more."""
    CATCHUP = "catchup"
    """A bounded run, in the live query's place where there is one."""


ADOPTION_WATCH = timedelta(seconds=30)
"""How long a checkpoint of others must not move before it is ours; longer where a batch is in flight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActTerms:
    """What a person says beside an act and its reason. Each act goes by what is of use to it."""

    force: bool = False
    """Restart and stop: kill the driver at once, its batch runs again."""
    accepts_unsafe: bool = False
    """Release: the next start goes ahead whatever its plan says."""
    accepts_expired: bool = False
    """Release: the next start passes over what Kafka has deleted."""
    confirm_dead: int | None = None
    """Start: the epoch whose driver counts as gone by the person's word."""
    is_vouched: bool = False
    """Start, release and adopt: nobody outside of streamops runs the query."""
    watch: timedelta = ADOPTION_WATCH
    """Adopt: how long the checkpoint must not move, at least."""
    from_stream: str = ""
    """Adopt: whose log it is, where that is another stream's."""

    @property
    def accepts(self) -> bool:
        """Whether the next start is to go ahead although its plan is not safe."""
        return self.accepts_unsafe or self.accepts_expired

    def of_use_to(self, act: Act) -> "ActTerms":
        """The same without what the act does not go by."""
        return ActTerms(
            force=self.force and act in (Act.RESTART, Act.STOP),
            accepts_unsafe=self.accepts_unsafe and act is Act.RELEASE,
            accepts_expired=self.accepts_expired and act is Act.RELEASE,
            confirm_dead=self.confirm_dead if act is Act.START else None,
            is_vouched=self.is_vouched and act in (Act.START, Act.RELEASE, Act.ADOPT),
            watch=self.watch if act is Act.ADOPT else ADOPTION_WATCH,
            from_stream=self.from_stream if act is Act.ADOPT else "",
        )

    def needs_approval(self, act: Act) -> bool:
        """Whether it may cut off a batch, lose or repeat data, or rests on a person's word where no machine can tell."""
        by_word = self.confirm_dead is not None or self.is_vouched or act is Act.ADOPT
        return self.force or self.accepts or by_word


NOTHING_BESIDE = ActTerms()


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
    warnings: tuple[str, ...] = ()
    """What keeps it from happening, or makes it cost more than it seems."""
    terms: ActTerms = NOTHING_BESIDE
    awaits: AwaitedStart | None = None
    """What shows that it has come about; None where no start follows from it."""
    ends: tuple[int, ...] = ()
    """Epochs whose drivers are to end for good."""
    in_vain: str = ""
    """Why no driver comes of it, though one is wanted; empty where one may."""

    @property
    def is_needed(self) -> bool:
        """Whether anything is left to do."""
        return bool(self.records)

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan, a fact a line."""
        return (
            f"{self.act} {self.stream}{', forced' if self.terms.force else ''}"
            f"{', unsafe accepted' if self.terms.accepts_unsafe else ''}"
            f"{', loss of expired records accepted' if self.terms.accepts_expired else ''}",
            f"  because  {self.reason}",
            f"  records  {', '.join(self.records) or 'nothing'}",
            *(f"  then     {effect}" for effect in self.effects),
            *(f"  WARNING  {warning}" for warning in self.warnings),
        )
