"""A one-node KRaft broker on loopback, its storage under the sandbox, started from the jars in `.jars/broker`."""

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from streamops_sandbox.daemon import Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.ports import LOOPBACK
from streamops_sandbox.set_up import run_set_up

DAEMON = "kafka"
ORDERS_TOPIC = "orders"
PARTITIONS = 3

START_LIMIT = timedelta(seconds=60)
STOP_GRACE = timedelta(seconds=20)
"""A controlled shutdown flushes the log; a killed broker checks its whole log at the next start."""

_FORMAT_LIMIT = timedelta(seconds=60)
_ADMIN_TIMEOUT = timedelta(seconds=2)

LOG4J_PROPERTIES = """\
# Written by streamops. Warnings on stdout, which is the daemon's log file; what a start tells at INFO fills screens.
rootLogger.level = warn
rootLogger.appenderRef.stdout.ref = stdout
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = [%d] %p %m (%c)%n
"""


def server_properties(*, port: int, controller_port: int, data: Path) -> str:
    """The broker's configuration: both roles in one process, one copy of everything, loopback only."""
    return f"""\
# Written by streamops at each start.
process.roles=broker,controller
node.id=1
# Fixed voters rather than a dynamic quorum: the controller's port may change between two starts.
controller.quorum.voters=1@{LOOPBACK}:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}
advertised.listeners=PLAINTEXT://{LOOPBACK}:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
num.partitions={PARTITIONS}
# A misspelt topic is an error, not a new empty topic.
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class Broker:
    """The sandbox's broker on the given ports."""

    def __init__(self, layout: SandboxLayout, daemons: Daemons, *, port: int, controller_port: int) -> None:
        self._layout = layout
        self._daemons = daemons
        self._port = port
        self._controller_port = controller_port

    @property
    def bootstrap(self) -> str:
        """Where clients connect, as `host:port`."""
        return f"{LOOPBACK}:{self._port}"

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the broker unless it runs, and return when it answers.

        Raises SandboxError without the jars or Java, or when the broker does not answer within START_LIMIT.
        """
        if self._daemons.running(DAEMON) is None:
            self._write_configuration()
            self._format_storage(environment)
            command = [*self._java(environment), "-Xmx512m", f"-Dlog4j2.configurationFile={self._log4j}"]
            self._daemons.start(
                DAEMON, [*command, "kafka.Kafka", str(self._server_properties)], environment=environment
            )
        self._daemons.wait_ready(
            DAEMON,
            missing=lambda: "" if self.is_answering() else f"an answer on {self.bootstrap}",
            what="kafka",
            limit=START_LIMIT,
        )

    def stop(self) -> None:
        """Stop the broker; its data stays."""
        self._daemons.stop(DAEMON, grace=STOP_GRACE)

    def kill(self) -> bool:
        """SIGKILL, as in a crash; False when it was not alive."""
        return self._daemons.kill(DAEMON)

    def is_answering(self) -> bool:
        """Whether a client gets the list of brokers."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        # Without log_level 0 the client library writes one line a second to stderr while the broker starts.
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            return bool(admin.list_topics(timeout=_ADMIN_TIMEOUT.total_seconds()).brokers)
        except KafkaException:
            return False

    def ensure_topic(self, topic: str, *, partitions: int = PARTITIONS) -> None:
        """Create the topic unless it is there; an existing one keeps its partitions.

        Raises SandboxError when the broker refuses.
        """
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        creation = admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])[topic]
        try:
            creation.result(timeout=30)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise SandboxError(f"cannot create topic {topic} on {self.bootstrap}: {error.args[0].str()}") from error

    @property
    def _server_properties(self) -> Path:
        return self._layout.kafka / "server.properties"

    @property
    def _log4j(self) -> Path:
        return self._layout.kafka / "log4j2.properties"

    def _write_configuration(self) -> None:
        self._log4j.write_text(LOG4J_PROPERTIES, encoding="utf-8")
        text = server_properties(
            port=self._port, controller_port=self._controller_port, data=self._layout.kafka / "data"
        )
        self._server_properties.write_text(text, encoding="utf-8")

    def _format_storage(self, environment: Mapping[str, str]) -> None:
        """Give the data folder its cluster id; a folder that has one keeps it."""
        if (self._layout.kafka / "data" / "meta.properties").is_file():
            return
        # Kafka writes cluster ids as 16 bytes in URL-safe base64 without padding.
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        tool = [*self._java(environment), "kafka.tools.StorageTool", "format", "--ignore-formatted"]
        run_set_up(
            # The id may begin with a dash, hence the one-argument form.
            [*tool, f"--cluster-id={cluster}", "--config", str(self._server_properties)],
            what="format the broker's storage",
            log=self._layout.logs / "kafka-format.log",
            limit=_FORMAT_LIMIT,
            environment=environment,
        )

    def _java(self, environment: Mapping[str, str]) -> list[str]:
        if not any(self._layout.broker_jars.glob("kafka-server-4*.jar")):
            raise SandboxError(f"no Kafka broker jars in {self._layout.broker_jars}: run `make setup`")
        home = environment.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else "java"
        return [java, "-cp", f"{self._layout.broker_jars}/*"]
