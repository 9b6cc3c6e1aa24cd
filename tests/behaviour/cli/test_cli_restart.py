"""`streamops restart`: the plan, the record, and the first batch of the new driver."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from streamops.control.attendance import AttendanceStore
from streamops.control.drivers import QueryBeat, QueryStep
from streamops.control.log import ControlLog
from streamops.control.records import Body, MaintenanceBegun, Parked
from support.checkpoints import commit, offsets
from support.records import a_record
from support.settings import JOB
from support.terminal import Answer, Terminal


def restart(terminal: Terminal, *options: str, reason: str = "new job") -> Answer:
    return terminal.run("restart", "orders", "--reason", reason, "--yes", *options)


def in_turn(*steps: Callable[[], object]) -> Callable[[], None]:
    """What happens while somebody waits: a step a second, then nothing."""
    left = iter(steps)
    return lambda: (next(left, lambda: None)(), None)[1]


class SlowAnswer:
    """A person who says yes after something has happened."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._meanwhile = meanwhile

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        self._meanwhile()
        return "y\n"


@pytest.fixture
def running(terminal: Terminal) -> Terminal:
    """Epoch 1 has committed batches up to 4."""
    terminal.started(batch=4)
    terminal.write_batches(committed=4)
    return terminal


def park(terminal: Terminal) -> None:
    terminal.fail(text="[DELTA_FAILED] no such column")
    terminal.settle()
    append(terminal, Parked(), reason="six failures in a row")


def append(terminal: Terminal, body: Body, *, reason: str) -> None:
    log = ControlLog.of_checkpoint(terminal.storage, terminal.spec().checkpoint)
    log.append(a_record(body, terminal.state().next_number, reason=reason))


def test_the_plan_says_what_stops_what_is_new_and_who_comes_next(running: Terminal) -> None:
    running.declare("orders", launch={"conf": {"spark.driver.memory": "2g"}})

    answer = restart(running, "--no-wait")

    assert answer.code == 0
    assert "epoch 1 finishes its batch and stops; after 120 s a supervisor kills it" in answer.err
    assert "brings launch.conf.spark.driver.memory: — → 2g" in answer.err
    assert "a supervisor claims epoch 2 as soon as the driver is proven gone" in answer.err
    assert answer.out == "orders: restart_requested recorded (record 2)\n"


def test_the_plan_tells_the_batch_that_the_driver_is_at(running: Terminal) -> None:
    query = QueryBeat(
        query_id="q", name="orders", step=QueryStep.BATCH, step_seconds=42.0, progress_seconds=42.0, batch=4
    )
    running.beat(batch=4, queries=(query,))

    assert "(at work on it for 42 s, the last finished is 4)" in restart(running, "--dry-run").out


def test_a_dry_run_restarts_nothing(running: Terminal) -> None:
    answer = restart(running, "--dry-run")

    assert answer.code == 0
    assert "brings nothing new: same settings, same job file, same library" in answer.out
    assert "restart_requested" not in running.kinds()


def test_a_restart_waits_for_the_first_committed_batch_of_the_new_driver(running: Terminal) -> None:
    running.clock.on_sleep = in_turn(
        running.obey, running.settle, running.beat, lambda: running.write_batches(committed=5)
    )

    answer = restart(running)

    assert answer.code == 0
    assert answer.out.endswith("orders: epoch 2 has committed batch 5 (after 4 s)\n")
    assert "orders: epoch 1 is stopping, asked by person:" in answer.err


def test_the_last_batch_of_the_old_driver_is_not_taken_for_the_first_of_the_new_one(running: Terminal) -> None:
    running.clock.on_sleep = in_turn(lambda: running.write_batches(committed=5), running.obey, running.settle)

    answer = restart(running, "--wait-limit", "10s", "--json")

    assert answer.code == 1
    assert answer.document["progress"]["stage"] == "pending"


def test_a_stream_with_nothing_to_read_is_restarted_all_the_same(running: Terminal) -> None:
    query = QueryBeat(query_id="q", name="orders", step=QueryStep.WAITING, step_seconds=3.0, progress_seconds=3.0)
    running.clock.on_sleep = in_turn(
        running.obey, running.settle, lambda: running.beat(batch=-1, phase_seconds=41.0, queries=(query,))
    )

    answer = restart(running)

    assert answer.code == 0
    assert (
        "epoch 2 has run its query for 41 s and waits: there is nothing to read, so no batch (after 3 s)" in answer.out
    )


def test_a_batch_that_does_not_come_in_time_is_a_failure_that_tells_what_was_seen(running: Terminal) -> None:
    answer = restart(running, "--wait-limit", "5s")

    assert answer.code == 1
    assert "orders: no batch of a new driver was committed within 5 s: epoch 1 is stopping, asked by" in answer.out


def test_whoever_goes_away_leaves_the_request_standing(running: Terminal) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    running.clock.on_sleep = interrupt

    answer = restart(running)

    assert answer.code == 130
    assert "orders: what was asked for stands, only the watching has ended" in answer.err
    assert running.kinds()[-1] == "restart_requested"


def test_a_new_driver_that_fails_is_told_while_the_next_one_is_awaited(running: Terminal) -> None:
    running.clock.on_sleep = in_turn(
        running.obey, running.settle, lambda: running.fail(text="bad column"), running.settle
    )

    answer = restart(running, "--wait-limit", "10s")

    assert answer.code == 1
    assert "epoch 2 ended failed: bad column; back-off:" in answer.out


def test_a_stop_meanwhile_ends_the_waiting(running: Terminal) -> None:
    running.clock.on_sleep = in_turn(lambda: running.run("stop", "orders", "--reason", "no, stop it", "--yes"))

    answer = restart(running)

    assert answer.code == 1
    assert "it did not come about: the stream was stopped by person:" in answer.out
    assert "no, stop it" in answer.out


def test_a_forced_restart_kills_and_says_so(running: Terminal) -> None:
    answer = restart(running, "--force", "--no-wait")

    assert "a supervisor kills epoch 1 at once: the batch that it is at runs again" in answer.err
    assert running.state().replacement.force  # type: ignore[union-attr]


def test_a_forced_restart_of_a_sink_that_bears_no_repeat_warns(terminal: Terminal) -> None:
    terminal.declare("orders", sink={"guarantee": "exactly-once-or-nothing"})
    terminal.started()

    answer = restart(terminal, "--force", "--dry-run")

    assert (
        "WARNING  its sink is exactly-once-or-nothing: when a batch is cut off, the stream is parked until"
        in answer.out
    )


def test_a_second_restart_names_the_first_and_waits_for_the_same_driver(running: Terminal) -> None:
    restart(running, "--no-wait", reason="new job")
    running.clock.on_sleep = in_turn(running.obey, running.settle, lambda: running.write_batches(committed=5))

    answer = restart(running, reason="me too")

    assert answer.code == 0
    assert "nothing to do: a restart is asked for already, by person:" in answer.out
    assert "new job" in answer.out
    assert "epoch 2 has committed batch 5" in answer.out
    assert running.kinds().count("restart_requested") == 1


def test_a_driver_that_dies_before_the_answer_is_followed_without_a_wait(
    running: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question takes a while; meanwhile the supervisor has put the end on record."""

    def meanwhile() -> None:
        running.fail(text="boom")
        running.supervisor().step()

    monkeypatch.setattr("sys.stdin", SlowAnswer(meanwhile))

    answer = running.run("restart", "orders", "--reason", "new job", "--no-wait")
    running.settle()

    assert answer.code == 0
    assert running.kinds()[-3:] == ["restart_requested", "claimed", "submitted"]
    assert running.newest().number == 2


def test_a_driver_that_was_replaced_before_the_answer_is_the_one_that_is_restarted(
    running: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is awaited then is the epoch behind that one, not the one that was planned with."""

    def meanwhile() -> None:
        running.storage.write(f"{running.spec().checkpoint}/commits/5", commit())
        running.storage.write(f"{running.spec().checkpoint}/offsets/5", offsets(batch=5))
        running.fail()
        running.settle()
        running.clock.advance(timedelta(minutes=1))
        running.settle()
        running.clock.on_sleep = in_turn(lambda: running.write_batches(committed=6))

    monkeypatch.setattr("sys.stdin", SlowAnswer(meanwhile))

    answer = running.run("restart", "orders", "--reason", "new job", "--wait-limit", "5s")

    assert running.newest().number == 2
    assert answer.code == 1
    assert "no batch of a new driver was committed within 5 s: epoch 2 is stopping" in answer.out


def test_a_restart_during_a_back_off_skips_the_rest_of_it(running: Terminal) -> None:
    running.fail()
    running.settle()

    answer = restart(running, "--no-wait")
    running.settle()

    assert answer.code == 0
    assert "the wait until 12:00:15 UTC is skipped (back-off:" in answer.err
    assert "a start now is safe: batch 4 is committed: batch 5 is planned next" in answer.err
    assert running.newest().number == 2


def test_a_wait_that_a_person_cannot_end_is_told_and_nothing_is_recorded(running: Terminal) -> None:
    """During a maintenance no supervisor starts anything, whoever asks."""
    running.fail()
    running.settle()
    append(running, MaintenanceBegun(until=running.clock.now() + timedelta(hours=1)), reason="a catch-up")

    answer = restart(running, "--no-wait")

    assert answer.code == 0
    assert "nothing to do: no driver lives, and a supervisor starts one with the present declaration" in answer.out
    assert "restart_requested" not in running.kinds()


def test_a_parked_stream_is_released_by_a_restart(running: Terminal) -> None:
    park(running)

    answer = restart(running, "--no-wait")

    assert answer.code == 0
    assert "it is parked, so no driver lives: six failures in a row" in answer.err
    assert "it is released: failures so far are forgotten (1), the restart budget is whole again" in answer.err
    assert running.kinds()[-1] == "released"
    assert running.state().parked is None


def test_a_stopped_stream_is_not_restarted_and_the_hint_is_start(running: Terminal) -> None:
    running.run("stop", "orders", "--reason", "migration", "--yes")

    answer = restart(running)

    assert (answer.code, answer.out) == (1, "")
    assert "is stopped on purpose, by person:" in answer.err
    assert "migration. To let it run: `streamops start orders --reason …`" in answer.err


def test_a_driver_that_could_not_be_followed_by_another_is_left_alone(running: Terminal) -> None:
    """It runs, since Spark has the offsets in memory; a restart would turn a damaged checkpoint into an outage."""
    running.storage.delete(f"{running.spec().checkpoint}/offsets/3")

    answer = restart(running)

    assert answer.code == 1
    assert "a start on its checkpoint would be futile: offsets/3 is missing" in answer.err
    assert "`streamops stop orders --reason …`" in answer.err
    assert "restart_requested" not in running.kinds()


def test_a_job_that_is_gone_stops_no_driver(running: Terminal) -> None:
    job, before = running.project.root / "jobs/orders.py", running.records()
    job.unlink()

    answer = restart(running)

    job.write_text(JOB)
    assert answer.code == 2
    assert "jobs/orders.py" in answer.err
    assert running.records() == before


def test_where_nobody_supervises_the_plan_warns_that_no_driver_will_follow(running: Terminal) -> None:
    running.clock.advance(timedelta(minutes=5))

    answer = restart(running, "--dry-run")

    assert (
        "WARNING  nobody has attended to it since 2026-03-01T12:00:00+00:00 (supervise): the driver stops" in answer.out
    )
    assert "nothing starts another one until `streamops supervise` runs, or the DAG stream__orders" in answer.out


def test_a_supervisor_elsewhere_is_attendance_enough(running: Terminal) -> None:
    running.clock.advance(timedelta(minutes=5))
    book = AttendanceStore(
        running.storage,
        running.project.address("data/state"),
        stream="orders",
        author=running.records()[0].by,
        clock=running.clock,
    )
    book.sign()

    assert "WARNING" not in restart(running, "--dry-run").out


def test_the_outcome_in_json_has_epoch_batch_and_seconds(running: Terminal) -> None:
    running.clock.on_sleep = in_turn(running.obey, running.settle, lambda: running.write_batches(committed=5))

    document = restart(running, "--json").document

    assert document["progress"] == {
        "stage": "done",
        "evidence": "epoch 2 has committed batch 5",
        "epoch": 2,
        "batch": 5,
    }
    assert document["waited"] == 3.0


def test_a_driver_that_nobody_can_see_is_asked_and_not_taken_for_gone(running: Terminal) -> None:
    running.launcher.hide(running.launcher.drivers[-1])

    answer = restart(running, "--dry-run")

    assert "epoch 1 can't be seen from here" in answer.out
    assert "a supervisor must prove it gone before anything else starts" in answer.out
