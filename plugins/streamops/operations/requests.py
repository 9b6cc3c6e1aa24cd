"""What people ask for: stop, start, release, adopt. Each is one record with a reason, and the supervisor does the rest."""

import os
import pwd
import socket
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from streamops.checkpoint.reader import read_checkpoint
from streamops.clock import Clock
from streamops.control.drivers import DriverTraces, driver_instances, highest_epoch, read_traces
from streamops.control.fold import fold
from streamops.control.layout import control_folder
from streamops.control.log import ControlLog
from streamops.control.records import (
    Acknowledged,
    Adopted,
    Author,
    Body,
    ClaimMode,
    DriverEnded,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Position,
    Record,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from streamops.control.snapshot import forget_snapshot, load_and_keep, save_snapshot_if_due
from streamops.control.state import Desire, LogState
from streamops.control.texts import NAME_LIMIT, checked_reason
from streamops.diagnosis.companions import position_of, read_checkpoints
from streamops.errors import AppendRefusedError, ControlLogError, CorruptRecordError
from streamops.launch.outsiders import find_outsiders
from streamops.operations.act_plan import Act
from streamops.operations.act_plans import refuse_to_take_over
from streamops.spec import Mode, StreamSpec
from streamops.storage import Storage
from streamops.supervision.act import new_record
from streamops.supervision.cli_hints import called, to_adopt, to_release, to_start, to_stop
from streamops.supervision.desired_run import timings_of
from streamops.supervision.hand_over import (
    FindOutsiders,
    HandOver,
    Watching,
    judge_hand_over,
    read_signs,
    unseen,
    watch_still,
)

_TRIES = 10


def this_author(actor: str) -> Author:
    """The author of records that this process appends: `supervise`, `airflow:…`."""
    return Author(actor=actor[:NAME_LIMIT], host=socket.gethostname(), pid=os.getpid())


def this_person() -> Author:
    """The author of what the person at this terminal asks for: the user of this process, whatever its environment says."""
    return this_author(f"person:{user_name(os.getuid())}")


def user_name(uid: int) -> str:
    """What this host calls a user; the number where it has no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _newest_epoch(state: LogState) -> int:
    return state.newest.number if state.newest else 0


class Requests:
    """Appends a person's requests on one stream."""

    def __init__(
        self,
        spec: StreamSpec,
        *,
        storage: Storage,
        clock: Clock,
        author: Author,
        find_outsiders: FindOutsiders = find_outsiders,
        watching: Watching = unseen,
        guard: Callable[[LogState], None] = lambda state: None,
    ) -> None:
        """`guard` refuses by StorageError where the place that a request goes to is not what it should be."""
        self._find_outsiders = find_outsiders
        self._watching = watching
        self._spec = spec
        self._storage = storage
        self._clock = clock
        self._author = author
        self._called = called(spec)
        self._guard = guard
        self._log = ControlLog.of_checkpoint(storage, spec.checkpoint)

    def state(self) -> LogState:
        """The fold of the log now."""
        return load_and_keep(self._storage, control_folder(self._spec.checkpoint))

    def stop(self, reason: str, *, force: bool = False) -> Record | None:
        """Let the stream stand still from now on, with `force` without grace; None when it is meant to already."""
        state = self.state()
        if state.desire is Desire.STOPPED and (state.is_stop_forced or not force):
            return None
        return self._append(StopRequested(epoch=_newest_epoch(state), force=force), reason)

    def restart(self, reason: str, *, force: bool = False) -> Record | None:
        """Let another driver, with the present declaration, take the newest one's place; with `force` without grace.

        Where that has ended and the next one is waited with, it comes at once. None when that is asked for already.
        ControlLogError when there has been no driver yet, or when it is for `start` or `release`.
        """
        state = self.state()
        if state.desire is Desire.STOPPED or state.parked:
            command = to_start(self._spec) if state.desire is Desire.STOPPED else to_release(self._spec)
            raise ControlLogError(f"{self._called} stands still, there is nothing to restart: `{command}`")
        if state.newest is None:
            raise ControlLogError(
                f"{self._called} never had a driver: a supervisor starts one with the present declaration"
            )
        if state.replacement and (state.replacement.force or not force):
            return None
        return self._append(RestartRequested(epoch=state.newest.number, force=force), reason)

    def hand_over(
        self, act: Act, *, at_least: timedelta = timedelta(0), accepts_unsafe: bool = False, is_vouched: bool = False
    ) -> HandOver:
        """What has to come before a driver of ours may take the checkpoint over, as things stand. StorageError.

        Nothing while a driver of ours may live: what moves then is its own. Nothing either where the checkpoint has moved
        and that is not accepted: no start follows.
        """
        state = self._state_or_none()
        is_ours = self._spec.mode is Mode.BACKFILL or (state is not None and bool(state.open_epochs))
        if is_ours:
            return HandOver(watch=at_least)
        facts = read_checkpoint(self._storage, self._spec.checkpoint)
        signs = read_signs(
            self._spec, state or LogState(), facts, storage=self._storage, find_outsiders=self._find_outsiders
        )
        accepts = act is Act.ADOPT or accepts_unsafe or (state is not None and state.accepts_unsafe)
        if signs.has_moved and not accepts and not signs.outsiders:
            return HandOver(watch=at_least)
        vouch = f"streamops {act} {self._spec.name} --confirm-stopped --reason …"
        return judge_hand_over(signs, at_least=at_least, is_vouched=is_vouched, vouch=vouch)

    def start(self, reason: str, *, is_vouched: bool = False) -> Record | None:
        """Let the stream run from now on; None when it is meant to already.

        `is_vouched`: a person says that nobody outside of streamops runs its query. ControlLogError where somebody seems to.
        """
        if self.state().desire is Desire.RUNNING:
            return None
        self._watch_out(self.hand_over(Act.START, is_vouched=is_vouched))
        return self._append(StartRequested(), reason)

    def release(
        self, reason: str, *, accepts_unsafe: bool = False, accepts_expired: bool = False, is_vouched: bool = False
    ) -> Record | None:
        """Un-park the stream and forget its failures; None when it is not parked and nothing is to be accepted.

        `accepts_expired`: the next start passes over what Kafka has deleted, and goes ahead whatever its plan says.
        `is_vouched`: as of `start`. ControlLogError where somebody else seems to run its query.
        """
        state = self.state()
        accepts_unsafe = accepts_unsafe or accepts_expired
        # What was accepted and not used yet stays accepted.
        accepts_expired = accepts_expired or (accepts_unsafe and state.passes_over_expired)
        is_new = accepts_unsafe and (state.accepts_unsafe, state.accepts_expired) != (True, accepts_expired)
        if state.parked is None and not is_new:
            return None
        if state.parked:
            self._watch_out(self.hand_over(Act.RELEASE, accepts_unsafe=accepts_unsafe, is_vouched=is_vouched))
        refuse = self._refuse_to_accept if accepts_unsafe else None
        body = Released(accepts_unsafe=accepts_unsafe, accepts_expired=accepts_expired)
        return self._append(body, reason, refuse=refuse)

    def acknowledge(self, reason: str) -> Record | None:
        """Take note of all unsafe starts so far; None when there are none that nobody knows of."""
        unsafe = self.state().unsafe_starts
        return self._append(Acknowledged(epoch=unsafe[-1].epoch), reason) if unsafe else None

    def begin_run(
        self,
        run: ClaimMode,
        reason: str,
        *,
        until: datetime,
        estimated: timedelta | None = None,
        is_once: bool = False,
    ) -> Record:
        """Let a bounded run be made from now on, until it has ended by itself or its time is over; a live query yields.

        With `is_once` it finishes the batch in flight and no more. ControlLogError where the stream stands still, and while
        another run or maintenance is open.
        """
        seconds = estimated.total_seconds() if estimated is not None else None
        body = MaintenanceBegun(until=until, run=run, estimated_seconds=seconds, is_once=is_once)
        return self._append(body, reason, refuse=self._refuse_a_run)

    def end_run(self, reason: str, *, number: int | None = None) -> Record | None:
        """Stop the open bounded run between two batches; None when none is open, or another than the one with that number."""
        open_one = self.state().maintenance
        if open_one is None or open_one.run is None or number not in (None, open_one.record):
            return None

        def refuse(state: LogState) -> None:
            if state.maintenance is None or state.maintenance.record != open_one.record:
                raise ControlLogError(f"{self._called}: the run of record {open_one.record} has just ended")

        return self._append(MaintenanceEnded(), reason, refuse=refuse)

    def _refuse_a_run(self, state: LogState) -> None:
        open_one = state.maintenance
        if state.parked:
            raise ControlLogError(f"{self._called} is parked ({state.parked.reason}): `{to_release(self._spec)}` first")
        if state.desire is Desire.STOPPED:
            raise ControlLogError(f"{self._called} is stopped on purpose: `{to_start(self._spec)}` first")
        if open_one and open_one.until > self._clock.now():
            what = "a bounded run" if open_one.run else "a maintenance"
            raise ControlLogError(
                f"{self._called}: {what} by {open_one.note.by.actor} is under way until"
                f" {open_one.until.isoformat(timespec='seconds')}: {open_one.note.reason}"
            )

    def confirm_dead(self, epoch: int, reason: str, *, refuse: Callable[[], object] = lambda: None) -> Record:
        """A person's word that the driver of an epoch is gone, where no launcher can tell.

        Its beat is watched for the halt time first: a driver that can't beat for so long ends itself. ControlLogError when it
        moves, and where that epoch is not open; `refuse` may raise one more, after the watch.
        """
        vouched_for = next((known for known in self.state().open_epochs if known.number == epoch), None)
        if vouched_for is None:
            found = ", ".join(str(known.number) for known in self.state().open_epochs) or "none"
            raise ControlLogError(f"{self._called}: epoch {epoch} is not open; open epochs: {found}")
        watch_still(
            f"the beat of epoch {epoch}",
            lambda: self._beats(epoch),
            timings_of(vouched_for, self._spec.timings).halt,
            clock=self._clock,
            watching=self._watching,
            refuse=lambda before, after: ControlLogError(
                f"{self._called}: epoch {epoch} is not dead: its beat moved while it was watched"
            ),
        )
        refuse()
        ended = DriverEnded(epoch=epoch, outcome=Outcome.CONFIRMED_DEAD, position=self._position())
        return self._append(ended, reason)

    def adopt(self, reason: str, *, watch: timedelta, is_vouched: bool = False, from_stream: str = "") -> Record:
        """Take over a checkpoint whose history the log does not hold, after a watch without progress.

        That is one that others have written, or one whose log was lost or put back from an older copy. With `from_stream`
        the log itself is taken over from a stream that nobody declares any more, as after a rename. `watch`: the least that
        is watched; with signs of somebody else it is longer. `is_vouched`: as of `start`. ControlLogError when there is nothing
        to adopt, when somebody seems to run it, or when checkpoint or beats move.
        """
        reason = checked_reason(reason)
        before, seen = self._position(), self._epochs_seen()
        if from_stream:
            refuse_to_take_over(self.state(), self._spec, from_stream=from_stream)
        else:
            self._refuse_needless_adoption(before, seen)
        self._watch_out(self.hand_over(Act.ADOPT, at_least=watch, is_vouched=is_vouched), epoch=seen)
        after = self._position()
        # The snapshot may tell of a log that is lost, and nothing could be appended to what is left of it. Where that is
        # broken, too, it stays: it may be all that knows of a stop.
        fold(self._log.read())
        forget_snapshot(self._storage, self._log.control)
        adopted = Adopted(stream=self._spec.name, position=after, epochs_seen=seen, from_stream=from_stream)
        refuse = partial(refuse_to_take_over, spec=self._spec, from_stream=from_stream) if from_stream else None
        return self._append(adopted, reason, refuse=refuse)

    def _watch_out(self, needed: HandOver, *, epoch: int = 0) -> None:
        """Watch checkpoint and beats of the epoch for as long as the hand-over needs. ControlLogError."""
        if needed.refusal:
            raise ControlLogError(f"{self._called}: {needed.refusal}")
        watch_still(
            f"the checkpoint of {self._called}",
            lambda: (self._position(), self._beats(epoch)),
            needed.watch,
            clock=self._clock,
            watching=self._watching,
            refuse=lambda before, after: ControlLogError(
                f"{self._called}: its checkpoint moved from batch {before[0].offset} to {after[0].offset}, or a driver beat,"
                f" within {needed.watch.total_seconds():.0f} s: somebody runs it; stop that query first"
            ),
        )

    def _state_or_none(self) -> LogState | None:
        """None where the log is broken: then only an adoption helps, and it rests on the checkpoint alone."""
        try:
            return self.state()
        except CorruptRecordError:
            return None

    def _refuse_to_accept(self, state: LogState) -> None:
        """A claim that was left behind while the stream is parked is no driver: nobody submits it any more."""
        running = [epoch.number for epoch in state.open_epochs if epoch.submission or not state.parked]
        if running:
            raise ControlLogError(
                f"{self._called}: epoch {running[-1]} may run; an unsafe start is accepted only"
                f" for the very next start, so `{to_stop(self._spec)}` first"
            )

    def _refuse_needless_adoption(self, position: Position, epochs_seen: int) -> None:
        try:
            state = self.state()
        except CorruptRecordError:
            return  # Records are lost, or one is broken: then the append tells.
        if epochs_seen >= state.next_epoch:
            return
        if state.position is not None:
            raise ControlLogError(f"{self._called}: its checkpoint has a control log already, nothing to adopt")
        if position.offset < 0 and position.commit < 0:
            raise ControlLogError(f"{self._called}: its checkpoint is new, nothing to adopt")

    def _position(self) -> Position:
        return position_of(*read_checkpoints(self._storage, self._spec.checkpoint))

    def _epochs_seen(self) -> int:
        """The highest epoch of which a driver ever left a trace."""
        return highest_epoch(driver_instances(self._storage, self._log.control))

    def _beats(self, epoch: int) -> tuple[DriverTraces, ...]:
        return read_traces(self._storage, self._log.control, epoch)

    def _append(self, body: Body, reason: str, *, refuse: Callable[[LogState], None] | None = None) -> Record:
        """A request holds whatever else was recorded meanwhile, so it moves on to the next free number.

        What it rests on is checked on the very state that it is appended to. Nothing but an adoption goes to a log that
        is behind: the missing records may come back. SettingsError for a reason that is none, or too long.
        """
        reason = checked_reason(reason)
        for _ in range(_TRIES):
            seen = self._epochs_seen()  # Before the log is read: a claim is on record before its driver leaves a trace.
            state = self.state()
            if seen >= state.next_epoch and not isinstance(body, Adopted):
                raise ControlLogError(
                    f"{self._called}: drivers up to epoch {seen} left traces that its control log knows nothing"
                    f" of: restore the log; where that can't be done, `{to_adopt(self._spec)}`"
                )
            if not isinstance(body, Adopted):  # It rests on what it has found there.
                self._guard(state)
            if refuse:
                refuse(state)
            record = new_record(body, number=state.next_number, clock=self._clock, author=self._author, reason=reason)
            try:
                self._log.append(record)
            except AppendRefusedError:
                continue
            save_snapshot_if_due(self._storage, self._log.control, state, record)
            return record
        raise ControlLogError(f"{self._called}: the log was busy {_TRIES} times in a row, try again")
