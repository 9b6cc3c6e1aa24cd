import threading
from dataclasses import replace
from datetime import timedelta

from streamops.control.layout import record_address
from streamops.control.records import DriverHandle
from streamops.errors import LaunchError
from streamops.launch import DriverStatus
from support.checkpoints import write_checkpoint
from support.launcher import FakeLauncher
from support.settings import a_declared_stream
from support.terminal import Terminal

ORDERS = "orders"


def phases(terminal: Terminal, *argv: str) -> dict[str, str]:
    document = terminal.run("status", "--json", *argv).document
    return {status["stream"]: status["phase"] for status in document["streams"]}


def test_a_running_stream_is_fine(terminal: Terminal) -> None:
    terminal.started(batch=41)
    terminal.clock.advance(timedelta(seconds=4))

    answer = terminal.run("status")

    assert answer.code == 0
    assert answer.out.splitlines()[2].split() == ["orders", "running", "1", "41", "4s", "ago", "running", "0", "10"]
    assert answer.err == ""


def test_json_has_every_fact(terminal: Terminal) -> None:
    terminal.started(batch=41)

    (status,) = terminal.run("status", "--json").document["streams"]

    assert status["phase"] == "running"
    assert status["beat_at"] == terminal.clock.now().isoformat()
    assert status["beat_age"] == 0.0
    assert status["running_spec"] == status["declared_spec"]
    assert status["is_declared_differently"] is False
    assert status["host"] == "host-1"


def test_looking_changes_nothing(terminal: Terminal) -> None:
    terminal.started()
    terminal.fail()
    before = terminal.records()

    assert phases(terminal) == {ORDERS: "waiting"}

    assert terminal.records() == before
    assert not (terminal.project.root / "data/checkpoints/orders").exists()


def test_a_new_stream_is_a_warning(terminal: Terminal) -> None:
    answer = terminal.run("status")

    assert answer.code == 3
    assert "a supervisor's next step is claim; when this stays, nobody supervises the stream" in answer.out


def test_a_stream_stopped_on_purpose_is_fine(terminal: Terminal) -> None:
    driver = terminal.started()
    terminal.run("stop", ORDERS, "--reason", "upgrade", "--yes")
    terminal.launcher.end(driver)
    terminal.settle()

    answer = terminal.run("status")

    assert answer.code == 0
    assert "stopped" in answer.out
    assert ": upgrade" in answer.out


def test_back_off_is_a_warning_with_the_error_and_the_next_attempt(terminal: Terminal) -> None:
    terminal.started()
    terminal.fail(text="KafkaException: no broker")
    terminal.settle()

    answer = terminal.run("status")

    assert answer.code == 3
    assert "12:00:15 UTC" in answer.out
    assert "orders: epoch 1 ended: failed: KafkaException: no broker" in answer.out


def test_a_parked_stream_is_critical(terminal: Terminal) -> None:
    write_checkpoint(terminal.storage, terminal.spec().checkpoint, planned=[0, 1], committed=[0, 1])
    terminal.settle()

    answer = terminal.run("status")

    assert answer.code == 4
    assert phases(terminal) == {ORDERS: "parked"}
    assert "streamops adopt orders" in answer.out


def test_a_driver_that_can_not_be_seen_from_here_is_unknown(terminal: Terminal) -> None:
    terminal.launcher.hide(terminal.started())

    assert terminal.run("status").code == 4
    assert phases(terminal) == {ORDERS: "unknown"}


def test_trouble_with_one_stream_hides_no_other(terminal: Terminal) -> None:
    terminal.declare("orders", "returns")
    terminal.started("orders")
    terminal.started("returns")
    control = f"{terminal.spec('orders').checkpoint}.streamops"
    terminal.storage.write(record_address(control, 0), b"{half")

    answer = terminal.run("status")

    assert answer.code == 4
    assert phases(terminal) == {"orders": "unknown", "returns": "running"}
    assert "00000000000000000000.json is not a control record" in answer.out
    assert "Traceback" not in answer.out + answer.err


def test_a_launcher_that_can_not_be_asked_makes_streams_unknown(terminal: Terminal) -> None:
    terminal.started()
    terminal.launcher.poll_error = LaunchError("the manager does not answer")

    answer = terminal.run("status")

    assert answer.code == 4
    assert "orders: the manager does not answer" in answer.out


def test_a_place_that_hangs_is_unknown_and_keeps_no_one_waiting(terminal: Terminal) -> None:
    terminal.declare("orders", "returns")
    hung = terminal.started("orders")
    terminal.started("returns")
    terminal.launcher.end(hung)
    launcher = HangingLauncher(terminal.launcher, hung.handle)
    terminal.wiring = replace(terminal.wiring, launcher=launcher, patience=timedelta(milliseconds=150))

    try:
        assert phases(terminal) == {"orders": "unknown", "returns": "running"}
    finally:
        launcher.released.set()


class HangingLauncher(FakeLauncher):
    """Another launcher that never answers for one driver."""

    def __init__(self, inner: FakeLauncher, hung: DriverHandle) -> None:
        super().__init__()
        self.drivers = inner.drivers
        self.released = threading.Event()
        self._hung = hung

    def poll(self, handle: DriverHandle) -> DriverStatus:
        if handle == self._hung:
            self.released.wait(10)
        return super().poll(handle)


def test_named_streams_are_shown_alone(terminal: Terminal) -> None:
    terminal.declare("orders", "returns", "refunds")

    assert list(phases(terminal, "returns", "orders", "returns")) == ["returns", "orders"]


def test_a_name_that_is_not_declared_is_a_mistake(terminal: Terminal) -> None:
    answer = terminal.run("status", "order")

    assert answer.code == 2
    assert "orders" in answer.err
    assert answer.out == ""


def test_wrong_settings_of_one_stream_are_shown_beside_the_others(terminal: Terminal) -> None:
    terminal.started()
    terminal.project.load(
        streams={"orders": a_declared_stream(), "returns": a_declared_stream("returns", job="jobs/none.py")}
    )

    answer = terminal.run("status")

    assert answer.code == 2
    assert "orders" in answer.out
    assert "streams.returns.job" in answer.out
    assert len(terminal.run("status", "--json").document["problems"]) == 1


def test_a_changed_declaration_is_told(terminal: Terminal) -> None:
    terminal.started()
    terminal.declare("orders", description="other words")

    answer = terminal.run("status")

    assert answer.code == 0
    assert "orders: declared differently since its driver was started" in answer.out


def test_no_streams_are_no_trouble(terminal: Terminal) -> None:
    terminal.project.load(streams={})

    answer = terminal.run("status")

    assert (answer.code, answer.out) == (0, "no streams are declared\n")
