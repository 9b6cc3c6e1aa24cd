"""The whole sandbox behind a few verbs: up, down, status, reset, and the order generator."""

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from streamops.clock import Clock, SystemClock
from streamops_sandbox import kafka
from streamops_sandbox.airflow import Airflow, Component
from streamops_sandbox.airflow_api import AirflowApi
from streamops_sandbox.airflow_environment import airflow_environment, airflow_url
from streamops_sandbox.daemon import DaemonEndedError, Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout, find_project
from streamops_sandbox.orders import DEFAULT_MALFORMED_EVERY, DEFAULT_RATE, OrdersState, load_orders_state
from streamops_sandbox.ports import LOOPBACK
from streamops_sandbox.postgres import Postgres
from streamops_sandbox.quick_start import COMPILE_LESS, SUBMIT_OPTIONS, submit_options
from streamops_sandbox.rest_endpoint import RestEndpoint
from streamops_sandbox.services import Services
from streamops_sandbox.state import ADMIN, SandboxState, load_state, save_state
from streamops_sandbox.status import Condition, DaemonStatus, SandboxStatus
from streamops_sandbox.waiting import Narrator, StderrNarrator

SUPERVISOR_DAEMON = "supervise"
SUPERVISOR_STOP_GRACE = timedelta(seconds=20)
ORDERS_START_LIMIT = timedelta(seconds=20)
ORDERS_STOP_GRACE = timedelta(seconds=40)
"""Longer than the generator's own limit for its last flush: a killed generator can't be continued."""


class Sandbox:
    """One sandbox. Objects of the same layout, also in other processes, see the same daemons."""

    def __init__(
        self,
        layout: SandboxLayout,
        *,
        narrator: Narrator | None = None,
        clock: Clock | None = None,
        inherited: Mapping[str, str] = os.environ,
        added: Mapping[str, str] | None = None,
    ) -> None:
        """`inherited` is the environment that the daemons get before the sandbox's own variables, `added` what wins over
        these."""
        self.layout = layout
        self._inherited = inherited
        self._added = dict(added or {})
        self._clock = clock or SystemClock()
        self.daemons = Daemons(layout, clock=self._clock, narrator=narrator or StderrNarrator())

    @classmethod
    def of_project(cls, project: Path | None = None, *, narrator: Narrator | None = None) -> "Sandbox":
        """The sandbox of this project, or of the one around the working directory; SandboxError when there is none."""
        return cls(SandboxLayout.of_project(project or find_project(Path.cwd())), narrator=narrator)

    def up(self, *, with_airflow: bool = True, topics: Sequence[str] = (kafka.ORDERS_TOPIC,)) -> SandboxStatus:
        """Start what is not running and return when everything answers; doing so again changes nothing.

        Raises SandboxError with the end of a log when a part does not come up. What came up before it stays up.
        """
        self.layout.create_folders()
        with self._alone():
            self._choose_addresses()
            self.broker.start(self._daemon_environment())
            for topic in topics:
                self.broker.ensure_topic(topic)
            if with_airflow:
                self.airflow.start()
        return self.status()

    def start_postgres(self) -> Postgres:
        """Start the database server unless it runs, and return when it takes connections.

        Raises SandboxError without the programs of PostgreSQL or when it does not come up.
        """
        self.layout.create_folders()
        with self._alone():
            self._choose_addresses()
            if not self._lives(Postgres.DAEMON):
                save_state(self.layout.state, self._state().with_free_postgres_port())
            (server := self.services.postgres).start()
        return server

    def start_rest_endpoint(self) -> RestEndpoint:
        """Start the HTTP endpoint unless it runs, and return when it answers; its ledger goes on where it ended.

        Raises SandboxError when it does not come up.
        """
        self.layout.create_folders()
        with self._alone():
            self._choose_addresses()
            if not self._lives(RestEndpoint.DAEMON):
                save_state(self.layout.state, self._state().with_free_rest_port())
            endpoint = self.services.rest_endpoint
            endpoint.start(self._daemon_environment())
        return endpoint

    def down(self, *, before_broker_stops: Sequence[Callable[[], None]] = ()) -> None:
        """Stop the generators, Airflow, then the broker and the services; all data stays.

        Streams are not the sandbox's to stop: `before_broker_stops` is the place for it. At that moment no Airflow can
        start them again, and the broker is still there for their last batch. An error there leaves the broker up.
        """
        if load_state(self.layout.state) is None:
            return
        with self._alone():
            for topic in self._topics():
                self.stop_orders(topic)
            self.daemons.stop(SUPERVISOR_DAEMON, grace=SUPERVISOR_STOP_GRACE)
            self.airflow.stop()
            for stop_streams in before_broker_stops:
                stop_streams()
            self.broker.stop()
            self.services.stop()

    def reset(self) -> None:
        """Remove everything the sandbox has ever written; SandboxError while a daemon lives."""
        if alive := [daemon.name for daemon in self.status().daemons if daemon.condition is not Condition.STOPPED]:
            raise SandboxError(f"cannot reset the sandbox while {', '.join(alive)} run: `streamops-sandbox down` first")
        if self.layout.root.exists():
            shutil.rmtree(self.layout.root)

    def status(self) -> SandboxStatus:
        """How every daemon is; asks broker and Airflow only when their processes live."""
        state = load_state(self.layout.state)
        return SandboxStatus(
            daemons=(
                self._daemon_status(kafka.DAEMON, is_healthy=self._lives(kafka.DAEMON) and self.broker.is_answering()),
                *self._airflow_status(),
                *self._services_status(),
                *(self._daemon_status(topic, is_healthy=None) for topic in self._topics() or (kafka.ORDERS_TOPIC,)),
            ),
            kafka_bootstrap=self.broker.bootstrap if state else None,
            airflow_url=airflow_url(state) if state else None,
            airflow_passwords=self.layout.airflow_passwords,
            orders=self.orders_state(),
        )

    def environment(self) -> dict[str, str]:
        """What the declaration of the streams refers to; SandboxError before the first `up`."""
        config = self._inherited.get("STREAMOPS_CONFIG") or str(self.layout.stream_config)
        return {
            "KAFKA_BOOTSTRAP": self.broker.bootstrap,
            "STREAMOPS_DATA": str(self.layout.data),
            "STREAMOPS_CONFIG": config,
            # Drivers of the sandbox listen on loopback only, like everything else in it.
            "SPARK_LOCAL_IP": LOOPBACK,
            "STREAMOPS_JAVA_OPTIONS": COMPILE_LESS,
            SUBMIT_OPTIONS: submit_options(self.layout.project, self._inherited),
            **self.services.environment(),
            **self._added,
        }

    @property
    def broker(self) -> kafka.Broker:
        """The Kafka broker; SandboxError before the first `up`."""
        state = self._state()
        return kafka.Broker(self.layout, self.daemons, port=state.kafka_port, controller_port=state.controller_port)

    @property
    def services(self) -> Services:
        """The parts that only some streams need; SandboxError before the first start of anything."""
        return Services(self.layout, self.daemons, state=self._state(), clock=self._clock)

    @property
    def airflow(self) -> Airflow:
        """Airflow's components; SandboxError before the first `up`."""
        state = self._state()
        environment = airflow_environment(self.layout, state, inherited=self._inherited, passed=self.environment())
        return Airflow(self.layout, self.daemons, state=state, environment=environment, api=self.api())

    def api(self) -> AirflowApi:
        """A client of Airflow's REST API, as the admin; SandboxError before the first `up`."""
        state = self._state()
        return AirflowApi(airflow_url(state), user=ADMIN, password=state.admin_password)

    def start_broker(self) -> None:
        """Start the broker again after it was killed, and return when it answers."""
        self.broker.start(self._daemon_environment())

    def start_orders(
        self,
        topic: str = kafka.ORDERS_TOPIC,
        *,
        rate: float = DEFAULT_RATE,
        malformed_every: int = DEFAULT_MALFORMED_EVERY,
        count: int | None = None,
    ) -> None:
        """Start the order generator of a topic unless it runs; it goes on where it ended.

        Raises SandboxError when it refuses, which it does after a crash; see its log.
        """
        if self._lives(topic):
            return
        before = self.orders_state(topic)
        command = [sys.executable, "-m", "streamops_sandbox.orders", "--bootstrap", self.broker.bootstrap]
        command += ["--topic", topic, "--rate", str(rate), "--state", str(self.layout.orders_state(topic))]
        command += ["--malformed-every", str(malformed_every)]
        if count is not None:
            command += ["--count", str(count)]
        self.daemons.start(topic, command, environment=self._daemon_environment())
        try:
            self.daemons.wait_ready(
                topic,
                missing=lambda: "its first record" if self.orders_state(topic) == before else "",
                what=topic,
                limit=ORDERS_START_LIMIT,
            )
        except DaemonEndedError:
            # With a small count it may have done its work before the first look.
            if self.orders_state(topic) == before:
                raise

    def start_supervisor(self) -> None:
        """Start `streamops supervise`, the supervision without Airflow, unless it runs."""
        command = [sys.executable, "-m", "streamops.cli.main", "supervise"]
        self.daemons.start(SUPERVISOR_DAEMON, command, environment=self._daemon_environment())

    def stop_orders(self, topic: str = kafka.ORDERS_TOPIC) -> OrdersState | None:
        """Stop the generator of a topic and return its last record, None when it never ran.

        A record that still says `running` means that the generator was killed: nobody knows which orders arrived.
        """
        self.daemons.stop(topic, grace=ORDERS_STOP_GRACE)
        return self.orders_state(topic)

    def orders_state(self, topic: str = kafka.ORDERS_TOPIC) -> OrdersState | None:
        """How far the generator of a topic has got, None when it never ran."""
        return load_orders_state(self.layout.orders_state(topic))

    def _topics(self) -> tuple[str, ...]:
        """The topics that a generator has ever written to."""
        return tuple(sorted(file.stem for file in self.layout.root.glob(f"{kafka.ORDERS_TOPIC}*.json")))

    def _state(self) -> SandboxState:
        state = load_state(self.layout.state)
        if state is None:
            raise SandboxError(f"the sandbox in {self.layout.root} was never started: `streamops-sandbox up`")
        return state

    def _choose_addresses(self) -> None:
        """Ports and secrets at the first start; later only another port in place of one that was taken meanwhile."""
        state = load_state(self.layout.state) or SandboxState.choose()
        if not self._lives(kafka.DAEMON):
            self.daemons.clear_remains(kafka.DAEMON)
            state = state.with_free_broker_ports()
        if not self._lives(Component.API_SERVER.daemon):
            self.daemons.clear_remains(Component.API_SERVER.daemon)
            state = state.with_free_airflow_port()
        save_state(self.layout.state, state)

    def _daemon_environment(self) -> dict[str, str]:
        return dict(self._inherited) | self.environment()

    def _lives(self, daemon: str) -> bool:
        return self.daemons.running(daemon) is not None

    def _daemon_status(self, name: str, *, is_healthy: bool | None) -> DaemonStatus:
        """`is_healthy` is None for a daemon that can't be asked."""
        record = self.daemons.running(name)
        if record is None:
            condition = Condition.STOPPED
        elif is_healthy is None:
            condition = Condition.RUNNING
        else:
            condition = Condition.HEALTHY if is_healthy else Condition.UNHEALTHY
        pid = record.pid if record else None
        return DaemonStatus(name=name, condition=condition, pid=pid, log=self.daemons.log_path(name))

    def _services_status(self) -> tuple[DaemonStatus, ...]:
        """Of those that were ever started."""
        health = self.services.health() if load_state(self.layout.state) else {}
        return tuple(self._daemon_status(daemon, is_healthy=answers) for daemon, answers in health.items())

    def _airflow_status(self) -> tuple[DaemonStatus, ...]:
        lives = any(self._lives(component.daemon) for component in Component)
        unhealthy = self.airflow.unhealthy() if lives else ()
        return tuple(
            self._daemon_status(component.daemon, is_healthy=component.value not in unhealthy)
            for component in Component
        )

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Two commands that start or stop at the same time would start two brokers on one folder."""
        with open(self.layout.lock, "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise SandboxError(
                    f"another command is starting or stopping the sandbox in {self.layout.root}: wait for it"
                ) from error
            yield
