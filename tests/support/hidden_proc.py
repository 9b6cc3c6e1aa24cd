"""Real users in a pid namespace and a mount namespace of their own, with a `/proc` that was mounted as a test wants it.

A new mount, never a remount: that would change the `/proc` of the whole machine (seen on Linux 6.18). The users keep the one
capability that opens every file, so that interpreter and checkpoints may lie wherever they lie; it shows them no process more.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamops.control import codec
from streamops.control.layout import control_folder
from streamops.control.log import LogReader
from streamops.control.records import Author, DriverHandle
from streamops.dead_letters import RecordPosition
from streamops.dead_letters.replay import Attempt
from streamops.errors import StreamOpsError
from streamops.launch.local import LocalLauncher
from streamops.spec import LaunchSpec
from streamops.storage.local import LocalStorage
from streamops.supervision.supervisor import Supervisor
from support.clock import FakeClock
from support.observations import a_beat
from support.replays import ReplayTrial
from support.specs import a_stream, seconds
from support.state_root import init

ANA, BEN = 23451, 23452
"""Two users without a name, a group in common, or any right over each other."""

SPARK_SUBMIT = """#!/bin/sh
echo $$ >> "$(dirname "$0")/started"
trap 'exit 0' TERM
while :; do sleep 0.05 & wait $!; done
"""
"""Notes that it was started, and runs until it is asked to stop."""
ENDS_BEFORE_ITS_CHILD = """#!/bin/sh
sleep 600 &
until [ -e "$(dirname "$0")/enough" ]; do sleep 0.05; done
"""
"""Leaves its process group to a child, once there is a file `enough`."""


class HiddenProc:
    """The namespaces, as long as the test lasts; whatever was started in them ends with them."""

    def __init__(self, options: str) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root may mount /proc anew and become two other users")
        script = f"mount -t proc -o {options} proc /proc && echo ready && while :; do sleep 60 & wait $!; done"
        command = [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            script,
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self._process.stdout.readline() != "ready\n":
            self._process.wait()
            pytest.skip(f"the kernel refuses a /proc with {options}: {self._process.stderr.read().strip()}")
        pid = self._process.pid
        self._first = Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()
        self._users: list[User] = []

    def user(
        self, uid: int, *, gid: int | None = None, groups: Sequence[int] = (), inside: Sequence[str] = ()
    ) -> "User":
        """Somebody who does one thing after another; `inside` is a command to run them under."""
        others = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        only_files = ["--inh-caps=-all,+dac_override", "--ambient-caps=-all,+dac_override"] if uid else []
        become = ["setpriv", "--reuid", str(uid), "--regid", str(uid if gid is None else gid), *others, *only_files]
        self._users.append(User(["nsenter", "--target", self._first, "--mount", "--pid", *become, *inside]))
        return self._users[-1]

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        for user in self._users:
            user.end()


class User:
    """A process that takes the steps below for a user of the namespaces."""

    def __init__(self, become: Sequence[str]) -> None:
        command = [*become, sys.executable, "-c", "from support.hidden_proc import serve; serve()"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def settle(self, place: str, *, after: float = 0) -> dict[str, Any]:
        """A supervisor looks and acts, and once more after so many seconds."""
        return self._take("settle", place, after)

    def poll(self, handle: str) -> list[str]:
        """State and evidence of a driver."""
        return self._take("poll", handle)

    def kill(self, handle: str) -> str | None:
        """Why it could not be signalled; None when it was."""
        return self._take("kill", handle)

    def find(self, token: str) -> list[str] | str:
        """Drivers with a token, or why they can't be asked for."""
        return self._take("find", token)

    def carry_on_a_replay_of(self, driver: str) -> str | None:
        """Why a replay can't be carried on that a process has taken up, this driver's; None when it was."""
        return self._take("carry_on", driver)

    def why_unseen(self, uid: int) -> str:
        """Why a driver that beats on this host as that user would not be found."""
        return self._take("why_unseen", uid)

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _take(self, *step: Any) -> Any:
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self._process.stderr.read()
        return json.loads(answer)


def serve() -> None:
    """Takes steps as they come on stdin, and answers on stdout; what is refused is answered by its reason."""
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = _STEPS[name](*arguments)
        except StreamOpsError as error:
            answer = str(error)
        print(json.dumps(answer), flush=True)


def make_place(folder: Path, script: str = SPARK_SUBMIT) -> str:
    """Where all users find a spark-submit, the checkpoint and the state root."""
    spark_submit = folder / "spark-submit"
    spark_submit.write_text(script)
    for path, mode in ((spark_submit, 0o755), (folder, 0o777)):
        path.chmod(mode)
    # Made as root, for both: who may write what is no question here.
    init(LocalStorage(), f"file://{folder}/state")
    return str(folder)


def _settle(place: str, after: float) -> dict[str, Any]:
    spec = a_stream(
        checkpoint=f"file://{place}/checkpoints/orders", launch=LaunchSpec(spark_submit=f"{place}/spark-submit")
    )
    storage, clock = LocalStorage(), FakeClock()
    author = Author(actor=f"supervise-{os.geteuid()}", host="here", pid=os.getpid())
    supervisor = Supervisor(
        spec, storage=storage, launcher=_LAUNCHER, clock=clock, state_root=f"file://{place}/state", author=author
    )
    decision = supervisor.settle()
    if after:
        clock.advance(seconds(after))
        decision = supervisor.settle()
    records = LogReader(storage, control_folder(spec.checkpoint)).read()
    handles = [record.body.handle for record in records if record.body.kind == "submitted"]
    return {
        "action": decision.action,
        "reason": decision.reason,
        "needs_attention": decision.needs_attention,
        "records": [record.body.kind for record in records],
        "handles": [codec.encode(handle).decode() for handle in handles],
    }


def _poll(handle: str) -> list[str]:
    status = _LAUNCHER.poll(_handle(handle))
    return [status.state, status.evidence]


def _kill(handle: str) -> None:
    _LAUNCHER.kill(_handle(handle))


def _find(token: str) -> list[str]:
    return [codec.encode(handle).decode() for handle in _LAUNCHER.find(token)]


def _carry_on(driver: str) -> None:
    handle, trial = _handle(driver), ReplayTrial()
    pid, start_ticks = (int(part) for part in handle.process.split(":"))
    trial.letters.dies(RecordPosition(topic="orders", partition=0, offset=3))
    attempt = Attempt(
        by=Author(actor="person:ana", host=handle.host, pid=pid),
        at=trial.clock.now(),
        boot_id=handle.boot_id,
        pid_namespace=handle.pid_namespace,
        start_ticks=start_ticks,
        uid=handle.uid,
    )
    trial.shelf.take_up(trial.begun(), attempt)
    trial.desk().carry_on(trial.open_one(), trial.letters)


def _why_unseen(uid: int) -> str:
    traces = a_beat()
    return _LAUNCHER.why_unseen(replace(traces.heartbeat, host=socket.gethostname(), uid=uid))


def _handle(text: str) -> DriverHandle:
    return codec.decode(DriverHandle, text.encode(), address="the command line")


_LAUNCHER = LocalLauncher()
_STEPS = {
    "settle": _settle,
    "poll": _poll,
    "kill": _kill,
    "find": _find,
    "why_unseen": _why_unseen,
    "carry_on": _carry_on,
}
