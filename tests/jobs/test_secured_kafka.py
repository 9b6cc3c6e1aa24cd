"""J10 on a listener that asks for a password, which is in two files and nowhere else.

The driver logs in by a JAAS file, `streamops lag` and the supervisor by a properties file of librdkafka.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamops.control.layout import control_folder
from streamops.launch.processes import PROC
from streamops_sandbox.catalogue.cases import case_of
from streamops_sandbox.drivers import live_drivers_of
from streamops_sandbox.quick_start import COMPILE_LESS
from support.cluster import Cluster
from support.job_account import TRIAL_MARKS
from support.job_trial import JobTrial, on_trial
from support.provoke.broker import Broker
from support.provoke.secured import MODULE, SECURITY

pytestmark = [*TRIAL_MARKS, pytest.mark.catalogue]

SECRET = "hush-7Qz-hush"
TOPIC = "event_aggregates"


@pytest.fixture(scope="module")
def listeners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, str]]:
    """The open listener for the test itself, and the address of the one with a password."""
    broker = Broker(
        tmp_path_factory.mktemp("secured") / "broker",
        security=SECURITY.replace('"right"', f'"{SECRET}"'),
        module=MODULE,
    )
    try:
        plain, secured = broker.bootstrap().split(",")
        yield Cluster(plain, broker), secured
    finally:
        broker.stop()


@pytest.fixture
def logins(tmp_path: Path) -> Path:
    """A folder with the two files, for their owner alone."""
    folder = tmp_path / "logins"
    folder.mkdir(mode=0o700)
    private(folder / "jaas.conf", f'KafkaClient {{\n{MODULE} username="admin" password="{SECRET}";\n}};\n')
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "admin",
        "sasl.password": SECRET,
    }
    private(folder / "kafka.properties", "".join(f"{name}={value}\n" for name, value in login.items()))
    return folder


def test_a_stream_logs_in_and_the_password_is_nowhere_to_be_seen(
    listeners: tuple[Cluster, str],
    logins: Path,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    cluster, secured = listeners
    environment = {
        "KAFKA_BOOTSTRAP": secured,
        "KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "STREAMOPS_JAVA_OPTIONS": f"{COMPILE_LESS} -Djava.security.auth.login.config={logins / 'jaas.conf'}",
        "STREAMOPS_KAFKA_PROPERTIES": str(logins / "kafka.properties"),
    }
    root = tmp_path / "trial"
    root.mkdir()

    with on_trial(TOPIC, TOPIC, root=root, cluster=cluster, tell=record_property, environment=environment) as run:
        run.until(lambda: bool(arguments_of(run)), "a driver")
        arguments = arguments_of(run)
        account = run.prove(case_of(TOPIC), seed=10, count=500, kill_in=(1,))

    assert (account.kills, account.lost) == (1, 0)
    assert any(b"jaas.conf" in argument for argument in arguments)
    assert not any(SECRET.encode() in argument for argument in arguments)
    # Claims, beats, logs, progress, checkpoints, tables.
    assert [file for file in root.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()] == []


def arguments_of(run: JobTrial) -> list[bytes]:
    """All that the process table shows of its drivers."""
    (drivers,) = live_drivers_of((control_folder(run.spec.checkpoint),)).values()
    return [(PROC / str(member.pid) / "cmdline").read_bytes() for driver in drivers for member in driver.members]


def private(file: Path, text: str) -> None:
    """A file that only its owner reads, from its first moment on."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(text)
