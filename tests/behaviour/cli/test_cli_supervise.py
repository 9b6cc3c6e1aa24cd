import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from streamops.control.layout import record_address
from streamops.control.registry import SharedRegistry
from streamops.errors import LaunchError
from streamops.fleet.supervise_all import StreamLoop, SupervisedStream, Supervision, rest_after
from streamops.supervision.decision import Action, Decision
from support.checkpoints import write_checkpoint
from support.clock import FakeClock
from support.settings import a_declared_stream
from support.terminal import Terminal

SECOND = timedelta(seconds=1)


def eventually(claim: Callable[[], bool]) -> bool:
    """Whether it comes true within five seconds."""
    deadline = time.monotonic() + 5
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@contextmanager
def supervision(terminal: Terminal, *names: str) -> Iterator[Supervision]:
    """A supervision that runs in the background."""
    supervision = Supervision(
        terminal.project.file, terminal.wiring, names=frozenset(names), interval=timedelta(milliseconds=20)
    )
    thread = threading.Thread(target=supervision.run)
    thread.start()
    try:
        yield supervision
    finally:
        supervision.end("the test")
        thread.join(5)
        assert not thread.is_alive()


def drivers(terminal: Terminal) -> int:
    return len(terminal.launcher.drivers)


def test_once_starts_what_is_declared_and_shows_it(terminal: Terminal) -> None:
    terminal.declare("orders", "returns")

    answer = terminal.run("supervise", "--once", "--json")

    assert answer.code == 0
    assert [status["phase"] for status in answer.document["streams"]] == ["starting", "starting"]
    assert terminal.kinds("orders") == terminal.kinds("returns") == ["claimed", "submitted"]
    assert terminal.records()[0].by.actor == "supervise"
    assert "stream=orders is starting, epoch=1" in answer.err


def test_once_again_changes_nothing(terminal: Terminal) -> None:
    terminal.run("supervise", "--once")

    assert terminal.run("supervise", "--once").code == 0
    assert drivers(terminal) == 1


def test_once_fails_when_a_stream_could_not_be_settled_and_settles_the_others(terminal: Terminal) -> None:
    terminal.declare("orders", "returns")
    control = f"{terminal.spec('orders').checkpoint}.streamops"
    terminal.storage.write(record_address(control, 0), b"{half")

    answer = terminal.run("supervise", "--once")

    assert answer.code == 1
    assert "WARNING stream=orders can't be looked after now: file://" in answer.err
    assert terminal.kinds("returns") == ["claimed", "submitted"]


def test_once_tells_wrong_settings(terminal: Terminal) -> None:
    terminal.project.load(
        streams={"orders": a_declared_stream(), "returns": a_declared_stream("returns", job="jobs/none.py")}
    )

    answer = terminal.run("supervise", "--once")

    assert answer.code == 2
    assert "stream=returns wrong settings" in answer.err
    assert drivers(terminal) == 1


def test_only_the_named_streams_are_supervised(terminal: Terminal) -> None:
    terminal.declare("orders", "returns")

    terminal.run("supervise", "returns", "--once")

    assert terminal.kinds("orders") == []
    assert terminal.kinds("returns") == ["claimed", "submitted"]


def test_a_name_that_is_not_declared_is_a_mistake(terminal: Terminal) -> None:
    assert terminal.run("supervise", "order").code == 2


def test_sigterm_ends_the_supervision_and_not_the_streams(terminal: Terminal) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def end() -> None:
        eventually(lambda: drivers(terminal) == 1)
        os.kill(os.getpid(), signal.SIGTERM)

    ends = threading.Thread(target=end)
    ends.start()

    answer = terminal.run("supervise", "--interval", "20ms")
    ends.join()

    assert answer.code == 0
    assert "SIGTERM: supervision has ended, 1 streams are left as they are" in answer.err
    assert terminal.launcher.alive
    assert terminal.launcher.drivers[0].signals == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_driver_that_dies_is_replaced(terminal: Terminal) -> None:
    with supervision(terminal):
        assert eventually(lambda: drivers(terminal) == 1)
        terminal.fail()
        assert eventually(lambda: "driver_ended" in terminal.kinds())
        terminal.clock.advance(terminal.spec().restart.initial_delay)
        assert eventually(lambda: drivers(terminal) == 2)


def test_a_new_stream_in_the_settings_is_picked_up(terminal: Terminal) -> None:
    with supervision(terminal):
        assert eventually(lambda: drivers(terminal) == 1)
        terminal.declare("orders", "returns")
        assert eventually(lambda: drivers(terminal) == 2)


def test_a_stream_that_left_the_settings_is_supervised_on_until_it_is_stopped(
    terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    terminal.declare("orders", "returns")
    terminal.run("supervise", "--once")
    requests = terminal.requests("returns")
    with supervision(terminal):
        terminal.declare("orders")
        assert eventually(lambda: "left the settings without being stopped" in caplog.text)
        for driver in terminal.launcher.alive:
            terminal.launcher.end(driver)
        assert eventually(lambda: bool(terminal.clock.advance(SECOND)) or len(terminal.launcher.alive) == 2)
        requests.stop("not needed any more")
        for driver in terminal.launcher.alive:
            terminal.launcher.end(driver)
        assert eventually(lambda: bool(terminal.clock.advance(SECOND)) or len(terminal.launcher.alive) == 1)

    assert caplog.text.count("left the settings without being stopped") == 1


def restarted(terminal: Terminal) -> bool:
    """Whether a second driver is there; each look is a second later."""
    terminal.clock.advance(timedelta(seconds=1))
    return drivers(terminal) == 2


def test_a_wrong_new_declaration_does_not_disarm_what_runs(
    terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with supervision(terminal):
        assert eventually(lambda: drivers(terminal) == 1)
        terminal.project.load(streams={"orders": a_declared_stream(job="jobs/none.py")})
        assert eventually(lambda: "supervised as it was declared before" in caplog.text)
        terminal.launcher.end(terminal.launcher.drivers[0])
        assert eventually(lambda: "epoch 1 has ended" in caplog.text)


def test_a_file_that_is_broken_meanwhile_leaves_the_settings_in_force(
    terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with supervision(terminal):
        assert eventually(lambda: drivers(terminal) == 1)
        terminal.project.load_text("streams: [")
        assert eventually(lambda: "the settings before stay in force" in caplog.text)
        terminal.launcher.end(terminal.launcher.drivers[0])
        assert eventually(lambda: restarted(terminal))


def test_a_changed_declaration_is_what_the_next_driver_gets(terminal: Terminal) -> None:
    with supervision(terminal):
        assert eventually(lambda: drivers(terminal) == 1)
        terminal.declare("orders", launch={"master": "local[7]"})
        terminal.launcher.end(terminal.launcher.drivers[0])
        assert eventually(lambda: restarted(terminal))

    request = terminal.launcher.drivers[1].request
    assert request is not None
    assert request.master == "local[7]"


def test_trouble_with_one_stream_is_told_once_and_stops_no_other(
    terminal: Terminal, caplog: pytest.LogCaptureFixture
) -> None:
    terminal.declare("orders", "returns")
    control = f"{terminal.spec('orders').checkpoint}.streamops"
    terminal.storage.write(record_address(control, 0), b"{half")

    with supervision(terminal):
        assert eventually(lambda: "stream=orders can't be looked after now" in caplog.text)
        assert eventually(lambda: drivers(terminal) == 1)
        time.sleep(0.1)

    assert caplog.text.count("stream=orders can't be looked after now") == 1
    assert terminal.kinds("returns") == ["claimed", "submitted"]


@pytest.fixture
def loop(terminal: Terminal) -> StreamLoop:
    declared = SupervisedStream(spec=terminal.spec(), state_root=terminal.project.address("data/state"))
    return StreamLoop(declared, terminal.wiring, interval=timedelta(seconds=2), registry=SharedRegistry(terminal.clock))


def test_a_stream_in_trouble_is_asked_less_and_less_often(terminal: Terminal, loop: StreamLoop) -> None:
    terminal.started()
    terminal.launcher.poll_error = LaunchError("the manager does not answer")

    rests = []
    for _ in range(6):
        assert not loop.turn()
        rests.append(loop.rest.total_seconds())

    assert rests == [4, 8, 16, 30, 30, 30]


def test_when_the_trouble_is_over_the_pace_is_as_before(
    terminal: Terminal, loop: StreamLoop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    terminal.started()
    terminal.launcher.poll_error = LaunchError("the manager does not answer")
    loop.turn()
    terminal.launcher.poll_error = None

    assert loop.turn()
    assert loop.rest == timedelta(seconds=2)
    assert "stream=orders is looked after again" in caplog.text


def test_a_change_is_one_line_and_a_batch_is_no_change(
    terminal: Terminal, loop: StreamLoop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    terminal.started(batch=1)
    for batch in range(1, 5):
        terminal.beat(sequence=batch, batch=batch)
        loop.turn()

    assert [record.message for record in caplog.records if "stream=orders is " in record.message] == [
        "stream=orders is running, epoch=1: epoch 1 is running, batch 1"
    ]


def test_a_parked_stream_is_a_warning(terminal: Terminal, loop: StreamLoop, caplog: pytest.LogCaptureFixture) -> None:
    write_checkpoint(terminal.storage, terminal.spec().checkpoint, planned=[0, 1], committed=[0, 1])

    loop.turn()

    assert [record.levelname for record in caplog.records if "is parked" in record.message] == ["WARNING"]


@pytest.mark.parametrize(
    ("until", "rest"),
    [
        pytest.param(None, 2.0, id="nothing has a date"),
        pytest.param(60.0, 2.0, id="a long wait: somebody may ask for something meanwhile"),
        pytest.param(1.5, 1.5, id="a short wait ends in time"),
        pytest.param(-5.0, 0.1, id="a date in the past is no busy loop"),
    ],
)
def test_the_rest_between_two_looks(until: float | None, rest: float) -> None:
    clock = FakeClock()
    ends = None if until is None else clock.now() + timedelta(seconds=until)
    decision = Decision(action=Action.WAIT, reason="", until=ends)

    assert rest_after(decision, interval=timedelta(seconds=2), clock=clock).total_seconds() == rest


def leftovers(terminal: Terminal) -> list[str]:
    return sorted(os.listdir(terminal.project.root / "data/state/logs/orders"))


def old_epochs(terminal: Terminal) -> None:
    """A stopped stream with three epochs that ended long ago, two of which are to be kept."""
    terminal.declare("orders", keep={"epochs": 2, "days": 0})
    for _ in range(3):
        terminal.started()
        log = terminal.project.root / f"data/state/logs/orders/{terminal.newest().number:06d}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("x")
        os.utime(log, (0, 0))
        terminal.fail()
        terminal.settle()
        terminal.clock.advance(timedelta(minutes=10))
    terminal.requests().stop("for the test")


def test_without_airflow_the_supervision_prunes(terminal: Terminal) -> None:
    old_epochs(terminal)
    terminal.clock.set_wall(datetime.now(UTC) + timedelta(days=1))

    with supervision(terminal):
        assert eventually(lambda: leftovers(terminal) == ["000002.log", "000003.log"])


def test_one_round_of_it_prunes_as_well(terminal: Terminal) -> None:
    old_epochs(terminal)
    terminal.clock.set_wall(datetime.now(UTC) + timedelta(days=1))

    terminal.run("supervise", "--once")

    assert leftovers(terminal) == ["000002.log", "000003.log"]
