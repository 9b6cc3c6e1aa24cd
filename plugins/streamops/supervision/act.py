"""Acts: append the intent, do it, append the outcome. Each append carries the number that the decision was made at."""

import logging
import uuid
from collections.abc import Callable

from streamops import __version__
from streamops.clock import Clock
from streamops.control.log import ControlLog
from streamops.control.records import (
    Author,
    Body,
    Claimed,
    DriverEnded,
    KillBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Record,
    RestartRequested,
    Submitted,
)
from streamops.control.registry import entry_address, note_driver, register
from streamops.control.snapshot import save_snapshot_if_due
from streamops.control.state import Epoch
from streamops.control.texts import COMPOSED_LIMIT, FAILURE_LIMIT, shortened
from streamops.diagnosis.companions import position_of
from streamops.diagnosis.restart_plan import accepts
from streamops.errors import AppendRefusedError, LaunchError, StorageError, StreamOpsError
from streamops.failures.failure_class import FailureClass, Remedy
from streamops.launch import Launcher
from streamops.retention.past import topics_seen
from streamops.spec import Mode, StreamSpec
from streamops.spec.wire import spec_text
from streamops.supervision.bundle import bundle_name, file_sha256, submit_request
from streamops.supervision.decision import Action, Decision
from streamops.supervision.desired_run import as_asked
from streamops.supervision.endings import driver_end
from streamops.supervision.observation import Observation
from streamops.supervision.observe import Observer, registry_entry
from streamops.supervision.preflight import StartFacts

log = logging.getLogger(__name__)


def new_record(body: Body, *, number: int, clock: Clock, author: Author, reason: str) -> Record:
    """A record that is ready to be appended; its reason is cut where others' words have made it long."""
    return Record(
        number=number,
        at=clock.now(),
        by=author,
        reason=shortened(reason, COMPOSED_LIMIT),
        nonce=uuid.uuid4().hex,
        body=body,
    )


class Actor:
    """Carries decisions on one stream out."""

    def __init__(
        self,
        spec: StreamSpec,
        *,
        log: ControlLog,
        observer: Observer,
        launcher: Launcher,
        clock: Clock,
        state_root: str,
        author: Author,
    ) -> None:
        self._spec = spec
        self._log = log
        self._observer = observer
        self._launcher = launcher
        self._clock = clock
        self._state_root = state_root
        self._author = author
        self._claims: set[str] = set()
        self._acts: dict[Action, Callable[[Decision, Observation], None]] = {
            Action.SUBMIT: self._submit,
            Action.REPLACE: self._replace,
            Action.KILL: self._kill,
            Action.RECORD_END: self._record_end,
            Action.PARK: self._park,
            Action.END_MAINTENANCE: self._end_maintenance,
        }

    @property
    def claims(self) -> frozenset[str]:
        """Tokens of claims appended here and not submitted yet."""
        return frozenset(self._claims)

    def act(self, decision: Decision, observation: Observation, start: StartFacts) -> None:
        """Do what was decided. AppendRefusedError when the log has moved on since."""
        log.info("stream=%s %s epoch=%d: %s", self._spec.name, decision.action, decision.epoch, decision.reason)
        if decision.action is Action.CLAIM:
            self._claim(decision, observation, start)
        else:
            self._acts[decision.action](decision, observation)

    def _claim(self, decision: Decision, observation: Observation, start: StartFacts) -> None:
        self._refuse_without_variables()
        checkpoint = observation.checkpoint
        position = position_of(checkpoint, observation.companions) if checkpoint else self._observer.position()
        if self._spec.mode is not Mode.BACKFILL:  # Its checkpoint is its own by its very name, and nobody declares it.
            register(
                self._log.storage,
                self._state_root,
                registry_entry(self._spec, position.query_id),
                owns_log=observation.state.stream == self._spec.name,
                starts_anew=decision.accepts_unsafe and not position.query_id,
            )
        given = as_asked(observation.state, self._spec, decision.run)
        if decision.accepts_unsafe and observation.state.accepts_expired:
            given = given.passing_over_lost_records()
        is_unsafe = decision.plan is not None and not accepts(self._spec.sink.guarantee, decision.plan.safety)
        is_lossy = is_unsafe and not given.fails_on_data_loss
        given_up = sum(coverage.lost_offsets for coverage in start.coverages) if is_lossy else 0
        token = uuid.uuid4().hex
        body = Claimed(
            stream=self._spec.name,
            epoch=decision.epoch,
            token=token,
            mode=decision.run,
            position=position,
            spec=spec_text(given),
            job_sha256=file_sha256(self._spec.job),
            library_version=__version__,
            accepts_unsafe=decision.accepts_unsafe,
            is_unsafe=is_unsafe,
            given_up=given_up,
            topics=topics_seen(start.coverages, is_accepted=decision.accepts_unsafe),
        )
        self._append(body, decision, observation)
        self._claims.add(token)

    def _refuse_without_variables(self) -> None:
        """LaunchError before anything is on record: a driver without its password would only fail, and cost a restart."""
        if missing := self._launcher.missing(self._spec.launch.environment):
            names = ", ".join(missing)
            raise LaunchError(
                f"stream {self._spec.name}: launch.environment declares {names}, not set where its driver would start"
                f" ({self._author.host}, {self._author.actor}): set it there, or take it out of the settings"
            )

    def _submit(self, decision: Decision, observation: Observation) -> None:
        """The one submit of the epoch. Whatever happens, this token is never submitted again."""
        epoch = observation.state.newest
        if epoch is None:
            raise AssertionError("a submit without a claim was decided")
        self._note_driver()
        self._claims.discard(epoch.claim.token)
        try:
            request = submit_request(self._spec.as_run(epoch.claim.mode), epoch, self._log.control, self._state_root)
            bundle = bundle_name(request.py_files[0])
            handle = self._launcher.submit(request)
        except (StreamOpsError, OSError) as error:
            self._after_failed_submit(epoch, error, decision, observation)
            return
        try:
            self._append(Submitted(epoch=epoch.number, handle=handle, bundle=bundle), decision, observation)
        except AppendRefusedError:
            # Somebody wrote in between: perhaps a newer claim, which our driver would see, or a stop request. Without
            # a record of its handle nobody could look after it, so it goes.
            self._launcher.kill(handle)
            raise

    def _note_driver(self) -> None:
        """From here on a checkpoint that is not there is missing. StorageError where the entry of the claim is gone."""
        if self._spec.mode is Mode.BACKFILL or note_driver(self._log.storage, self._state_root, self._spec.name):
            return
        raise StorageError(
            f"{entry_address(self._state_root, self._spec.name)} was there at the claim and is not any more: is the volume of"
            " the state root mounted?"
        )

    def _after_failed_submit(
        self, epoch: Epoch, error: Exception, decision: Decision, observation: Observation
    ) -> None:
        """A submit that raises is no proof that there is no driver: the answer may have been lost on its way.

        Raises LaunchError where drivers can't be asked for: the claim then counts as left behind.
        """
        found = self._launcher.find(epoch.claim.token)
        reason = f"submit failed: {error}"
        if found:
            submitted = Submitted(epoch=epoch.number, handle=found[0])
            self._append(submitted, decision, observation, reason=f"{reason}; its driver lives all the same")
            return
        failed = DriverEnded(
            epoch=epoch.number,
            outcome=Outcome.LAUNCH_FAILED,
            position=observation.state.position or epoch.claim.position,
            text=shortened(str(error), FAILURE_LIMIT),
            failure_class=FailureClass.LAUNCH_FAILED,
            remedy=Remedy.BACK_OFF,
        )
        self._append(failed, decision, observation, reason=reason)

    def _replace(self, decision: Decision, observation: Observation) -> None:
        self._append(RestartRequested(epoch=decision.epoch, is_stuck=True), decision, observation)

    def _kill(self, decision: Decision, observation: Observation) -> None:
        epochs = {epoch.number: epoch for epoch in observation.state.open_epochs}
        if epochs[decision.epoch].kill is None:
            begun = KillBegun(epoch=decision.epoch, foreign_batch=decision.foreign_batch)
            self._append(begun, decision, observation)
        for handle in decision.handles:
            self._launcher.kill(handle)

    def _record_end(self, decision: Decision, observation: Observation) -> None:
        if decision.outcome is None:
            raise AssertionError("an end without an outcome was decided")
        epochs = {epoch.number: epoch for epoch in observation.state.open_epochs}
        # A driver that never was has moved nothing: what is found now may be a stranger's, and must not pass for known.
        known = observation.state.position if decision.outcome is Outcome.NEVER_STARTED else None
        end = driver_end(decision, epochs[decision.epoch], position=known or self._observer.position())
        self._append(end, decision, observation)

    def _park(self, decision: Decision, observation: Observation) -> None:
        self._append(Parked(), decision, observation)

    def _end_maintenance(self, decision: Decision, observation: Observation) -> None:
        self._append(MaintenanceEnded(), decision, observation)

    def _append(self, body: Body, decision: Decision, observation: Observation, *, reason: str = "") -> None:
        number = observation.state.next_number
        record = new_record(
            body, number=number, clock=self._clock, author=self._author, reason=reason or decision.reason
        )
        self._log.append(record)
        save_snapshot_if_due(self._log.storage, self._log.control, observation.state, record)
