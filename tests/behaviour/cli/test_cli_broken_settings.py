"""A settings file that breaks, or loses a stream by mistake, stops no stream and leaves none alone."""

import json
import shutil
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from streamops.control.layout import control_folder
from streamops.control.snapshot import load_state
from streamops.fleet.supervise_all import Supervision
from streamops.settings import Settings, in_force, settings_in_force
from streamops.settings.last_good import kept_address
from streamops.storage.address import local_path
from support.settings import a_declared_stream
from support.terminal import Terminal
from support.waiting import eventually

BROKEN = [
    pytest.param("state_root: data/state\nstreams:\n  orders:\n    job: x\n   trigger: y\n", id="a wrong indentation"),
    pytest.param("state_root: data/sta", id="half written, in the middle of the state root"),
    pytest.param("", id="empty"),
    pytest.param("state_root: data/state\nstreams:\n", id="no streams under streams"),
    pytest.param("state_root: data/state\nstraems: {}\n", id="a name that is mistyped"),
]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where this host keeps its notes."""
    monkeypatch.delenv("AIRFLOW_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def running(terminal: Terminal) -> Terminal:
    """Two streams run, and their declarations are kept."""
    terminal.declare("orders", "returns")
    terminal.run("supervise", "--once")
    terminal.run("supervise", "--once")
    return terminal


def in_force_now(terminal: Terminal, *, keep: bool = True) -> Settings:
    return settings_in_force(terminal.project.file, keep=keep, clock=terminal.clock)


def names(settings: Settings) -> list[str]:
    return sorted(spec.name for spec in settings.streams)


def specs_before(terminal: Terminal) -> dict[str, object]:
    return {spec.name: spec for spec in in_force_now(terminal).streams}


def all_end(terminal: Terminal) -> None:
    """Every driver dies."""
    for driver in terminal.launcher.alive:
        terminal.launcher.end(driver)


# The file as a whole


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_leaves_every_stream_as_it_was_declared_last(running: Terminal, text: str) -> None:
    before = specs_before(running)
    running.project.file.write_text(text)

    found = in_force_now(running)

    assert {spec.name: spec for spec in found.streams} == before
    assert found.state_root == running.project.address("data/state")
    assert {problem.stream for problem in found.errors} == {""}
    assert [kept.name for kept in found.kept] == ["orders", "returns"]


def test_so_does_one_that_is_gone_or_may_not_be_read(running: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    running.project.file.rename(running.project.file.with_suffix(".away"))
    assert names(in_force_now(running)) == ["orders", "returns"]

    def refuse(path: Path, **options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    found = in_force_now(running)
    assert names(found) == ["orders", "returns"]
    assert "permission denied" in str(found.errors[0])


def test_so_does_one_on_a_mount_that_hangs_and_that_costs_one_thread(
    running: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = in_force_now(running)
    answers = threading.Event()
    monkeypatch.setattr(in_force, "PATIENCE", timedelta(seconds=0.05))
    monkeypatch.setattr(Path, "read_text", lambda path, **options: answers.wait(60) and "")
    threads = threading.active_count()
    try:
        for _ in range(5):
            found = in_force_now(running)
            assert found.streams == before.streams
            assert "no answer within" in str(found.errors[0])
        assert threading.active_count() <= threads + 1
    finally:
        answers.set()


def test_a_fresh_container_finds_the_kept_version_by_what_is_left_of_the_file(running: Terminal, home: Path) -> None:
    for note in (home / "streamops").iterdir():
        note.unlink()
    running.project.file.write_text("state_root: data/state\nstreams: [")

    assert names(in_force_now(running, keep=False)) == ["orders", "returns"]


def test_where_nothing_was_ever_kept_there_is_nothing_in_force(terminal: Terminal) -> None:
    terminal.project.file.write_text("streams: [")

    assert in_force_now(terminal).state_root == ""
    assert terminal.run("status").code == 2


def test_a_state_root_without_its_mark_may_be_a_mount_that_is_away_and_gets_nothing(terminal: Terminal) -> None:
    shutil.rmtree(terminal.project.root / "data")

    assert names(in_force_now(terminal)) == ["orders"]

    assert not (terminal.project.root / "data").exists()


def test_a_job_or_a_jar_that_is_gone_as_well_takes_no_stream_away(running: Terminal) -> None:
    """A start would fail, and says so; a stop or the record of an end must not."""
    (running.project.root / "jobs" / "orders.py").unlink()

    found = in_force_now(running)

    assert names(found) == ["orders", "returns"]
    assert "jobs/orders.py" in str(found.errors[0])


def test_a_kept_version_is_that_of_its_file_and_holds_variables_filled_in(
    running: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARALLEL", "local[3]")
    running.declare("orders", launch={"master": "${PARALLEL}", "conf": {"spark.app.note": "$${plain}"}})
    before = in_force_now(running)
    monkeypatch.delenv("PARALLEL")

    found = in_force_now(running)

    assert {*before.streams} == {*found.streams}
    assert found.stream("orders").launch.master == "local[3]"
    assert found.stream("orders").launch.conf == (("spark.app.note", "${plain}"),)


def test_a_kept_version_that_is_damaged_is_told_and_no_more(
    running: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    address = kept_address(running.project.address("data/state"), running.project.file)
    Path(str(local_path(address))).write_text('{"path": 7}')

    assert names(in_force_now(running)) == ["orders", "returns"]
    assert "its last good version can't be read" in caplog.text
    running.project.file.write_text("streams: [")
    assert in_force_now(running).state_root == ""


# One stream


def test_a_stream_that_is_declared_wrongly_goes_on_with_its_own_last_good_declaration(running: Terminal) -> None:
    before = specs_before(running)
    wrong = a_declared_stream("orders", job="jobs/none.py")
    running.project.load(streams={"orders": wrong, "returns": a_declared_stream("returns", metrics=True)})

    found = in_force_now(running)

    assert found.stream("orders") == before["orders"]
    assert found.stream("returns").metrics
    assert [(problem.stream, problem.place) for problem in found.errors] == [("orders", "streams.orders.job")]


def test_a_declaration_that_is_mended_counts_again(running: Terminal) -> None:
    running.project.load(streams={"orders": a_declared_stream(job="jobs/none.py")})
    in_force_now(running)
    running.declare("orders", "returns", metrics=True)

    found = in_force_now(running)

    assert (found.errors, found.kept) == ((), ())
    assert all(spec.metrics for spec in found.streams)


def test_the_last_good_declaration_has_a_date_that_stays(running: Terminal) -> None:
    running.clock.advance(timedelta(hours=1))
    running.project.load(
        streams={"orders": a_declared_stream(job="jobs/none.py"), "returns": a_declared_stream("returns", metrics=True)}
    )
    in_force_now(running)
    running.clock.advance(timedelta(hours=1))

    (kept,) = in_force_now(running).kept

    assert (kept.name, kept.has_left) == ("orders", False)
    assert kept.since == in_force_now(running).kept[0].since


def test_a_stream_that_takes_what_a_kept_one_has_is_refused(running: Terminal) -> None:
    """Renamed in the file: the old one may be running."""
    renamed = a_declared_stream("returns") | {"description": "renamed"}
    running.project.load(streams={"orders": a_declared_stream("orders"), "refunds": renamed})

    found = in_force_now(running)

    assert names(found) == ["orders", "returns"]
    assert {problem.stream for problem in found.errors} == {"refunds", "returns"}
    assert "the checkpoint of returns" in "".join(map(str, found.errors))


# A stream that leaves the file


def test_a_stream_that_left_without_a_stop_is_supervised_on_and_told(running: Terminal) -> None:
    before = specs_before(running)
    running.declare("orders")

    found = in_force_now(running)

    assert found.stream("returns") == before["returns"]
    assert [(kept.name, kept.has_left) for kept in found.kept] == [("returns", True)]
    (problem,) = found.errors
    assert problem.stream == "returns"
    assert "left the settings without being stopped" in str(problem)
    assert "streamops stop returns --reason" in str(problem)


def test_its_driver_is_replaced(running: Terminal) -> None:
    control = control_folder(running.spec("returns").checkpoint)
    running.declare("orders")
    all_end(running)

    for _ in range(3):
        running.run("supervise", "--once")
        running.clock.advance(timedelta(minutes=2))

    newest = load_state(running.storage, control).newest
    assert newest is not None
    assert (newest.number, newest.is_open) == (2, True)


def test_commands_tell_of_it(running: Terminal) -> None:
    running.declare("orders")

    status, check = running.run("status"), running.run("config", "check", "--json")

    assert "returns" in status.out
    assert "left the settings without being stopped" in status.out
    assert check.code == 2
    assert [kept["name"] for kept in check.document["kept"]] == ["returns"]


def test_the_reconciler_tells_of_it_as_critical(running: Terminal) -> None:
    running.declare("orders")

    found = running.run("reconcile", "--json").document["findings"]

    assert ("returns", "left-settings", "critical") in {(one["stream"], one["kind"], one["severity"]) for one in found}


def test_it_leaves_for_good_when_it_was_stopped(running: Terminal) -> None:
    checkpoint = running.spec("returns").checkpoint
    running.declare("orders")

    stopped = running.run("stop", "returns", "--reason", "not needed any more", "--yes")

    assert stopped.code == 0, stopped.err
    assert "left the settings" in stopped.err
    assert names(in_force_now(running)) == ["orders", "returns"]  # Its driver is still to be seen off.
    all_end(running)
    running.run("supervise", "--once")
    found = in_force_now(running)
    assert (names(found), found.errors, found.kept) == (["orders"], (), ())
    assert checkpoint not in json.dumps(kept_streams(running))


def test_one_whose_kept_declaration_this_release_refuses_is_told(running: Terminal) -> None:
    address = Path(str(local_path(kept_address(running.project.address("data/state"), running.project.file))))
    address.write_text(address.read_text().replace('"returns":{', '"returns":{"retired_setting":1,', 1))
    running.declare("orders")

    for _ in range(2):
        found = in_force_now(running)
        assert names(found) == ["orders"]
        assert [(problem.stream, problem.place) for problem in found.errors] == [
            ("returns", "streams.returns.retired_setting")
        ]


def test_kept_streams_follow_the_sections_of_the_file(running: Terminal) -> None:
    running.declare("orders")
    running.project.file.write_text(f"namespace: team_b\n{running.project.file.read_text()}")

    assert {spec.namespace for spec in in_force_now(running).streams} == {"team_b"}


def test_one_that_was_never_begun_leaves_at_once(running: Terminal) -> None:
    running.declare("orders", "returns", "refunds")
    in_force_now(running)
    running.declare("orders", "returns")

    assert names(in_force_now(running)) == ["orders", "returns"]


def test_one_whose_log_can_not_be_read_stays(running: Terminal) -> None:
    log_folder = Path(str(local_path(running.spec("returns").checkpoint + ".streamops"))) / "log"
    running.declare("orders")
    for record in log_folder.iterdir():
        record.write_text("{half")

    assert names(in_force_now(running)) == ["orders", "returns"]


def kept_streams(terminal: Terminal) -> dict[str, object]:
    address = kept_address(terminal.project.address("data/state"), terminal.project.file)
    return dict(json.loads(Path(str(local_path(address))).read_text())["streams"])


# Supervision without Airflow


def test_a_supervisor_that_begins_with_a_broken_file_supervises_what_was_declared_last(running: Terminal) -> None:
    running.project.file.write_text("streams: [")
    all_end(running)
    supervision = Supervision(
        running.project.file, running.wiring, names=frozenset(), interval=timedelta(milliseconds=20)
    )
    thread = threading.Thread(target=supervision.run)
    thread.start()
    try:
        assert eventually(lambda: running.clock.advance(timedelta(seconds=1)) or len(running.launcher.alive) == 2)
    finally:
        supervision.end("the test")
        thread.join(5)
    assert str(supervision.problems[0]).startswith(f"{running.project.file}: found line")


def test_status_shows_all_streams_and_the_fault_while_the_file_is_broken(running: Terminal) -> None:
    running.project.file.write_text("streams: [")

    status = running.run("status", "--json")

    assert [stream["stream"] for stream in status.document["streams"]] == ["orders", "returns"]
    assert [problem["stream"] for problem in status.document["problems"]] == [""]
    assert "what was declared last is in force" in status.err
