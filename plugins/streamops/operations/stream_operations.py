"""Where acts on one stream are planned, put on record and followed; the same for the terminal and for Airflow."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from streamops.clock import Clock
from streamops.control.attendance import read_attendance
from streamops.control.layout import control_folder
from streamops.control.records import Author, Claimed, DriverEnded, Record, Released, RestartRequested
from streamops.diagnosis.companions import read_checkpoints
from streamops.errors import ControlLogError, StreamOpsError
from streamops.launch.outsiders import find_outsiders
from streamops.operations.act_plan import (
    NOTHING_BESIDE,
    Act,
    ActPlan,
    ActProgress,
    ActTerms,
    AwaitedStart,
    Stage,
    follow_start,
    follow_stop,
)
from streamops.operations.act_plans import (
    plan_acknowledge,
    plan_adopt,
    plan_release,
    plan_replacement,
    plan_start,
    plan_stop,
    refuse_if_seen_alive,
)
from streamops.operations.history import READ_LIMIT, Entries, History, newest_history
from streamops.operations.log_tail import FoundRequest, UnreadableRecord, find_request, records_backwards
from streamops.operations.requests import Requests
from streamops.operations.snapshot import ActContext, StreamSnapshot, declaration_of
from streamops.spec import StreamSpec
from streamops.storage import Storage
from streamops.supervision.hand_over import FindOutsiders, Watching, unseen
from streamops.supervision.place import refuse_unmounted
from streamops.supervision.supervisor import Supervisor

SUPERVISORS_PACE = timedelta(minutes=1)
"""What a supervisor may take between a request and its act: its looks, a wait that ends, a slow place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A plan that was carried out."""

    plan: ActPlan
    """As it was, or as it became when somebody was faster: then nothing is left to do."""
    records: tuple[Record, ...] = ()
    """In order; none when nothing was left to do."""

    @property
    def record(self) -> Record | None:
        """The last one; None when nothing was left to do."""
        return self.records[-1] if self.records else None

    @property
    def awaits(self) -> AwaitedStart | None:
        """What shows that it has come about."""
        if self.record and isinstance(self.record.body, RestartRequested):
            # Perhaps not the epoch that was planned with: its driver may have been replaced meanwhile.
            return AwaitedStart(epoch=self.record.body.epoch + 1)
        return self.plan.awaits


class StreamOperations:
    """One stream's desk, for one author. Its supervisor only looks."""

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        storage: Storage,
        clock: Clock,
        state_root: str,
        author: Author,
        find_outsiders: FindOutsiders = find_outsiders,
        watching: Watching = unseen,
    ) -> None:
        self.supervisor = supervisor
        self.spec: StreamSpec = supervisor.spec
        self._storage = storage
        self._state_root = state_root
        self.requests = Requests(
            self.spec,
            storage=storage,
            clock=clock,
            author=author,
            find_outsiders=find_outsiders,
            watching=watching,
            guard=partial(refuse_unmounted, self.spec, storage=storage, state_root=state_root),
        )
        """The author's."""

    def surroundings(self) -> ActContext:
        """Who looks after the stream and what is declared now. StorageError."""
        attendance = read_attendance(self._storage, self._state_root, self.spec.name)
        return ActContext(attendance=attendance, declaration=declaration_of(self.spec))

    def sight(self) -> StreamSnapshot:
        """All that a plan rests on. Raises StreamOpsError where the facts can't be had."""
        look = self.supervisor.look()
        seen, start = (look.observation, look.start) if look.start else self.supervisor.in_depth(look)
        return StreamSnapshot(look=look, around=self.surroundings(), seen=seen, start=start)

    def confirm_dead(self, epoch: int, reason: str) -> Record:
        """Put a person's word for the end of an epoch's driver on record.

        ControlLogError where the driver is seen alive, before its beat is watched or after, or where that moves.
        """
        refuse_if_seen_alive(self.supervisor.look(), self.spec, epoch=epoch)
        return self.requests.confirm_dead(
            epoch, reason, refuse=lambda: refuse_if_seen_alive(self.supervisor.look(), self.spec, epoch=epoch)
        )

    def plan(
        self,
        act: Act,
        *,
        reason: str,
        terms: ActTerms = NOTHING_BESIDE,
    ) -> ActPlan:
        """The plan of an act. Raises what the plans raise, and StreamOpsError."""
        terms = terms.of_use_to(act)
        return replace(self._planned(act, reason, terms), terms=terms)

    def _planned(self, act: Act, reason: str, terms: ActTerms) -> ActPlan:
        if act is Act.ACKNOWLEDGE:  # Whatever becomes of the checkpoint, the log is all that it is about.
            return plan_acknowledge(self.requests.state(), self.spec, reason=reason)
        sight = self.sight()
        match act:
            case Act.STOP:
                return plan_stop(sight, self.spec, reason=reason, force=terms.force)
            case Act.RESTART:
                return plan_replacement(sight, self.spec, reason=reason, force=terms.force)
            case Act.START:
                first = self.requests.hand_over(act, is_vouched=terms.is_vouched)
                return plan_start(sight, self.spec, reason=reason, confirm_dead=terms.confirm_dead, hand_over=first)
            case Act.RELEASE:
                first = self.requests.hand_over(act, accepts_unsafe=terms.accepts, is_vouched=terms.is_vouched)
                return plan_release(sight, self.spec, reason=reason, terms=terms, hand_over=first)
            case Act.ADOPT:
                first = self.requests.hand_over(act, at_least=terms.watch, is_vouched=terms.is_vouched)
                return plan_adopt(sight, self.spec, reason=reason, hand_over=first, from_stream=terms.from_stream)
            case _:
                raise ControlLogError(f"{act} is not an act that is planned here")

    def carry_out(self, plan: ActPlan) -> Carried:
        """Put it on record; what it rests on is checked once more. ControlLogError when that has changed for the worse."""
        try:
            records = self._append(plan)
        except ControlLogError as error:
            try:
                now = self._anew(plan)
            except StreamOpsError:
                raise error from None
            if now.is_needed:
                raise
            return Carried(plan=now)
        return Carried(plan=plan if records else self._anew(plan), records=records)

    def limit(self, act: Act, *, force: bool = False) -> timedelta:
        """How long an act may take: the driver's grace, a start, one trigger, and a supervisor's own pace."""
        timings = self.spec.timings
        grace = timings.stop if act in (Act.STOP, Act.RESTART) and not force else timedelta(0)
        start = timings.start + self.spec.trigger.interval if act is not Act.STOP else timedelta(0)
        return grace + start + SUPERVISORS_PACE

    def progress(self, act: Act, awaited: AwaitedStart | None) -> ActProgress:
        """How far an act has come. What can't be read is no answer, so it is pending."""
        try:
            look = self.supervisor.look()
            if act is Act.STOP or awaited is None:
                return follow_stop(look)
            newest = look.observation.state.newest
            counts = newest is not None and newest.number >= awaited.epoch
            commit = read_checkpoints(self._storage, self.spec.checkpoint)[0].last_commit if counts else -1
            return follow_start(look, self.spec, awaited, commit=commit)
        except StreamOpsError as error:
            return ActProgress(stage=Stage.PENDING, evidence=str(error))

    def history(self, *, limit: int, acts_only: bool = False) -> History:
        """The newest entries of the control log. StorageError."""
        backwards = records_backwards(self._storage, control_folder(self.spec.checkpoint))
        return newest_history(self.spec.name, backwards, limit=limit, acts_only=acts_only)

    def records_since(self, since: datetime) -> Entries:
        """The records from a moment on, and those before it back to a claim or the end of a driver, oldest first.

        At most READ_LIMIT. StorageError.
        """
        found: list[Record | UnreadableRecord] = []
        for record in islice(records_backwards(self._storage, control_folder(self.spec.checkpoint)), READ_LIMIT):
            found.append(record)
            if isinstance(record, Record) and record.at < since and isinstance(record.body, Claimed | DriverEnded):
                break
        return found[::-1]

    def find(self, mark: str, *, since: datetime) -> FoundRequest | None:
        """A request that carries the mark in its reason and was recorded since then. StorageError."""
        backwards = records_backwards(self._storage, control_folder(self.spec.checkpoint))
        return find_request(backwards, mark, since=since)

    def _anew(self, plan: ActPlan) -> ActPlan:
        return self.plan(plan.act, reason=plan.reason, terms=plan.terms)

    def _append(self, plan: ActPlan) -> tuple[Record, ...]:
        return tuple(record for record in self._appended(plan) if record)

    def _appended(self, plan: ActPlan) -> Iterator[Record | None]:
        requests, reason, terms = self.requests, plan.reason, plan.terms
        if plan.act is Act.STOP:
            yield requests.stop(reason, force=terms.force)
        elif plan.act is Act.START:
            if terms.confirm_dead is not None:
                yield self.confirm_dead(terms.confirm_dead, reason)
            yield requests.start(reason, is_vouched=terms.is_vouched)
        elif plan.act is Act.ACKNOWLEDGE:
            yield requests.acknowledge(reason)
        elif plan.act is Act.ADOPT:
            yield requests.adopt(reason, watch=terms.watch, is_vouched=terms.is_vouched, from_stream=terms.from_stream)
        elif plan.act is Act.RELEASE or plan.records == (Released.kind,):
            yield requests.release(
                reason,
                accepts_unsafe=terms.accepts_unsafe,
                accepts_expired=terms.accepts_expired,
                is_vouched=terms.is_vouched,
            )
        else:
            yield requests.restart(reason, force=terms.force)
