"""Daemons with real processes: detached, recorded, stopped by identity and nobody else's."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from streamops.clock import SystemClock
from streamops.launch.processes import read_stat
from streamops_sandbox.daemon import Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.waiting import SilentNarrator, wait_until_nothing_is_missing

NAME = "sleeper"
LIMIT = timedelta(seconds=10)
GRACE = timedelta(seconds=10)
IMPATIENT = timedelta(seconds=0)

SLEEPS = "import time; print('ready', flush=True); time.sleep(600)"
IGNORES_SIGTERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
)
LEAVES_A_CHILD_IN_ANOTHER_GROUP = """
import os, sys, time
child = os.fork()
if child == 0:
    os.setpgid(0, 0)  # as a running Airflow task does
    time.sleep(600)
print('child', child, flush=True)
print('ready', flush=True)
time.sleep(600)
"""
LEAVES_A_DETACHED_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)
print('child', child.pid, flush=True)
print('ready', flush=True)
time.sleep(600)
"""


@pytest.fixture
def layout(tmp_path: Path) -> SandboxLayout:
    layout = SandboxLayout.of_project(tmp_path)
    layout.create_folders()
    return layout


@pytest.fixture
def daemons(layout: SandboxLayout) -> Iterator[Daemons]:
    daemons = Daemons(layout, clock=SystemClock(), narrator=SilentNarrator())
    yield daemons
    daemons.stop(NAME, grace=IMPATIENT)


def start(daemons: Daemons, program: str) -> int:
    """The pid of a daemon that has printed `ready`."""
    record = daemons.start(NAME, [sys.executable, "-c", program], environment=os.environ)
    daemons.wait_ready(
        NAME, missing=lambda: "" if "\nready" in record.log.read_text() else "ready", what=NAME, limit=LIMIT
    )
    return record.pid


def child_of(daemons: Daemons) -> int:
    printed = re.search(r"^child (\d+)$", daemons.log_path(NAME).read_text(), re.MULTILINE)
    assert printed is not None
    return int(printed[1])


def is_alive(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.is_alive


def eventually(claim: Callable[[], bool]) -> None:
    wait_until_nothing_is_missing(
        lambda: "" if claim() else "the claim", what="test", limit=LIMIT, clock=SystemClock(), narrator=SilentNarrator()
    )


def test_a_daemon_runs_in_a_session_of_its_own(daemons: Daemons) -> None:
    pid = start(daemons, SLEEPS)

    stat = read_stat(pid)

    assert stat is not None
    assert stat.session == stat.group == pid


def test_starting_what_is_alive_changes_nothing(daemons: Daemons) -> None:
    pid = start(daemons, SLEEPS)

    assert start(daemons, SLEEPS) == pid


def test_another_command_finds_the_daemon_by_its_record(daemons: Daemons, layout: SandboxLayout) -> None:
    pid = start(daemons, SLEEPS)

    found = Daemons(layout, clock=SystemClock(), narrator=SilentNarrator()).running(NAME)

    assert found is not None
    assert found.pid == pid


def test_stop_ends_it_by_sigterm_and_removes_the_record(daemons: Daemons, layout: SandboxLayout) -> None:
    pid = start(daemons, SLEEPS)

    stopped = daemons.stop(NAME, grace=GRACE)

    assert stopped == (NAME,)
    assert not is_alive(pid)
    assert not list(layout.daemons.iterdir())


def test_stopping_what_does_not_run_is_no_error(daemons: Daemons) -> None:
    assert daemons.stop(NAME, grace=GRACE) == ()


def test_what_ignores_sigterm_is_killed_after_the_grace(daemons: Daemons) -> None:
    pid = start(daemons, IGNORES_SIGTERM)

    daemons.stop(NAME, grace=IMPATIENT)

    assert not is_alive(pid)


def test_what_the_daemon_leaves_in_its_session_ends_with_it(daemons: Daemons) -> None:
    start(daemons, LEAVES_A_CHILD_IN_ANOTHER_GROUP)
    child = child_of(daemons)

    daemons.stop(NAME, grace=GRACE)

    assert not is_alive(child)


def test_a_detached_child_such_as_a_spark_driver_is_left_alone(daemons: Daemons) -> None:
    start(daemons, LEAVES_A_DETACHED_CHILD)
    child = child_of(daemons)

    try:
        daemons.stop(NAME, grace=GRACE)

        assert is_alive(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_after_a_crash_the_next_start_clears_the_remains_and_replaces_the_record(daemons: Daemons) -> None:
    old = start(daemons, LEAVES_A_CHILD_IN_ANOTHER_GROUP)
    child = child_of(daemons)
    assert daemons.kill(NAME)
    assert is_alive(child)

    new = start(daemons, SLEEPS)

    assert new != old
    assert not is_alive(child)
    assert is_alive(new)


def test_a_record_whose_pid_now_belongs_to_another_process_signals_nobody(
    daemons: Daemons, layout: SandboxLayout
) -> None:
    pid = start(daemons, SLEEPS)
    record = layout.daemons / f"{NAME}.json"
    true_text = record.read_text()
    content = json.loads(true_text)
    record.write_text(json.dumps(content | {"start_ticks": content["start_ticks"] - 1}))

    assert daemons.running(NAME) is None
    assert daemons.stop(NAME, grace=GRACE) == ()
    assert is_alive(pid)

    record.write_text(true_text)


def test_a_record_from_before_a_reboot_is_stale(daemons: Daemons, layout: SandboxLayout) -> None:
    pid = start(daemons, SLEEPS)
    record = layout.daemons / f"{NAME}.json"
    true_text = record.read_text()
    record.write_text(json.dumps(json.loads(true_text) | {"boot_id": "another"}))

    assert daemons.running(NAME) is None
    assert daemons.stop(NAME, grace=GRACE) == ()
    assert is_alive(pid)

    record.write_text(true_text)


def test_a_daemon_that_ends_early_is_an_error_with_the_end_of_its_log(daemons: Daemons) -> None:
    program = "[print('line', n) for n in range(50)]; raise SystemExit('port 9092 is taken')"
    daemons.start(NAME, [sys.executable, "-c", program], environment=os.environ)

    with pytest.raises(SandboxError) as raised:
        daemons.wait_ready(NAME, missing=lambda: "an answer", what=NAME, limit=LIMIT)

    text = str(raised.value)
    assert f"{NAME} has ended" in text
    assert str(daemons.log_path(NAME)) in text
    assert "port 9092 is taken" in text
    assert "line 31" in text
    assert "line 30" not in text


def test_a_daemon_that_is_not_ready_in_time_is_an_error_with_the_end_of_its_log(daemons: Daemons) -> None:
    start(daemons, SLEEPS)

    with pytest.raises(SandboxError, match="still waiting for an answer after") as raised:
        daemons.wait_ready(NAME, missing=lambda: "an answer", what=NAME, limit=timedelta(0))

    assert str(daemons.log_path(NAME)) in str(raised.value)


def test_a_program_that_is_not_there_is_an_error_that_names_it(daemons: Daemons) -> None:
    with pytest.raises(SandboxError, match="cannot start sleeper: no-such-program"):
        daemons.start(NAME, ["no-such-program"], environment=os.environ)


def test_a_killed_daemon_is_not_running(daemons: Daemons) -> None:
    pid = start(daemons, SLEEPS)

    assert daemons.kill(NAME)

    eventually(lambda: not is_alive(pid))
    assert daemons.running(NAME) is None
    assert not daemons.kill(NAME)


def test_a_broken_record_names_its_file(daemons: Daemons, layout: SandboxLayout) -> None:
    record = layout.daemons / f"{NAME}.json"
    record.write_text("{}")

    with pytest.raises(SandboxError, match=r"sleeper\.json"):
        daemons.running(NAME)

    record.unlink()
