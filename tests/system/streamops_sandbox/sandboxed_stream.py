"""A stream of the sandbox: found in the settings, told to run or to stop, waited for."""

import contextlib
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from streamops.clock import Clock, SystemClock
from streamops.kafka.broker import KafkaAccess
from streamops.kafka.confluent import ConfluentBroker
from streamops.operations.requests import Requests, this_author
from streamops.retention.lag import StreamLag
from streamops.retention.observe_lag import LagPorts, lags_of
from streamops.settings import load_settings
from streamops.storage.local import LocalStorage
from streamops_sandbox.drivers import kill, live_drivers
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.ledger import Ledger, count_rows, take_ledger
from streamops_sandbox.orders import OrdersState
from streamops_sandbox.sandbox import Sandbox
from streamops_sandbox.timeline import Reaction, Timeline
from streamops_sandbox.waiting import Narrator, wait_until_nothing_is_missing

STREAM = "orders_to_delta"


class SandboxedStream:
    """One stream of this sandbox's settings, `orders_to_delta` unless another is named."""

    def __init__(self, sandbox: Sandbox, *, narrator: Narrator, actor: str, name: str = STREAM) -> None:
        environment = {**os.environ, **sandbox.environment()}
        self.config = Path(environment["STREAMOPS_CONFIG"])
        self.spec = load_settings(self.config, environment).stream(name)
        self.topic = self.spec.kafka.topics[0]
        self.timeline = Timeline(self.spec.checkpoint, self.spec.restart)
        self._sandbox = sandbox
        self._narrator = narrator
        self._clock: Clock = SystemClock()
        self.requests = Requests(
            self.spec, storage=LocalStorage(), clock=self._clock, author=this_author(f"sandbox:{actor}")
        )

    def wait(self, missing: Callable[[], str], *, what: str, limit: timedelta) -> None:
        """Wait with visible progress; SandboxError past the limit."""
        wait_until_nothing_is_missing(missing, what=what, limit=limit, clock=self._clock, narrator=self._narrator)

    def wait_committed(self, batch: int, *, what: str, limit: timedelta = timedelta(minutes=4)) -> None:
        """Until this batch is committed."""
        self.wait(
            lambda: "" if self.timeline.committed() >= batch else f"batch {batch}, now {self.timeline.committed()}",
            what=what,
            limit=limit,
        )

    def kill_leader(self) -> int:
        """SIGKILL for the JVM of the only driver; its epoch."""
        drivers = live_drivers(self.timeline.control)
        if len(drivers) != 1 or not kill(drivers[0].leader):
            raise SandboxError(f"one living driver is expected, found epochs {[driver.epoch for driver in drivers]}")
        return drivers[0].epoch

    def wait_for_reaction(self, epoch: int, killed_at: datetime, *, limit: timedelta) -> Reaction:
        """What followed the kill of an epoch's driver, as soon as its successor is submitted; SandboxError past the limit."""
        self.wait(
            lambda: "" if self.timeline.reaction(epoch, killed_at) else f"the successor of epoch {epoch}",
            what="restart",
            limit=limit,
        )
        reaction = self.timeline.reaction(epoch, killed_at)
        if reaction is None:
            raise SandboxError("the control log lost a record between two looks")
        return reaction

    def lag(self) -> StreamLag:
        """What the stream has not read yet, from its checkpoint and the broker: no driver need live."""
        doors = LagPorts(
            storage_for=lambda checkpoint: LocalStorage(),
            access_for=lambda spec: KafkaAccess(bootstrap=spec.kafka.bootstrap_servers),
            broker_for=lambda access: ConfluentBroker(access, self._clock),
            clock=self._clock,
        )
        (lag,) = lags_of([self.spec], doors=doors)
        return lag

    def stop_orders(self) -> OrdersState:
        """Stop the generator; SandboxError when it can't say exactly what it sent."""
        state = self._sandbox.stop_orders(self.topic)
        if state is None or state.running or state.unacknowledged:
            raise SandboxError(f"the generator can't say what it sent: {state}")
        return state

    def driver_is_gone(self) -> str:
        """Empty when no driver process is left, else what still lives."""
        alive = [f"epoch {driver.epoch}" for driver in live_drivers(self.timeline.control)]
        return " and ".join(alive)

    def stop(self, reason: str) -> None:
        """Ask for a graceful stop and wait until no process of the stream is left."""
        self.requests.stop(reason)
        self.wait(self.driver_is_gone, what="stream stop", limit=timedelta(minutes=3))

    def ledger(self, state: OrdersState) -> Ledger:
        """The account so far."""
        return take_ledger(state, table=self.spec.sink.table, dead_letters=self.spec.sink.dead_letters)

    def rows(self) -> int:
        """The rows of both tables, whatever they hold."""
        return count_rows(self.spec.sink.table) + count_rows(self.spec.sink.dead_letters)

    def drain(self, state: OrdersState) -> Ledger:
        """Wait until everything that was sent has arrived, or nothing more comes; the account then."""

        def missing() -> str:
            on_the_way = state.sent + state.malformed - self.rows()
            if on_the_way > 0:
                return f"{on_the_way} of {state.sent + state.malformed} records"
            ledger = self.ledger(state)
            behind = ledger.lost + ledger.malformed - ledger.dead_letters
            return f"{behind} of {ledger.sent + ledger.malformed} records" if behind > 0 else ""

        with contextlib.suppress(SandboxError):
            # What is still missing then is lost, and the account says so.
            self.wait(missing, what="drain", limit=timedelta(minutes=5))
        return self.ledger(state)
