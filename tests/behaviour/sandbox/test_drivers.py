"""Drivers seen and ended from outside, with real processes that carry a driver's arguments."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamops.launch.processes import live_group
from streamops_sandbox.drivers import DoubleWriterWatch, kill_drivers_below, live_drivers, live_drivers_of, parent_of

SLEEPS = "import time; time.sleep(600)"
WITH_A_CHILD = """
import subprocess, sys, time
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', *sys.argv[1:]])
time.sleep(600)
"""

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process that looks like a driver, leading a session of its own."""
    started: list[subprocess.Popen[bytes]] = []

    def driver(control: str, epoch: int, *, code: str = SLEEPS) -> "subprocess.Popen[bytes]":
        arguments = ["--control", control, "--epoch", str(epoch)]
        process = subprocess.Popen([sys.executable, "-c", code, *arguments], start_new_session=True)
        started.append(process)
        return process

    yield driver
    for process in started:
        for member in live_group(process.pid):
            os.kill(member.pid, 9)
        process.wait()


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_a_driver_is_known_by_its_arguments_with_all_of_its_group(start: Start, tmp_path: Path) -> None:
    process = start(f"file://{tmp_path}/a", 3, code=WITH_A_CHILD)

    assert eventually(lambda: sum(len(found.members) for found in live_drivers(f"file://{tmp_path}/a")) == 2)
    (driver,) = live_drivers(f"file://{tmp_path}/a")
    assert driver.identity == (3, process.pid)
    assert driver.jvm is not None
    assert driver.python is not None
    assert parent_of(driver.python.pid) == process.pid


def test_drivers_of_several_streams_are_told_apart(start: Start, tmp_path: Path) -> None:
    one, other = f"file://{tmp_path}/a", f"file://{tmp_path}/b"
    start(one, 1)
    start(other, 2)

    assert eventually(lambda: all(live_drivers_of((one, other)).values()))
    found = live_drivers_of((one, other))
    assert [[driver.epoch for driver in found[control]] for control in (one, other)] == [[1], [2]]


def test_two_drivers_of_one_stream_are_caught(start: Start, tmp_path: Path) -> None:
    control = f"file://{tmp_path}/a"
    with DoubleWriterWatch(control) as watch:
        start(control, 1)
        start(control, 2)
        assert eventually(lambda: bool(watch.pairs))

    assert watch.pairs == {(control, (1, 2))}


def test_drivers_of_different_streams_are_no_pair(start: Start, tmp_path: Path) -> None:
    controls = (f"file://{tmp_path}/a", f"file://{tmp_path}/b")
    with DoubleWriterWatch(*controls) as watch:
        for control in controls:
            start(control, 1)
        assert eventually(lambda: all(live_drivers_of(controls).values()))
        before = watch.samples
        assert eventually(lambda: watch.samples > before + 1)

    assert watch.pairs == set()


def test_only_drivers_below_the_folder_are_ended(start: Start, tmp_path: Path) -> None:
    inside, beside = f"file://{tmp_path}/a/c", f"file://{tmp_path}/ab/c"
    start(inside, 1, code=WITH_A_CHILD)
    start(beside, 1)
    assert eventually(lambda: all(live_drivers_of((inside, beside)).values()))

    kill_drivers_below(f"file://{tmp_path}/a")

    assert eventually(lambda: not live_drivers(inside))
    assert live_drivers(beside)
