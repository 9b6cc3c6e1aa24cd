"""Nothing that looks again and again keeps a file open or a thread alive, whether it finds what it looks for or not."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from streamops.control.layout import control_folder
from streamops.errors import StorageError, StreamOpsError
from streamops.launch.local import LocalLauncher
from streamops.reconcile import Pruner
from streamops.spec import LaunchSpec
from streamops.storage import join
from streamops.storage.address import local_path
from streamops.storage.local import LocalStorage
from streamops.supervision.supervisor import Supervisor
from support.clock import FakeClock
from support.specs import SUPERVISOR, a_stream, seconds
from support.state_root import init

LOOKS = 1000
SLEEPS = "#!/bin/sh\nexec sleep 600\n"


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


class Stand:
    """A supervisor over real files whose driver is a real process."""

    def __init__(self, root: Path) -> None:
        spark_submit = root / "spark-submit"
        spark_submit.write_text(SLEEPS)
        spark_submit.chmod(0o755)
        launch = LaunchSpec(spark_submit=str(spark_submit))
        self.spec = a_stream(checkpoint=f"file://{root}/checkpoints/orders", launch=launch)
        self.launcher = LocalLauncher()
        self.clock = FakeClock()
        self.state_root = f"file://{root}/state"
        init(LocalStorage(), self.state_root)
        self.supervisor = Supervisor(
            self.spec,
            storage=LocalStorage(),
            launcher=self.launcher,
            clock=self.clock,
            state_root=self.state_root,
            author=SUPERVISOR,
        )

    @property
    def log(self) -> Path:
        return Path(local_path(control_folder(self.spec.checkpoint)), "log")

    def end(self) -> None:
        for driver in self.launcher.living():
            if driver.control == control_folder(self.spec.checkpoint):
                self.launcher.kill(driver.handle)


@pytest.fixture
def stand(tmp_path):
    stand = Stand(tmp_path)
    yield stand
    stand.end()


def test_a_thousand_looks_leave_no_file_open_and_no_thread_behind(stand):
    stand.supervisor.settle()
    stand.supervisor.look()
    before, threads = open_files(), threading.active_count()

    for _ in range(LOOKS):
        stand.supervisor.look()
        stand.clock.advance(seconds(0.01))

    assert open_files() == before
    assert threading.active_count() <= threads


def test_nor_do_a_thousand_looks_that_fail(stand):
    stand.supervisor.settle()
    newest = max(stand.log.iterdir())
    newest.write_bytes(b"{broken")
    before = open_files()

    failed = 0
    for _ in range(LOOKS):
        with suppress(StreamOpsError):
            stand.supervisor.look()
            continue
        failed += 1

    assert failed == LOOKS
    assert open_files() == before


def test_nor_do_rounds_of_a_pruner(stand):
    stand.supervisor.settle()
    pruner = Pruner(
        storage_for=lambda address: LocalStorage(),
        launcher=stand.launcher,
        clock=stand.clock,
        state_root=stand.state_root,
    )
    pruner.run([stand.spec], patience=seconds(20))
    before = open_files()

    for _ in range(100):
        pruner.run([stand.spec], patience=seconds(20))

    assert open_files() == before


def test_a_storage_that_is_refused_everything_keeps_nothing_open(tmp_path):
    storage, root = LocalStorage(), f"file://{tmp_path}"
    storage.write(join(root, "file"), b"x")
    storage.write(join(root, "folder", "file"), b"x" * 10)
    trials = (
        lambda: storage.list(join(root, "file")),
        lambda: storage.details(join(root, "file")),
        lambda: storage.read(join(root, "gone")),
        lambda: storage.read(join(root, "folder")),
        lambda: storage.read(join(root, "folder", "file"), limit=3),
        lambda: storage.write(join(root, "file", "below"), b"x"),
        lambda: storage.write(join(root, "folder"), b"x"),
        lambda: storage.create(join(root, "file"), b"x"),
        lambda: storage.create(join(root, "folder"), b"x"),
        lambda: storage.delete(join(root, "folder")),
        lambda: storage.delete_folder(join(root, "folder")),
    )
    before = open_files()

    for trial in trials * 50:
        with pytest.raises(StorageError):
            trial()

    assert open_files() == before
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    assert os.listdir(tmp_path / "folder") == ["file"]
