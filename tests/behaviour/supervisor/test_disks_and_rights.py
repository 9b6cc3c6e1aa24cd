"""A disk that is full and files that may not be read any more, for real: told as they are, and all goes on afterwards.

Mounts need the right to mount, another uid needs root: without them these tests are skipped.
"""

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from streamops.control.drivers import read_traces
from streamops.control.layout import control_folder
from streamops.control.records import Author
from streamops.control.snapshot import load_state
from streamops.errors import StreamOpsError
from streamops.storage.local import LocalStorage
from streamops.supervision.decision import Action
from streamops.supervision.supervisor import Supervisor
from streamops_sandbox.chaos import mounts
from support.clock import FakeClock
from support.launcher import FakeLauncher
from support.specs import TIMINGS, a_stream, seconds
from support.state_root import init
from support.world import World

NOBODY = 65534


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    if why := mounts.why_no_mounts(tmp_path / "probe"):
        pytest.skip(why)
    disk = tmp_path / "disk"
    mounts.mount_small_disk(disk)
    yield disk
    mounts.keep_and_unmount(tmp_path)


def a_world(state_root: Path, checkpoints: Path) -> World:
    """The real supervisor over real files, with a driver that keeps the real lease on them."""
    world = World(state_root, spec=a_stream(checkpoint=f"file://{checkpoints}/orders"))
    world.storage = LocalStorage()
    return world


@pytest.mark.parametrize("what", ["state root", "checkpoint", "both"])
def test_a_stream_outlives_a_full_disk_or_comes_back_when_there_is_room(disk, tmp_path, what):
    elsewhere = tmp_path / "elsewhere"
    state_root = elsewhere if what == "checkpoint" else disk / "state"
    checkpoints = elsewhere if what == "state root" else disk / "checkpoints"
    world = a_world(state_root, checkpoints)
    supervisor = world.supervisor()
    supervisor.settle()
    world.run(seconds(30), supervisor)
    done = len(world.writes)
    assert done

    with mounts.full(disk):
        world.run_through_trouble(TIMINGS.halt + seconds(60), supervisor)
        is_kept = bool(world.alive)

    decision = world.run(seconds(1800), supervisor)

    # Under the state root lie signs and logs, which no driver waits for; without its beat it must not live on.
    assert is_kept is (what == "state root")
    assert decision.action is Action.KEEP
    assert len(world.writes) > done + 10
    batches = [batch for _, batch in world.writes]
    assert sorted(set(batches)) == list(range(max(batches) + 1))
    assert load_state(world.storage, world.control).contradictions == 0
    leftovers = [name for folder in (disk, elsewhere) for name in folder.rglob("*.tmp")]
    assert leftovers == []


def test_a_stream_that_is_first_started_on_a_full_disk_starts_when_there_is_room(disk, tmp_path):
    world = a_world(tmp_path / "state", disk / "checkpoints")
    supervisor = world.supervisor()

    with mounts.full(disk), pytest.raises(StreamOpsError, match=r"space|ENOSPC"):
        supervisor.settle()

    decision = world.run(seconds(60), supervisor)
    assert decision.action is Action.KEEP
    assert world.driver.epoch == 1


# Rights


def as_nobody(work: Callable[[], Any]) -> Any:
    """What the work returns, done by a process of a user to whom rights mean something."""
    with tempfile.TemporaryFile() as answer:
        pid = os.fork()
        if pid == 0:
            with suppress(BaseException):
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                answer.write(pickle.dumps(work()))
                answer.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        answer.seek(0)
        return pickle.loads(answer.read())


@pytest.fixture
def shared(tmp_path_factory) -> Iterator[Path]:
    """A folder below which another user may do as they like."""
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


def a_supervisor(root: Path, launcher: FakeLauncher, clock: FakeClock) -> Supervisor:
    return Supervisor(
        a_stream(checkpoint=f"file://{root}/checkpoints/orders"),
        storage=LocalStorage(),
        launcher=launcher,
        clock=clock,
        state_root=f"file://{root}/state",
        author=Author(actor="supervise", host="host-1", pid=1),
    )


@pytest.mark.parametrize("what", ["control folder", "log", "newest record", "drivers"])
def test_rights_that_are_taken_away_are_no_end_and_no_new_stream_and_all_goes_on_when_they_are_back(shared, what):
    """A look fails or keeps the driver: nothing is claimed, recorded or killed while nobody can read."""
    control = Path(f"{shared}/checkpoints/orders.streamops")

    def work() -> dict[str, Any]:
        launcher, clock = FakeLauncher(), FakeClock()
        init(LocalStorage(), f"file://{shared}/state")
        supervisor = a_supervisor(shared, launcher, clock)
        supervisor.settle()
        (control / "drivers").mkdir(exist_ok=True)
        places = {
            "control folder": control,
            "log": control / "log",
            "newest record": max((control / "log").iterdir()),
            "drivers": control / "drivers",
        }
        place, mode = places[what], places[what].stat().st_mode & 0o777
        place.chmod(0)
        troubles, actions = [], []
        for fresh in (False, True):
            looker = a_supervisor(shared, launcher, clock) if fresh else supervisor
            for _ in range(3):
                clock.advance(seconds(20))
                try:
                    actions.append(str(looker.settle().action))
                except StreamOpsError as error:
                    troubles.append(str(error))
        place.chmod(mode)
        records = len(list((control / "log").iterdir()))
        again = supervisor.settle()
        return {
            "troubles": troubles,
            "actions": actions,
            "records": records,
            "again": str(again.action),
            "drivers": len(launcher.drivers),
            "alive": len(launcher.alive),
        }

    told = as_nobody(work)

    assert set(told["actions"]) <= {Action.KEEP, Action.WAIT}
    assert told["troubles"], "somebody has to be told"
    assert all("Permission denied" in trouble for trouble in told["troubles"])
    assert (told["records"], told["drivers"], told["alive"]) == (2, 1, 1)
    assert told["again"] == Action.KEEP
    assert read_traces(LocalStorage(), control_folder(f"file://{shared}/checkpoints/orders"), 1) == ()
