"""The last guard: when it is overdue, and that it really kills. Its victims are processes of their own."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest

from streamops.spark.lease import DriverProcesses, Watchdog
from support.clock import FakeClock
from support.specs import seconds

HALT = seconds(30)

GUARDED = """
import sys, threading
from datetime import timedelta
from streamops.clock import SystemClock
from streamops.spark.lease import DriverProcesses, Watchdog

kill = DriverProcesses(int(sys.argv[1])).kill
watchdog = Watchdog(clock=SystemClock(), halt=timedelta(seconds=float(sys.argv[2])), kill=kill)
# Before it: a tenth of a second later nothing may be printed any more.
print("guarded", flush=True)
watchdog.start()
{then}
threading.Event().wait(60)
"""


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def watchdog(clock):
    return Watchdog(clock=clock, halt=HALT, kill=lambda: None)


@pytest.fixture
def sleeper():
    """Starts processes that sleep, and ends them after the test."""
    started = []

    def start() -> subprocess.Popen:
        started.append(subprocess.Popen(["sleep", "60"]))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def guarded():
    """Starts a Python that a watchdog guards, with another process as its JVM."""
    started = []

    def start(jvm: subprocess.Popen, *, halt: float, then: str = "") -> subprocess.Popen:
        code = GUARDED.format(then=then)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(jvm.pid), str(halt)], env=environment, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "guarded\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


# When it is overdue


def test_it_counts_from_its_making(watchdog, clock):
    clock.advance(HALT)
    assert not watchdog.is_overdue()

    clock.advance(timedelta(milliseconds=1))
    assert watchdog.is_overdue()


def test_a_beat_counts_from_its_start_not_from_its_answer(watchdog, clock):
    started = clock.monotonic()
    clock.advance(seconds(20))

    watchdog.acknowledge(started)

    clock.advance(seconds(11))
    assert watchdog.is_overdue()


def test_an_acknowledged_beat_gives_the_whole_halt_time_again(watchdog, clock):
    clock.advance(seconds(29))
    watchdog.acknowledge(clock.monotonic())

    clock.advance(HALT)
    assert not watchdog.is_overdue()


def test_a_jump_of_the_wall_clock_means_nothing(watchdog, clock):
    clock.set_wall(clock.now() + timedelta(days=1))

    assert not watchdog.is_overdue()


# That it kills


def test_an_overdue_driver_is_killed_jvm_and_python(sleeper, guarded):
    jvm = sleeper()
    python = guarded(jvm, halt=0.1)

    assert python.wait(30) == -signal.SIGKILL
    assert jvm.wait(30) == -signal.SIGKILL


def test_a_jvm_that_stands_still_is_killed_all_the_same(sleeper, guarded):
    """py4j would wait for it for ever."""
    jvm = sleeper()
    os.kill(jvm.pid, signal.SIGSTOP)
    guarded(jvm, halt=0.1)

    assert jvm.wait(30) == -signal.SIGKILL


def test_a_python_whose_main_thread_is_stuck_is_killed_all_the_same(sleeper, guarded):
    python = guarded(sleeper(), halt=0.1, then="while True: pass")

    assert python.wait(30) == -signal.SIGKILL


def test_a_driver_that_beats_is_left_alone(sleeper, guarded):
    beat_for_a_while = """
clock = SystemClock()
for _ in range(40):
    watchdog.acknowledge(clock.monotonic())
    threading.Event().wait(0.05)
print("still here", flush=True)
watchdog.stand_down()
"""
    jvm = sleeper()
    python = guarded(jvm, halt=1.5, then=beat_for_a_while)

    assert python.stdout.readline() == "still here\n"
    assert jvm.poll() is None


def test_a_watchdog_that_stood_down_kills_nobody(sleeper, guarded):
    outlive = 'watchdog.stand_down()\nthreading.Event().wait(1.2)\nprint("still here", flush=True)'
    jvm = sleeper()
    python = guarded(jvm, halt=0.9, then=outlive)

    assert python.stdout.readline() == "still here\n"
    assert jvm.poll() is None


def test_a_jvm_that_is_gone_does_not_save_its_python(sleeper, guarded):
    jvm = sleeper()
    python = guarded(jvm, halt=0.9)
    jvm.kill()
    jvm.wait()

    assert python.wait(30) == -signal.SIGKILL


# That it kills nobody else

REUSED = """
import os, subprocess, sys
from pathlib import Path
from streamops.spark.lease import DriverProcesses

jvm = subprocess.Popen(["sleep", "60"])
processes = DriverProcesses(jvm.pid)
jvm.kill()
jvm.wait()
Path("/proc/sys/kernel/ns_last_pid").write_text(str(jvm.pid - 1))
stranger = subprocess.Popen(["sleep", "60"])
print("reused" if stranger.pid == jvm.pid else f"{jvm.pid} was not given out again", flush=True)
processes.kill_jvm()
stranger.terminate()
print(stranger.wait())
"""
"""In a pid namespace of its own nobody else takes numbers, and the kernel can be told which one comes next."""


def test_a_process_that_was_given_the_number_of_an_ended_jvm_is_left_alone():
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", REUSED]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if os.geteuid() != 0:
        pytest.skip("only root may make a pid namespace and say which number comes next")
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if "unshare failed" in done.stderr or "ns_last_pid" in done.stderr:
        pytest.skip(f"the kernel refuses: {done.stderr.strip().splitlines()[-1]}")

    assert done.stdout.splitlines() == ["reused", str(-signal.SIGTERM)], done.stderr


def test_where_the_system_has_no_pidfd_the_number_has_to_do_and_the_log_says_so(sleeper, monkeypatch, caplog):
    monkeypatch.delattr(os, "pidfd_open")
    jvm = sleeper()

    DriverProcesses(jvm.pid).kill_jvm()

    assert jvm.wait(30) == -signal.SIGKILL
    assert "no pidfd of the JVM" in caplog.text
