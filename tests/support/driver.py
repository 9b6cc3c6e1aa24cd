"""A driver without Spark: the real lease and the real watchdog around a query that writes offsets and commits.

It takes one small step at a time, so that a test can put anything between any two of them.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import count
from uuid import UUID, uuid5

from streamops.checkpoint.reader import read_checkpoint
from streamops.clock import Clock
from streamops.control.assignment import Assignment, assignment_of
from streamops.control.drivers import DriverPhase, ExitRecord, QueryStep
from streamops.control.follow import LeaseState
from streamops.control.records import Outcome
from streamops.errors import StorageError
from streamops.launch import SubmitRequest
from streamops.spark.failure import exit_record
from streamops.spark.lease import DriverIdentity, Lease, Watchdog
from streamops.spark.query_watch import QueryView
from streamops.spark.report import DriverReport
from streamops.storage import Storage, join
from support.checkpoints import HEADER, QUERY_ID, commit, metadata, positions
from support.launcher import FakeDriver
from support.storage import InterruptibleStorage

_NAMESPACE = UUID(QUERY_ID)
_numbers = count(1)


class SimulatedDriver:
    """One submitted driver. `process` is how the launcher sees it; what kills the process ends the driver."""

    def __init__(
        self,
        process: FakeDriver,
        request: SubmitRequest,
        *,
        storage: Storage,
        clock: Clock,
        on_batch: Callable[["SimulatedDriver", int], None],
        on_end: Callable[[FakeDriver], None],
    ) -> None:
        arguments = dict(zip(request.arguments[::2], request.arguments[1::2], strict=True))
        self.process = process
        self.epoch = int(arguments["--epoch"])
        self.hangs = False
        """Whether its beat thread stands still; the watchdog does not hang with it."""
        self.is_paused = False
        """Whether every thread of it stands still, as after SIGSTOP; the watchdog's too."""
        self.is_idle = False
        """Whether its source has nothing new."""
        self.batches: list[int] = []
        self.batches_to_read = 3
        """After so many batches a query that ends by itself has read all that there was."""
        self.tick: Callable[[str], None] = lambda _: None
        """Called around each call of its storage."""
        self._storage = InterruptibleStorage(storage, lambda moment: self.tick(moment))
        self._clock = clock
        self._on_batch = on_batch
        self._on_end = on_end
        self._report = DriverReport(clock=clock)
        self._identity = DriverIdentity(
            control=arguments["--control"],
            record=int(arguments["--record"]),
            epoch=self.epoch,
            token=arguments["--token"],
            instance=uuid5(_NAMESPACE, str(next(_numbers))).hex[:16],
            application_id="local-1",
            host=process.handle.host,
        )
        self._lease = Lease(self._storage, self._identity, self._report, clock=clock)
        self._assignment: Assignment | None = None
        self._standing = LeaseState()
        self._watchdog: Watchdog | None = None

    @property
    def is_alive(self) -> bool:
        return self.process.is_alive

    @property
    def may_write(self) -> bool:
        """Whether nothing keeps it from starting a batch: it lives, has looked at the log, and saw its claim hold.

        One that was paused and is overdue is killed by its watchdog before it gets to anything else.
        """
        if not self.is_alive or self._watchdog is None or self._watchdog.is_overdue():
            return False
        return self._standing.holds_claim

    @property
    def has_begun(self) -> bool:
        """Whether it has looked at the log and found its claim; its watchdog watches from then on."""
        return self._watchdog is not None

    @property
    def is_moving(self) -> bool:
        """Whether it can take a step at all."""
        return self.is_alive and not self.is_paused

    def beat(self) -> None:
        """What the beat thread does every few seconds; the very first time, what main does before the query."""
        if not self.is_moving or self.hangs:
            return
        if self._assignment is None:
            self._begin()
            return
        started = self._clock.monotonic()
        try:
            standing = self._lease.beat()
        except StorageError:
            return
        if not self.is_alive:
            return
        self._standing = standing
        if standing.holds_claim:
            self._watchdog.acknowledge(started)
        else:
            self.leave(Outcome.LEASE_LOST, standing.lost)

    def work(self) -> None:
        """One step of the query: plan a batch, commit it, or stop because it was asked."""
        if not self.may_write or self.is_paused:
            return
        if self._standing.stop:
            self.leave(Outcome.STOPPED, self._standing.stop)
            return
        self._report.saw([QueryView(query_id=QUERY_ID, name="orders", step=QueryStep.WAITING)])
        if self.is_idle:
            return
        try:
            self._plan_or_commit()
        except StorageError as error:
            self.leave(Outcome.FAILED, f"[STREAM_FAILED] {error}")

    def watch(self) -> None:
        """The watchdog's tick."""
        if self.is_moving and self._watchdog and self._watchdog.is_overdue():
            self._on_end(self.process)

    def resume(self) -> None:
        """Go on after a pause. The watchdog comes first: it ticks twice a second, a batch is planned every ten."""
        self.is_paused = False
        self.watch()

    def leave(self, outcome: Outcome, text: str = "") -> None:
        """Write the exit record and end."""
        if outcome is not Outcome.LEASE_LOST:
            self._report.queries_ended()
        self._report.enter(DriverPhase.ENDED)
        record: ExitRecord = exit_record(
            epoch=self.epoch,
            instance=self._identity.instance,
            outcome=outcome,
            at=self._clock.now().isoformat(),
            text=text,
            batch=self._report.state().batch,
            is_batch_final=self._report.state().is_batch_final,
        )
        with suppress(StorageError):
            self._lease.leave(record)
        self._on_end(self.process)

    def _begin(self) -> None:
        started = self._clock.monotonic()
        try:
            standing = self._lease.first_beat()
            assignment = assignment_of(self._lease.watch.claim()) if standing.holds_claim else None
        except StorageError as error:
            self.leave(Outcome.LEASE_LOST, f"the claim could not be checked: {error}")
            return
        if not self.is_alive:
            return
        self._standing = standing
        if assignment is None:
            self.leave(Outcome.LEASE_LOST, standing.lost)
        elif standing.stop:
            self.leave(Outcome.STOPPED, standing.stop)
        else:
            self._watchdog = Watchdog(clock=self._clock, halt=assignment.halt, kill=lambda: None)
            self._watchdog.acknowledge(started)
            self._assignment = assignment

    @property
    def _has_read_all(self) -> bool:
        ends = self._assignment.trigger_kind in ("available_now", "once")
        return ends and len(self.batches) >= self.batches_to_read

    def _plan_or_commit(self) -> None:
        checkpoint = self._assignment.checkpoint
        facts = read_checkpoint(self._storage, checkpoint)
        if facts.query_id is None:
            self._storage.write(join(checkpoint, "metadata"), metadata())
        self._report.query_started(facts.query_id or QUERY_ID)
        if facts.has_pending_batch and facts.last_offset in self.batches:
            self._storage.write(join(checkpoint, "commits", str(facts.last_offset)), commit())
            self._report.add_progress([f'{{"batchId": {facts.last_offset}}}'])
            return
        if self._has_read_all and not facts.has_pending_batch:
            self.leave(Outcome.FINISHED)
            return
        batch = facts.last_offset if facts.has_pending_batch else facts.last_offset + 1
        self._on_batch(self, batch)
        self.batches.append(batch)
        if not facts.has_pending_batch:
            self._storage.write(join(checkpoint, "offsets", str(batch)), planned(self._clock.now(), batch))


def planned(at: datetime, batch: int) -> bytes:
    """An entry of the offset log that bears the moment at which it was planned, as Spark's do."""
    header = HEADER | {"batchTimestampMs": int(at.timestamp() * 1000)}
    return f"v1\n{json.dumps(header)}\n{positions(batch)}".encode()
