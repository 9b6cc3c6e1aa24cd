from datetime import timedelta

from streamops.control.attendance import UNATTENDED_AFTER
from streamops.control.codec import encode_record
from streamops.control.layout import control_folder, record_address
from streamops.control.records import Body
from support.launcher import FakeDriver
from support.records import a_claim, a_record
from support.settings import a_declared_stream
from support.terminal import Terminal

LONG = UNATTENDED_AFTER + timedelta(seconds=1)


def append(terminal: Terminal, body: Body) -> None:
    """Somebody else writes to the log of orders."""
    number = terminal.state().next_number
    content = encode_record(a_record(body, number, at=terminal.clock.now()))
    terminal.storage.write(record_address(control_folder(terminal.spec().checkpoint), number), content)


def orphaned(terminal: Terminal) -> FakeDriver:
    """The driver of epoch 1 lives on, long after epoch 2 was claimed and given up."""
    driver = terminal.started()
    append(terminal, a_claim(2))
    terminal.clock.advance(LONG)
    return driver


def test_streams_that_are_looked_after_are_fine(terminal: Terminal) -> None:
    terminal.started()
    terminal.make_sound()

    answer = terminal.run("reconcile")

    assert (answer.code, answer.out, answer.err) == (0, "1 streams are as declared\n", "")


def test_a_stream_that_nobody_looks_after_is_critical(terminal: Terminal) -> None:
    terminal.started()
    terminal.clock.advance(LONG)

    answer = terminal.run("reconcile")

    assert answer.code == 4
    assert answer.out.splitlines()[2].split() == ["critical", "orders", "unattended"]
    assert "orders: unattended: unsupervised since 2026-03-01 12:00:00 UTC, the last sign of supervise" in answer.out
    assert "repair: start a supervisor again" in answer.out


def test_wrong_settings_of_a_stream_that_never_ran_are_a_warning(terminal: Terminal) -> None:
    terminal.started()
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")
    terminal.project.load(
        streams={"orders": a_declared_stream(), "returns": a_declared_stream("returns", job="jobs/none.py")}
    )

    answer = terminal.run("reconcile")

    assert answer.code == 3
    assert "returns: wrong-settings: " in answer.out
    assert "jobs/none.py" in answer.out


def test_json_has_every_fact(terminal: Terminal) -> None:
    driver = orphaned(terminal)

    answer = terminal.run("reconcile", "--json")

    assert answer.code == 4
    assert (answer.document["verdict"], answer.document["streams"]) == ("critical", 1)
    orphan = answer.document["findings"][0]
    assert (orphan["kind"], orphan["severity"], orphan["stream"]) == ("orphan-driver", "critical", "orders")
    assert orphan["processes"] == [driver.handle.process]
    assert (orphan["is_repaired"], orphan["since"]) == (False, None)
    assert orphan["checkpoint"] == terminal.spec().checkpoint


def test_looking_changes_nothing(terminal: Terminal) -> None:
    driver = orphaned(terminal)
    before = terminal.kinds()

    terminal.run("reconcile")

    assert terminal.kinds() == before
    assert driver.signals == []
    assert not (terminal.project.root / "data/state/reconcile.json").exists()


def test_act_kills_an_orphan_and_says_so(terminal: Terminal) -> None:
    driver = orphaned(terminal)

    answer = terminal.run("reconcile", "--act")

    assert driver.signals == ["kill"]
    assert terminal.kinds()[-2:] == ["act_begun", "act_ended"]
    assert terminal.records()[-1].by.actor == "reconcile"
    assert "done: epoch 1, process 1 on host-1, was killed and is gone" in answer.out
    assert answer.code == 4, "nobody looks after it all the same"


def test_act_records_an_end_and_starts_nothing(terminal: Terminal) -> None:
    """Which host a driver belongs on is for its supervisor to know."""
    terminal.launcher.end(terminal.started())
    terminal.clock.advance(LONG)

    answer = terminal.run("reconcile", "--act")

    assert answer.code == 4
    assert terminal.kinds() == ["claimed", "submitted", "driver_ended"]
    assert "done: record-end" in answer.out


def test_a_known_finding_is_shown_with_its_age(terminal: Terminal) -> None:
    terminal.started()
    terminal.clock.advance(LONG)
    terminal.run("reconcile", "--act")
    terminal.clock.advance(timedelta(minutes=12))

    answer = terminal.run("reconcile")

    assert answer.out.splitlines()[2].split() == ["critical", "orders", "unattended", "12m"]


def test_a_settings_file_that_is_wrong_as_a_whole_is_a_mistake_of_the_call(terminal: Terminal) -> None:
    terminal.project.load_text("streams: [")

    answer = terminal.run("reconcile")

    assert answer.code == 2
    assert answer.out == ""


def test_no_streams_are_no_trouble(terminal: Terminal) -> None:
    terminal.project.load(streams={})

    assert terminal.run("reconcile").code == 0
