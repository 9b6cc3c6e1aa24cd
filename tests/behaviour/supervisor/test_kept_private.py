"""What a start leaves on disk, with real files and a real process: for nobody else to read, and without a secret in it.

A shell script stands in for spark-submit; it tells its arguments, as an error of a job might.
"""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamops.cli.main import main
from streamops.cli.wiring import Wiring
from streamops.clock import SystemClock
from streamops.launch import FoundDriver
from streamops.launch.local import LocalLauncher
from streamops.settings import load_settings
from streamops.supervision.supervisor import Supervisor
from support.brokers import FakeBroker
from support.clock import FakeClock
from support.settings import a_declared_stream, a_project
from support.waiting import eventually

CANARY = "cAnAry7Qz"
"""In every secret place that can be declared."""
TELLING = '#!/bin/sh\necho "arguments: $*"\nset | grep -v PGPASSWORD\ntest -n "$PGPASSWORD" && echo has a password\nsleep 30\n'


class Place:
    """A project whose stream has a secret in each place where one belongs, and its supervisor."""

    def __init__(self, root: Path, **changes: Any) -> None:
        self.project = a_project(root)
        self.launcher = LocalLauncher()
        for name, content in {"password": CANARY, "token": CANARY, "hook": f"https://hooks.example/{CANARY}"}.items():
            file = self.project.root / name
            file.write_text(content)
            file.chmod(0o600)
        spark_submit = self.project.root / "spark-submit"
        spark_submit.write_text(TELLING)
        spark_submit.chmod(0o755)
        jdbc = {"url": "jdbc:postgresql://db/shop", "table": "t", "user": "me", "password_file": "password"}
        stream = a_declared_stream(
            sink={
                "jdbc": jdbc,
                "rest": {"url_file": "hook", "token_file": "token"},
                "guarantee": "at-least-once",
            },
            launch={"spark_submit": "./spark-submit", "environment": ["PGPASSWORD"]},
        )
        content = {"state_root": "data/state", "streams": {"orders": stream}, **changes}
        self.project.file.write_text(yaml.safe_dump(content))
        self._before = frozenset(self.project.root.rglob("*"))
        broker = FakeBroker(FakeClock(), trouble="no broker is there")
        self.wiring = Wiring(launcher=self.launcher, clock=SystemClock(), broker=lambda access, clock: broker)

    @property
    def written(self) -> list[Path]:
        """All that a start has made: below the state root, which a project begins with, and beside the checkpoint."""
        state, control = (self.project.root / path for path in ("data/state", "data/checkpoints/orders.streamops"))
        made = [control, *(path for root in (state, control) for path in sorted(root.rglob("*")))]
        return [path for path in made if path not in self._before]

    def start(self) -> str:
        """The driver's log, once it has told everything."""
        settings = load_settings(self.project.file)
        spec = settings.stream("orders")
        supervisor = self.wiring.supervisor(spec, state_root=settings.state_root, actor="supervise", kind=Supervisor)
        supervisor.settle()
        log = self.project.root / "data/state/logs/orders/000001.log"
        assert eventually(lambda: "has a password" in log.read_text())
        return log.read_text()

    @property
    def drivers(self) -> list[FoundDriver]:
        """Those of this place: others may run on the host."""
        root = f"file://{self.project.root}"
        return [driver for driver in self.launcher.living() if driver.control.startswith(root)]

    def end(self) -> None:
        for driver in self.drivers:
            self.launcher.kill(driver.handle)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", CANARY)
    monkeypatch.setenv("SLACK_WEBHOOK", CANARY)
    place = Place(tmp_path)
    yield place
    place.end()


def test_a_start_leaves_no_secret_in_files_arguments_log_or_answers(place, capsys):
    told = place.start()

    holding = [path for path in place.written if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert holding == []
    assert "arguments: --master" in told
    assert len(place.written) > 10
    (driver,) = place.drivers
    assert CANARY.encode() not in Path(f"/proc/{driver.handle.process.partition(':')[0]}/cmdline").read_bytes()
    for asked in (["status"], ["status", "orders", "--json"], ["history", "orders", "--json"], ["config", "check"]):
        main(["--config", str(place.project.file), *asked], wiring=place.wiring)
    shown = capsys.readouterr()
    assert "orders" in shown.out
    assert CANARY not in shown.out + shown.err


@pytest.mark.parametrize(
    ("access", "file_mode", "folder_mode"),
    [pytest.param("owner", 0o600, 0o700, id="owner"), pytest.param("group", 0o660, 0o2770, id="group")],
)
def test_a_start_leaves_nothing_that_others_may_read(tmp_path, monkeypatch, access, file_mode, folder_mode):
    monkeypatch.setenv("PGPASSWORD", CANARY)
    before = os.umask(0o022)
    place = Place(tmp_path, file_access=access)
    try:
        place.start()
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in place.written}
    finally:
        os.umask(before)
        place.end()

    assert {path: mode for path, mode in modes.items() if mode != (folder_mode if path.is_dir() else file_mode)} == {}
