"""Real processes: a shell script stands in for spark-submit, everything else is as in production."""

import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from streamops.control.drivers import Heartbeat
from streamops.control.records import DriverHandle
from streamops.errors import LaunchError
from streamops.launch import DriverState, SubmitRequest
from streamops.launch.local import LocalLauncher, spark_submit_command
from streamops.launch.processes import live_group, read_stat, this_host
from streamops.storage import FileAccess
from support.observations import a_beat
from support.waiting import eventually

LOYAL = "trap 'echo asked to stop; exit 0' TERM\necho started\nwhile :; do sleep 0.05 & wait $!; done\n"
"""Runs until it is asked to stop."""
DEAF = "trap '' TERM\necho started\nwhile :; do sleep 0.05; done\n"
"""Does not listen to SIGTERM."""
WITH_CHILD = "sh -c 'while :; do sleep 5; done' child \"$@\" &\necho started\nwait\n"
"""Has a child that carries the token too, as the JVM has its Python."""
SHORT = "echo started\n"


class Place:
    """A folder with a spark-submit, and a launcher that works with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.launcher = LocalLauncher()
        self.handles: list[DriverHandle] = []

    def request(self, script: str = LOYAL, **changes) -> SubmitRequest:
        spark_submit = self.folder / "spark-submit"
        spark_submit.write_text("#!/bin/sh\n" + script)
        spark_submit.chmod(0o755)
        token = uuid.uuid4().hex
        request = SubmitRequest(
            token=token,
            name="streamops-orders-1",
            spark_submit=str(spark_submit),
            master="local[2]",
            deploy_mode="client",
            application="driver.py",
            arguments=("--token", token),
            log=str(self.folder / "logs" / "1.log"),
            folder=str(self.folder),
        )
        return replace(request, **changes)

    def submit(self, script: str = LOYAL, **changes) -> DriverHandle:
        request = self.request(script, **changes)
        handle = self.launcher.submit(request)
        self.handles.append(handle)
        assert eventually(lambda: "started" in Path(request.log).read_text())
        return handle

    def state(self, handle: DriverHandle) -> DriverState:
        return self.launcher.poll(handle).state

    def becomes(self, handle: DriverHandle, state: DriverState) -> bool:
        return eventually(lambda: self.state(handle) is state)

    def log(self) -> str:
        return (self.folder / "logs" / "1.log").read_text()


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    for handle in place.handles:
        place.launcher.kill(handle)


@pytest.fixture
def stranger():
    """A process in a group of its own that has nothing to do with anything."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def pid_of(handle: DriverHandle) -> int:
    return int(handle.process.partition(":")[0])


# Submit


def test_a_submitted_driver_runs(place):
    handle = place.submit()

    assert place.state(handle) is DriverState.RUNNING


def test_a_driver_leads_its_own_session_and_group(place):
    stat = read_stat(pid_of(place.submit()))

    assert (stat.group, stat.session) == (stat.pid, stat.pid)
    assert stat.session != os.getsid(0)


def test_a_driver_writes_to_its_log_and_adds_to_what_is_there(place):
    log = place.folder / "logs" / "1.log"
    log.parent.mkdir()
    log.write_text("an earlier line\n")

    handle = place.submit("echo started; echo an error >&2\n")

    assert place.becomes(handle, DriverState.ENDED)
    assert place.log() == "an earlier line\nstarted\nan error\n"


@pytest.mark.fault("B30")
def test_a_driver_outlives_the_process_that_submitted_it(place):
    request = place.request()
    code = (
        "import pickle, sys\n"
        "from streamops.launch.local import LocalLauncher\n"
        f"print(LocalLauncher().submit(pickle.loads({pickle.dumps(request)!r})).process)\n"
    )
    parent = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True
    )
    assert parent.returncode == 0, parent.stderr

    (handle,) = place.launcher.find(request.token)
    place.handles.append(handle)

    assert handle.process == parent.stdout.decode().strip()
    assert place.state(handle) is DriverState.RUNNING


def test_the_command_is_spark_submits_own(place):
    request = place.request(
        queue="etl",
        conf=(("a.b", "c=d"),),
        jars=("x.jar", "y.jar"),
        py_files=("streamops.zip",),
        arguments=("--e", "1"),
    )

    assert spark_submit_command(request)[1:] == [
        *("--master", "local[2]", "--deploy-mode", "client", "--name", "streamops-orders-1", "--queue", "etl"),
        *("--conf", "a.b=c=d", "--jars", "x.jar,y.jar", "--py-files", "streamops.zip"),
        *("driver.py", "--e", "1"),
    ]


@pytest.mark.parametrize(
    ("access", "file_mode", "folder_mode"),
    [
        pytest.param(FileAccess.OWNER, 0o600, 0o700, id="owner"),
        pytest.param(FileAccess.GROUP, 0o660, 0o2770, id="group"),
    ],
)
def test_the_log_is_for_its_owner_or_group_alone(place, access, file_mode, folder_mode):
    request = place.request(access=access)

    place.submit(access=access)

    assert stat.S_IMODE(Path(request.log).stat().st_mode) == file_mode
    assert stat.S_IMODE(Path(request.log).parent.stat().st_mode) == folder_mode


def inherited(place: Place, handle: DriverHandle) -> dict[str, str]:
    """The environment that a driver was started with."""
    pairs = Path(f"/proc/{pid_of(handle)}/environ").read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)


def test_a_driver_inherits_what_java_spark_and_python_need_and_what_is_declared(place, monkeypatch):
    needed = {"LANG": "C.UTF-8", "LC_TIME": "C", "SPARK_LOCAL_DIRS": "/scratch", "KRB5_CONFIG": "/k", "NO_PROXY": "a"}
    declared = {"PGPASSWORD": "x1", "AWS_SECRET_ACCESS_KEY": "x2", "AWS_REGION": "eu"}
    others = {
        **{"SLACK_WEBHOOK": "y1", "DATABASE_PASSWORD": "y2", "SPARK_SUBMIT_OPTS": "y3", "PYSPARK_GATEWAY_SECRET": "y4"},
        **{
            "https_proxy": "http://me:y5@proxy",
            "AIRFLOW__CORE__FERNET_KEY": "y6",
            "_AIRFLOW_X": "y7",
            "PGPASSWORD2": "y8",
        },
        **{"JAVA_TOOL_OPTIONS": "-Dx=1", "XAWS_KEY": "y9"},
    }
    for name, value in {**needed, **declared, **others}.items():
        monkeypatch.setenv(name, value)

    handle = place.submit(variables=("AWS_*", "PGPASSWORD"))

    found = inherited(place, handle)
    assert {**needed, **declared}.items() <= found.items()
    assert not others.keys() & found.keys()
    assert found["PATH"] == os.environ["PATH"]


def test_airflow_s_own_secrets_are_inherited_by_no_pattern(place, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "y")

    assert "AIRFLOW__CORE__FERNET_KEY" not in inherited(
        place, place.submit(variables=("A*", "AIRFLOW__CORE__FERNET_KEY"))
    )


def test_a_driver_without_a_variable_that_is_declared_is_not_started(place, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    request = place.request(variables=("AWS_*", "PGPASSWORD"))

    assert place.launcher.missing(request.variables) == ("PGPASSWORD",)
    with pytest.raises(LaunchError, match=r"PGPASSWORD \(launch\.environment\)"):
        place.launcher.submit(request)
    assert place.launcher.find(request.token) == ()


def test_secrets_reach_the_driver_but_not_the_process_list(place):
    secret = "s3cr3t-" + uuid.uuid4().hex
    handle = place.submit('echo "got $PASSWORD"; echo started\n' + LOYAL, environment=(("PASSWORD", secret),))

    assert f"got {secret}" in place.log()
    assert secret.encode() not in Path(f"/proc/{pid_of(handle)}/cmdline").read_bytes()
    assert secret not in repr(place.request(environment=(("PASSWORD", secret),)))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"spark_submit": "/nowhere/spark-submit"}, id="no spark-submit"),
        pytest.param({"folder": "/nowhere"}, id="no working directory"),
        pytest.param({"log": "/proc/nowhere/1.log"}, id="a log that can't be made"),
        pytest.param({"spark_submit": "/etc/hostname"}, id="not a program"),
    ],
)
def test_what_cannot_be_started_is_a_launch_error(place, changes):
    with pytest.raises(LaunchError):
        place.launcher.submit(place.request(**changes))


# Find


def test_a_living_driver_is_found_by_its_token(place):
    request = place.request()
    handle = place.launcher.submit(request)
    place.handles.append(handle)

    # The kernel tells a parent of the exec a moment before it shows the new arguments.
    assert eventually(lambda: [found.process for found in place.launcher.find(request.token)] == [handle.process])


def test_a_part_of_a_token_finds_nobody(place):
    request = place.request()
    place.handles.append(place.launcher.submit(request))

    assert place.launcher.find(request.token[:-1]) == ()


def test_an_ended_driver_is_not_found(place):
    request = place.request()
    handle = place.launcher.submit(request)
    place.launcher.kill(handle)

    assert eventually(lambda: place.launcher.find(request.token) == ())


def test_a_driver_whose_leader_is_gone_is_still_found_and_can_be_killed(place):
    handle = place.submit(WITH_CHILD)
    token = Path(f"/proc/{pid_of(handle)}/cmdline").read_bytes().split(b"\0")[-2].decode()
    assert eventually(lambda: len(live_group(pid_of(handle))) > 1)
    os.kill(pid_of(handle), signal.SIGKILL)
    assert place.becomes(handle, DriverState.BROKEN)

    (found,) = place.launcher.find(token)
    place.launcher.kill(found)

    assert place.becomes(handle, DriverState.ENDED)


# Poll


def test_a_driver_killed_from_outside_has_ended(place):
    handle = place.submit()
    os.killpg(pid_of(handle), signal.SIGKILL)

    assert place.becomes(handle, DriverState.ENDED)


def test_a_driver_that_came_to_its_end_has_ended(place):
    assert place.becomes(place.submit(SHORT), DriverState.ENDED)


def test_a_driver_whose_leader_was_killed_is_broken_while_a_child_lives(place):
    handle = place.submit(WITH_CHILD)
    assert eventually(lambda: len(live_group(pid_of(handle))) > 1)

    os.kill(pid_of(handle), signal.SIGKILL)

    assert place.becomes(handle, DriverState.BROKEN)
    place.launcher.kill(handle)
    assert place.becomes(handle, DriverState.ENDED)


def test_a_zombie_is_dead_although_its_pid_is_still_there(place):
    request = place.request()
    code = (
        "import pickle, sys\n"
        "from streamops.launch.local import LocalLauncher\n"
        f"print(LocalLauncher().submit(pickle.loads({pickle.dumps(request)!r})).process, flush=True)\n"
        "sys.stdin.read()\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout.readline()
        (handle,) = place.launcher.find(request.token)
        os.killpg(pid_of(handle), signal.SIGKILL)

        assert place.becomes(handle, DriverState.ENDED)
        assert read_stat(pid_of(handle)).state == "Z", "its parent has not collected it"
        parent.stdin.close()


def test_an_ended_child_leaves_no_zombie_in_the_supervisor(place):
    handle = place.submit(SHORT)

    assert place.becomes(handle, DriverState.ENDED)
    assert eventually(lambda: place.state(handle) is DriverState.ENDED and read_stat(pid_of(handle)) is None)


def reused(handle: DriverHandle, stranger: subprocess.Popen) -> DriverHandle:
    """A handle whose pid now belongs to somebody who started later."""
    return replace(handle, process=f"{stranger.pid}:{read_stat(stranger.pid).start_ticks - 1}")


def test_a_reused_pid_is_not_taken_for_the_driver(place, stranger):
    handle = reused(place.submit(SHORT), stranger)

    assert place.state(handle) is DriverState.ENDED


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_reused_pid_is_never_signalled(place, stranger, verb):
    handle = reused(place.submit(SHORT), stranger)

    getattr(place.launcher, verb)(handle)

    assert stranger.poll() is None
    assert read_stat(stranger.pid).is_alive


def a_beat_here(**changes) -> Heartbeat:
    here = this_host()
    place = {"host": here.host, "boot_id": here.boot_id, "pid_namespace": here.pid_namespace, "uid": here.uid}
    return replace(a_beat().heartbeat, **place | changes)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="of this user"),
        pytest.param(
            {"boot_id": "", "pid_namespace": "", "uid": -1}, id="of an older version, which says no more than the host"
        ),
    ],
)
def test_a_driver_that_beats_here_would_be_found(place, changes):
    assert place.launcher.why_unseen(a_beat_here(**changes)) == ""


@pytest.mark.parametrize(
    ("change", "evidence"),
    [
        pytest.param({"host": "another"}, "host another", id="another host: its pids mean nothing here"),
        pytest.param({"boot_id": "0000"}, "booted again", id="another boot: all pids were given out anew"),
        pytest.param({"pid_namespace": "pid:[1]"}, "pid namespace", id="another container on the same host"),
    ],
)
class TestElsewhere:
    """A driver that can't be seen from here."""

    def test_it_is_unknown_and_not_dead(self, place, change, evidence):
        status = place.launcher.poll(replace(place.submit(SHORT), **change))

        assert status.state is DriverState.UNKNOWN
        assert evidence in status.evidence

    def test_that_it_is_not_found_says_nothing(self, place, change, evidence):
        assert evidence in place.launcher.why_unseen(a_beat_here(**change))

    @pytest.mark.parametrize("verb", ["stop", "kill"])
    def test_it_is_not_signalled(self, place, change, evidence, verb):
        handle = place.submit()

        with pytest.raises(LaunchError, match=evidence):
            getattr(place.launcher, verb)(replace(handle, **change))
        assert place.state(handle) is DriverState.RUNNING


def test_a_handle_of_another_launcher_is_unknown_here(place):
    status = place.launcher.poll(DriverHandle(launcher="yarn", process="application_1_0001"))

    assert status.state is DriverState.UNKNOWN


def test_a_process_with_an_odd_name_does_not_blind_the_launcher(place, tmp_path):
    """A name may hold any bytes, spaces and parentheses included; one such process must not stop all supervision."""
    odd = os.fsencode(tmp_path) + b"/) R \xff\xfe ("
    shutil.copy("/bin/sleep", odd)
    handle = place.submit()
    with subprocess.Popen([odd, "60"]) as process:
        try:
            assert place.state(handle) is DriverState.RUNNING
            assert read_stat(process.pid).is_alive
            place.launcher.kill(handle)
            assert place.becomes(handle, DriverState.ENDED)
            assert place.launcher.find("nobody") == ()
        finally:
            process.kill()


# Stop and kill


def test_stop_asks(place):
    handle = place.submit(LOYAL)

    place.launcher.stop(handle)

    assert place.becomes(handle, DriverState.ENDED)
    assert "asked to stop" in place.log()


def test_a_driver_may_be_deaf_to_stop_but_not_to_kill(place):
    handle = place.submit(DEAF)

    place.launcher.stop(handle)
    still = place.state(handle)
    place.launcher.kill(handle)

    assert still is DriverState.RUNNING
    assert place.becomes(handle, DriverState.ENDED)


def test_kill_ends_the_whole_group_and_nobody_else(place, stranger):
    other = place.submit(LOYAL)
    handle = place.submit(WITH_CHILD)
    assert eventually(lambda: len(live_group(pid_of(handle))) > 1)

    place.launcher.kill(handle)

    assert place.becomes(handle, DriverState.ENDED)
    assert live_group(pid_of(handle)) == ()
    assert place.state(other) is DriverState.RUNNING
    assert stranger.poll() is None


@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_signalling_a_driver_that_has_ended_does_nothing(place, verb):
    handle = place.submit(SHORT)
    assert place.becomes(handle, DriverState.ENDED)

    getattr(place.launcher, verb)(handle)


def test_a_handle_that_names_no_process_is_an_error_that_shows_it(place):
    handle = replace(place.submit(SHORT), process="application_1_0001")

    with pytest.raises(LaunchError, match="application_1_0001"):
        place.launcher.poll(handle)
    place.handles.clear()


# Living drivers, whoever started them


def driver_arguments(control: str, *, epoch: str = "3", token: str = "") -> tuple[str, ...]:
    """As every driver of streamops is told."""
    named = {"--control": control, "--record": "7", "--epoch": epoch, "--token": token or uuid.uuid4().hex, "--log": ""}
    return tuple(part for pair in named.items() for part in pair)


def living_on(place: Place, control: str) -> list:
    return [driver for driver in LocalLauncher().living() if driver.control == control]


def test_a_driver_is_found_with_all_that_it_was_told(place):
    control = f"file://{place.folder}/orders.streamops"
    token = uuid.uuid4().hex
    handle = place.submit(arguments=driver_arguments(control, token=token))

    (found,) = living_on(place, control)

    assert (found.epoch, found.token) == (3, token)
    assert replace(found.handle, log=handle.log) == handle, "polled and killed like any other"


def test_a_driver_and_its_children_are_one(place):
    control = f"file://{place.folder}/orders.streamops"
    handle = place.submit(WITH_CHILD, arguments=driver_arguments(control))
    assert eventually(lambda: len(live_group(pid_of(handle))) > 1)

    (found,) = living_on(place, control)

    assert found.handle.process == handle.process


def test_what_is_left_of_a_driver_is_found_and_can_be_killed(place):
    control = f"file://{place.folder}/orders.streamops"
    handle = place.submit(WITH_CHILD, arguments=driver_arguments(control))
    assert eventually(lambda: len(live_group(pid_of(handle))) > 1)
    os.kill(pid_of(handle), signal.SIGKILL)
    assert place.becomes(handle, DriverState.BROKEN)

    (found,) = living_on(place, control)
    assert place.state(found.handle) is DriverState.BROKEN
    place.launcher.kill(found.handle)

    assert eventually(lambda: living_on(place, control) == [])


def test_an_ended_driver_is_not_living(place):
    control = f"file://{place.folder}/orders.streamops"
    handle = place.submit(arguments=driver_arguments(control))
    place.launcher.kill(handle)

    assert eventually(lambda: living_on(place, control) == [])


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--control", "{control}"), id="another program with an option of that name"),
        pytest.param(driver_arguments("{control}")[:6], id="half of a driver's arguments"),
        pytest.param(driver_arguments("{control}", epoch="three"), id="an epoch that is no number"),
        pytest.param(driver_arguments("{control}", epoch="²"), id="a digit that is no number"),
    ],
)
def test_a_process_that_only_resembles_a_driver_is_none(place, arguments):
    control = f"file://{place.folder}/orders.streamops"
    place.submit(arguments=tuple(part.format(control=control) for part in arguments))

    assert living_on(place, control) == []


def test_a_driver_in_a_container_of_this_host_is_none_of_ours(place):
    """Its `/data/checkpoints` is another folder than ours."""
    control = f"file://{place.folder}/orders.streamops"
    script = place.folder / "driver.sh"
    script.write_text(f"echo started > {place.folder}/up\nwhile :; do sleep 0.05; done\n")
    command = ["unshare", "--pid", "--fork", "--kill-child", "setsid", "sh", str(script), *driver_arguments(control)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            if not eventually((place.folder / "up").exists, within=2):
                pytest.skip("this user may not make a pid namespace")
            found = living_on(place, control)
        finally:
            process.kill()

    # What stays outside is `unshare` itself, which waits for its child and carries the same arguments.
    assert [driver.handle.process.partition(":")[0] for driver in found] == [str(process.pid)]


@pytest.mark.parametrize(
    ("script", "exit_code"),
    [
        pytest.param("echo started; exit 0\n", 0, id="well"),
        pytest.param("echo started; exit 3\n", 3, id="with an error"),
        pytest.param("echo started; kill -9 $$\n", -9, id="killed"),
    ],
)
def test_the_parent_of_an_ended_driver_knows_its_exit_code(place, script, exit_code):
    handle = place.submit(script)
    assert eventually(lambda: place.launcher.poll(handle).state is DriverState.ENDED)

    assert place.launcher.poll(handle).exit_code == exit_code


def test_another_process_knows_no_exit_code(place):
    handle = place.submit(SHORT)
    assert eventually(lambda: place.launcher.poll(handle).state is DriverState.ENDED)

    assert LocalLauncher().poll(handle).exit_code is None
