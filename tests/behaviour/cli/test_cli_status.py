import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest

from streamops.catalogue.watch import HealthSample
from streamops.control.attendance import AttendanceStore
from streamops.control.drivers import QueryBeat, QueryStep
from streamops.control.layout import control_folder, record_address
from streamops.control.records import Author, DriverHandle, UnknownBody
from streamops.errors import LaunchError
from streamops.fleet.health_history import HealthEntry, HealthHistory
from streamops.launch import DriverStatus
from streamops.reconcile.facts import StreamTask
from streamops.reconcile.finding import FindingStore, ToldTask, ToldTasks, write_book
from streamops.verdict import Verdict
from support.checkpoints import write_checkpoint
from support.launcher import FakeLauncher
from support.records import a_record, a_submit, write_log
from support.settings import JOB, a_declared_stream
from support.terminal import Terminal

ORDERS = "orders"


def phases(terminal: Terminal, *argv: str) -> dict[str, str]:
    document = terminal.run("status", "--json", *argv).document
    return {status["stream"]: status["phase"] for status in document["streams"]}


def test_a_running_stream_is_fine(terminal: Terminal) -> None:
    terminal.started(batch=41)
    terminal.clock.advance(timedelta(seconds=4))
    terminal.make_sound()

    answer = terminal.run("status")

    assert answer.code == 0
    row = answer.out.splitlines()[2].split()
    assert row == ["orders", "running", "1", "41", "4s", "ago", "running", "0", "10", "supervise", "ok"]
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


def at_a_batch(seconds: float) -> dict[str, Any]:
    """The beat of a driver that has been at one batch for so long, without executors."""
    query = QueryBeat(
        query_id="q", name="orders", step=QueryStep.BATCH, step_seconds=seconds, progress_seconds=seconds, batch=41
    )
    return {"executors": 0, "queries": (query,)}


def test_json_tells_how_a_driver_gets_on(terminal: Terminal) -> None:
    terminal.started(**at_a_batch(90.0))

    (status,) = terminal.run("status", "--json").document["streams"]

    reason = "query orders has been at the batch after 41 for 90 s, without any executor"
    assert status["liveness"] == {
        "kind": "waiting-for-executors",
        "since": 90.0,
        "reason": reason,
        "window": 600.0,
        "advice": None,
    }


@pytest.fixture
def answering(terminal: Terminal) -> Iterator[Terminal]:
    """With a server that accepts connections: a query that stays at one batch has its source asked for."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        terminal.declare(ORDERS, source={"kafka": {"bootstrap_servers": f"127.0.0.1:{server.getsockname()[1]}"}})
        yield terminal


def test_a_source_that_does_not_answer_a_query_at_its_batch_is_told(terminal: Terminal) -> None:
    terminal.started(**at_a_batch(90.0))
    terminal.make_sound()

    answer = terminal.run("status")

    assert answer.code == 3
    assert "orders: it does not get on: 127.0.0.1:9092 has not answered for 90 s" in answer.out
    assert terminal.run("reconcile").code == 3


def test_a_driver_that_runs_and_gets_nowhere_is_told_before_it_is_an_alarm(answering: Terminal) -> None:
    terminal = answering
    terminal.started(**at_a_batch(90.0))
    terminal.make_sound()

    answer = terminal.run("status")

    assert answer.code == 0
    assert "orders: waiting-for-executors: query orders has been at the batch after 41 for 90 s" in answer.out
    assert "reported after 10m" in answer.out


def test_a_driver_that_is_plainly_at_work_needs_no_words(answering: Terminal) -> None:
    terminal = answering
    terminal.started(**(at_a_batch(90.0) | {"executors": 2}))
    terminal.make_sound()

    assert "orders: " not in terminal.run("status").out


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
    assert "orders: nobody attends to it, nobody ever has: no driver of it is started" in answer.out


def test_a_stream_stopped_on_purpose_is_fine(terminal: Terminal) -> None:
    driver = terminal.started()
    terminal.run("stop", ORDERS, "--reason", "upgrade", "--yes")
    terminal.launcher.end(driver)
    terminal.settle()
    terminal.make_sound()

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
    terminal.declare("orders", trigger={"processing_time": "1m"})
    (terminal.project.root / "jobs/orders.py").write_text(JOB + "# another version\n")
    terminal.make_sound()

    answer = terminal.run("status")

    assert answer.code == 0
    assert "orders: declared differently since its driver was started (spec, job)" in answer.out
    assert "`streamops restart orders` applies it" in answer.out


def test_what_only_the_supervisor_goes_by_asks_for_no_restart(terminal: Terminal) -> None:
    terminal.started()
    terminal.declare("orders", description="other words", restart={"budget_per_hour": 3})

    assert "declared differently" not in terminal.run("status").out


def test_a_running_stream_that_nobody_attends_to_is_critical(terminal: Terminal) -> None:
    """Nobody would restart it: a paused DAG, a dead triggerer, an ended `supervise`."""
    terminal.started()
    terminal.clock.advance(timedelta(minutes=5))

    answer = terminal.run("status")

    assert answer.code == 4
    assert phases(terminal) == {ORDERS: "running"}
    assert "orders: nobody has attended to it since 2026-03-01T12:00:00+00:00 (supervise)" in answer.out
    assert "the DAG stream__orders (not paused" in answer.out


def test_a_stopped_stream_needs_nobody(terminal: Terminal) -> None:
    driver = terminal.started()
    terminal.run("stop", ORDERS, "--reason", "upgrade", "--yes")
    terminal.launcher.end(driver)
    terminal.settle()
    terminal.clock.advance(timedelta(days=3))
    terminal.make_sound()

    assert terminal.run("status").code == 0


def test_json_tells_who_attends_and_since_when_nobody_does(terminal: Terminal) -> None:
    terminal.started()
    terminal.clock.advance(timedelta(minutes=5))

    (status,) = terminal.run("status", "--json").document["streams"]

    assert (status["attended_by"], status["attended_at"]) == ("supervise", "2026-03-01T12:00:00+00:00")
    assert status["unattended"].startswith("nobody has attended")
    assert status["drift"]["marks"] == []


def test_a_failed_stream_tells_its_class_its_row_and_what_is_left_of_its_budget(terminal: Terminal) -> None:
    terminal.started()
    terminal.fail()
    terminal.settle()

    answer = terminal.run("status")

    assert "1 in a row without a committed batch, 9 more failures within the hour are restarted" in answer.out
    (status,) = terminal.run("status", "--json").document["streams"]
    assert status["failure_class"] == terminal.newest().end.failure_class != ""
    assert (status["failures_in_row"], status["remedy"]) == (1, terminal.newest().end.remedy)


def test_records_that_do_not_fit_are_a_warning(terminal: Terminal) -> None:
    terminal.started()
    write_log(
        terminal.storage,
        control_folder(terminal.spec().checkpoint),
        (a_record(UnknownBody(kind="sung"), 2), a_record(a_submit(9), 3)),
    )

    answer = terminal.run("status")

    assert answer.code == 3
    assert "holds 1 records of a newer version and 1 that contradict the ones before" in answer.out


def test_the_drift_is_shown_setting_by_setting(terminal: Terminal) -> None:
    terminal.started()
    terminal.declare("orders", launch={"conf": {"spark.driver.memory": "2g"}}, restart={"budget_per_hour": 3})
    (terminal.project.root / "jobs/orders.py").write_text(JOB + "# another version\n")

    answer = terminal.run("status", "--drift")

    assert answer.code == 3
    lines = answer.out.splitlines()
    assert lines[:3] == [
        "orders: epoch 1 against what is declared",
        "  launch.conf.spark.driver.memory  — → 2g",
        "  restart.budget_per_hour  10 → 3   (in force already: only the supervisor goes by it)",
    ]
    assert lines[3].startswith(f"  another job file: {sha256(JOB.encode()).hexdigest()[:12]} → ")
    assert lines[4] == "  applied by  streamops restart orders --reason …"


def test_the_drift_in_json_has_both_sides(terminal: Terminal) -> None:
    terminal.started()
    terminal.declare("orders", launch={"conf": {"spark.driver.memory": "2g"}})

    (status,) = terminal.run("status", "--drift", "--json", ORDERS).document["streams"]

    assert status["is_declared_differently"] is True
    assert status["drift"]["marks"] == ["spec"]
    assert status["drift"]["settings"] == [
        {"setting": "launch.conf.spark.driver.memory", "running": "", "declared": "2g", "needs_restart": True}
    ]


def test_what_runs_as_declared_has_no_drift(terminal: Terminal) -> None:
    terminal.declare("orders", "returns")
    terminal.started("orders")

    answer = terminal.run("status", "--drift")

    assert answer.code == 0
    assert answer.out.splitlines() == [
        "orders: epoch 1 runs what is declared",
        "returns: no driver lives; the next one starts with the present declaration",
    ]


def test_a_drift_that_can_not_be_told_is_unknown(terminal: Terminal) -> None:
    terminal.started()
    terminal.launcher.poll_error = LaunchError("the manager does not answer")

    answer = terminal.run("status", "--drift")

    assert (answer.code, answer.out) == (4, "orders: not known: the manager does not answer\n")


def test_no_streams_are_no_trouble(terminal: Terminal) -> None:
    terminal.project.load(streams={})

    answer = terminal.run("status")

    assert (answer.code, answer.out) == (0, "no streams are declared\n")


# Scheduled streams


def test_a_scheduled_stream_between_two_runs_needs_nobody(terminal: Terminal) -> None:
    terminal.declare(ORDERS, mode="scheduled", schedule={"cron": "@hourly"})
    terminal.run("catchup", ORDERS, "--reason", "x", "--yes", "--no-wait")
    terminal.settle()
    terminal.finish(committed=2)
    terminal.settle()
    terminal.clock.advance(timedelta(minutes=50))
    terminal.make_sound()

    answer = terminal.run("status", "--json")

    (status,) = answer.document["streams"]
    assert answer.code == 0
    assert (status["phase"], status["needs_attention"], status["unattended"]) == ("idle", False, "")
    assert status["reason"] == "between two runs (@hourly UTC)"
    assert status["dag"] == "catchup__orders"


def test_a_run_that_nobody_attends_to_is_missed(terminal: Terminal) -> None:
    terminal.declare(ORDERS, mode="scheduled", schedule={"cron": "@hourly"})
    terminal.run("catchup", ORDERS, "--reason", "x", "--yes", "--no-wait")
    terminal.started()
    terminal.clock.advance(timedelta(minutes=50))

    (status,) = terminal.run("status", "--json").document["streams"]

    assert status["needs_attention"] is True
    assert status["unattended"] == "nobody has attended to it since 2026-03-01T12:00:00+00:00 (supervise)"


# --- what its checkpoint and its topics were judged to be --------------------------


def stopped(terminal: Terminal) -> None:
    """The stream was running and is stopped on purpose, its driver gone."""
    driver = terminal.started()
    terminal.run("stop", ORDERS, "--reason", "upgrade", "--yes")
    terminal.launcher.end(driver)
    terminal.settle()
    terminal.make_sound()


def test_a_stopped_stream_whose_checkpoint_breaks_needs_a_person(terminal: Terminal) -> None:
    stopped(terminal)
    terminal.storage.write(f"{terminal.spec().checkpoint}/commits/41", b"")

    answer = terminal.run("status")

    assert answer.code == 4
    assert "checkpoint critical" in answer.out
    assert "`streamops check orders`" in answer.out
    (status,) = terminal.run("status", "--json").document["streams"]
    assert (status["checkpoint"]["verdict"], status["retention"]["verdict"]) == ("critical", "ok")
    assert (status["verdict"], status["needs_attention"]) == ("critical", True)


def test_a_stopped_stream_whose_records_expired_needs_a_person(terminal: Terminal) -> None:
    stopped(terminal)
    terminal.broker.has("orders", (70, 90), (0, 40))

    answer = terminal.run("status")

    assert answer.code == 4
    assert "retention critical" in answer.out
    assert "`streamops lag orders`" in answer.out


def test_a_scheduled_stream_that_has_lost_records_needs_a_person(terminal: Terminal) -> None:
    terminal.declare(ORDERS, mode="scheduled", schedule={"cron": "@hourly"})
    terminal.run("catchup", ORDERS, "--reason", "x", "--yes", "--no-wait")
    terminal.settle()
    terminal.finish(committed=2)
    terminal.settle()
    terminal.make_sound()
    terminal.broker.has("orders", (70, 90), (0, 40))

    answer = terminal.run("status", "--json")

    (status,) = answer.document["streams"]
    assert (answer.code, status["phase"], status["retention"]["verdict"]) == (4, "idle", "critical")


def test_a_broker_that_is_away_is_no_good_news_and_no_alarm(terminal: Terminal) -> None:
    stopped(terminal)
    terminal.broker.trouble = "_TRANSPORT: no broker answers"

    answer = terminal.run("status")

    assert answer.code == 3
    assert "retention unknown" in answer.out
    assert "no broker answers" in answer.out


def history(terminal: Terminal, folder: str = "health") -> HealthHistory:
    """What rounds keep of the stream."""
    return HealthHistory(terminal.storage, terminal.project.address("data/state"), ORDERS, folder=folder)


def kept(terminal: Terminal, verdict: Verdict, *, age: timedelta, folder: str = "health") -> None:
    """What a round has found of the stream."""
    at = terminal.clock.now() - age
    history(terminal, folder).append(HealthEntry(sample=HealthSample(at=at, verdict=verdict, rules=("some-rule",))))


def test_of_a_running_stream_the_last_round_is_believed(terminal: Terminal) -> None:
    terminal.started()
    terminal.clock.advance(timedelta(minutes=5))
    kept(terminal, Verdict.CRITICAL, age=timedelta(minutes=4))
    kept(terminal, Verdict.WARNING, age=timedelta(minutes=3), folder="coverage")

    answer = terminal.run("status", "--json")

    (status,) = answer.document["streams"]
    assert status["checkpoint"] == {
        "verdict": "critical",
        "at": (terminal.clock.now() - timedelta(minutes=4)).isoformat(),
        "reason": "some-rule",
    }
    assert status["retention"]["verdict"] == "warning"
    assert answer.code == 4
    assert terminal.broker.scans == []


def test_a_verdict_from_before_its_driver_was_claimed_is_out_of_date(terminal: Terminal) -> None:
    """Somebody has repaired the checkpoint and released the stream since."""
    terminal.started()
    terminal.make_sound()
    kept(terminal, Verdict.CRITICAL, age=timedelta(minutes=1))
    kept(terminal, Verdict.CRITICAL, age=timedelta(minutes=1), folder="coverage")

    answer = terminal.run("status", "--json")

    (status,) = answer.document["streams"]
    assert (answer.code, status["verdict"]) == (0, "ok")


def test_a_first_driver_that_starts_is_well(terminal: Terminal) -> None:
    terminal.settle()
    terminal.broker.has("orders", (0, 64), (0, 40))

    answer = terminal.run("status", "--json")

    (status,) = answer.document["streams"]
    assert (answer.code, status["phase"], status["checkpoint"]["verdict"]) == (0, "starting", "ok")


def test_a_stream_that_can_t_be_looked_at_has_no_verdict(terminal: Terminal) -> None:
    terminal.storage.write(record_address(control_folder(terminal.spec().checkpoint), 0), b"{half")

    answer = terminal.run("status", "--json")

    (status,) = answer.document["streams"]
    assert (answer.code, status["verdict"], status["is_read"]) == (4, None, False)


def test_of_a_running_stream_without_rounds_a_look_is_taken(terminal: Terminal) -> None:
    terminal.started()
    terminal.make_sound()
    kept(terminal, Verdict.CRITICAL, age=timedelta(minutes=30))
    kept(terminal, Verdict.CRITICAL, age=-timedelta(minutes=30), folder="coverage")

    answer = terminal.run("status", "--json")

    (status,) = answer.document["streams"]
    assert (answer.code, status["verdict"]) == (0, "ok")


def test_a_stopped_stream_is_looked_at_whatever_the_last_round_found(terminal: Terminal) -> None:
    stopped(terminal)
    kept(terminal, Verdict.OK, age=timedelta(seconds=5))
    terminal.storage.write(f"{terminal.spec().checkpoint}/commits/41", b"")

    assert terminal.run("status").code == 4
    assert len(history(terminal).past(terminal.clock.now()).entries) == 1


def test_a_broker_that_goes_away_under_a_running_driver_is_named(terminal: Terminal) -> None:
    planning = QueryBeat(
        query_id="q",
        name="orders",
        step=QueryStep.PLANNING,
        step_seconds=25.0,
        progress_seconds=25.0,
        batch=41,
        message="Getting offsets from KafkaV2[orders]",
    )
    terminal.started(queries=(planning,))
    terminal.make_sound()
    kept(terminal, Verdict.OK, age=timedelta(minutes=1), folder="coverage")
    terminal.broker.trouble = "_TRANSPORT: no broker answers"

    answer = terminal.run("status")

    assert answer.code == 3
    assert "no batch for 25s: query orders plans one: Getting offsets from KafkaV2[orders]" in answer.out
    assert "no broker answers" in answer.out


def test_a_parked_stream_that_is_stopped_as_well_is_told_as_both(terminal: Terminal) -> None:
    terminal.started()
    terminal.make_sound()
    terminal.storage.write(f"{terminal.spec().checkpoint}/commits/41", b"")
    terminal.fail()
    terminal.settle()
    terminal.clock.advance(timedelta(minutes=1))
    terminal.settle()
    terminal.run("stop", ORDERS, "--reason", "later", "--yes")

    answer = terminal.run("status")

    assert phases(terminal) == {ORDERS: "parked"}
    assert "stopped on purpose as well" in answer.out


def test_batches_of_several_queries_are_told_by_name(terminal: Terminal) -> None:
    own, companion = (
        QueryBeat(query_id=name, name=name, step=QueryStep.WAITING, step_seconds=1.0, progress_seconds=1.0, batch=batch)
        for name, batch in (("orders", 41), ("orders_dlq", -1))
    )
    terminal.started(batch=41, queries=(own, companion))
    terminal.make_sound()

    answer = terminal.run("status")

    assert "orders: newest batches: orders 41, orders_dlq none yet" in answer.out


def test_a_driver_without_a_batch_yet_has_none(terminal: Terminal) -> None:
    terminal.started(batch=-1)

    (status,) = terminal.run("status", "--json").document["streams"]

    assert status["batch"] is None
    assert status["reason"] == "epoch 1 is running, no batch yet"


@pytest.mark.parametrize(
    ("task", "trouble"),
    [
        pytest.param(StreamTask(dag="stream__orders", is_paused=True), "its DAG stream__orders is paused", id="paused"),
        pytest.param(StreamTask(dag="stream__orders", is_present=False), "Airflow has no DAG", id="missing"),
    ],
)
@pytest.mark.parametrize(("actor", "code"), [("airflow:trigger", 4), ("supervise", 0)])
def test_a_dag_that_keeps_nothing_running(
    terminal: Terminal, task: StreamTask, trouble: str, actor: str, code: int
) -> None:
    """Whoever supervises without Airflow needs no DAG."""
    terminal.started()
    terminal.make_sound()
    state_root = terminal.project.address("data/state")
    author = Author(actor=actor, host="host-1", pid=7)
    AttendanceStore(terminal.storage, state_root, stream=ORDERS, author=author, clock=terminal.clock).sign()
    told = ToldTasks(at=terminal.clock.now(), idle=(ToldTask(stream=ORDERS, task=task),))
    write_book(terminal.storage, state_root, FindingStore(told=told))

    answer = terminal.run("status")

    assert answer.code == code
    assert (trouble in answer.out) == bool(code)


def test_a_stream_that_was_just_declared_misses_no_dag(terminal: Terminal) -> None:
    task = StreamTask(dag="stream__orders", is_present=False)
    told = ToldTasks(at=terminal.clock.now(), idle=(ToldTask(stream=ORDERS, task=task),))
    write_book(terminal.storage, terminal.project.address("data/state"), FindingStore(told=told))

    answer = terminal.run("status")

    assert phases(terminal) == {ORDERS: "new"}
    assert answer.code == 3
    assert "Airflow has no DAG" not in answer.out
