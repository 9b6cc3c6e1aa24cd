"""`streamops catchup`: the plan of a bounded run, the record, and what came of it."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from streamops.control.log import ControlLog
from streamops.control.records import ClaimMode, MaintenanceBegun, Parked
from support.records import a_record
from support.terminal import Answer, Terminal

SCHEDULED = {"mode": "scheduled", "schedule": {"cron": "@hourly"}}


def catchup(terminal: Terminal, *options: str, reason: str = "far behind") -> Answer:
    return terminal.run("catchup", "orders", "--reason", reason, "--yes", *options)


def in_turn(*steps: Callable[[], object]) -> Callable[[], None]:
    """What happens while somebody waits: a step a look, then nothing."""
    left = iter(steps)
    return lambda: (next(left, lambda: None)(), None)[1]


def give_up() -> None:
    pytest.fail("the command still waits")


@pytest.fixture
def running(terminal: Terminal) -> Terminal:
    """A live stream: epoch 1 has committed batches up to 4, and 17 + 25 offsets wait."""
    terminal.started(batch=4)
    terminal.write_batches(committed=4)
    terminal.broker.has("orders", (0, 44), (0, 65))
    return terminal


@pytest.fixture
def scheduled(terminal: Terminal) -> Terminal:
    """A scheduled stream that has read everything but these 17 + 25 offsets; nothing runs."""
    terminal.declare("orders", **SCHEDULED)
    catchup(terminal, "--no-wait", reason="first")
    terminal.settle()
    terminal.finish(committed=4)
    terminal.settle()
    terminal.broker.has("orders", (0, 44), (0, 65))
    return terminal


# The plan


def test_the_plan_of_a_live_stream_says_what_yields_what_runs_and_what_comes_back(running: Terminal) -> None:
    answer = catchup(running, "--dry-run")

    assert answer.code == 0
    assert answer.out.splitlines()[:9] == [
        "catchup orders",
        "  because  far behind",
        "  records  maintenance_begun",
        "  then     epoch 1 finishes its batch and stops; after 120 s a supervisor kills it, and that batch runs again",
        "  then     42 offsets wait: a driver on local[2] reads what the source holds at its start, by available_now",
        "  then     a start now is safe: batch 4 is committed: batch 5 is planned next",
        "  then     how long it takes is not known",
        "  then     after 21600 s it is stopped between two batches, and the next run goes on",
        "  then     then the live query is started again",
    ]


def test_a_dry_run_records_nothing(running: Terminal) -> None:
    before = running.kinds()

    catchup(running, "--dry-run")

    assert running.kinds() == before


def test_the_resources_of_the_run_are_its_own(running: Terminal) -> None:
    running.declare("orders", catchup={"master": "local[6]"})

    assert "a driver on local[6] reads" in catchup(running, "--dry-run").out


def test_a_plan_of_a_scheduled_stream_stops_nothing_and_starts_nothing_again(scheduled: Terminal) -> None:
    out = catchup(scheduled, "--dry-run").out

    assert "42 offsets wait" in out
    assert "epoch 1 has ended already" not in out
    assert "live query" not in out


def test_a_plan_that_nobody_would_carry_out_says_so(running: Terminal) -> None:
    running.clock.advance(timedelta(minutes=10))

    out = catchup(running, "--dry-run").out

    assert (
        "WARNING  nobody has attended to it since 2026-03-01T12:00:00+00:00 (supervise): nothing starts the run" in out
    )


def test_the_plan_in_json(running: Terminal) -> None:
    document = catchup(running, "--dry-run", "--json").document

    assert document["plan"]["act"] == "catchup"
    assert document["plan"]["records"] == ["maintenance_begun"]
    assert (document["record"], document["run"], document["trouble"]) == (None, None, "")


# Refused, or nothing to do


def test_nothing_new_is_nothing_to_do(running: Terminal) -> None:
    running.broker.has("orders", (0, 27), (0, 40))
    before = running.kinds()

    answer = catchup(running)

    assert answer.code == 0
    assert answer.out == (
        "orders: nothing to do: nothing new since batch 4: orders-0 ends at 27, orders-1 ends at 40\n"
    )
    assert running.kinds() == before


def test_a_reason_must_be_given(running: Terminal) -> None:
    answer = catchup(running, reason=" ")

    assert answer.code == 2
    assert "--reason is empty" in answer.err
    assert "maintenance_begun" not in running.kinds()


def test_a_stopped_stream_takes_no_run(running: Terminal) -> None:
    running.run("stop", "orders", "--reason", "night", "--yes")

    answer = catchup(running)

    assert answer.code == 1
    assert "stream orders is stopped on purpose: `streamops start orders` first" in answer.err
    assert "maintenance_begun" not in running.kinds()


def test_a_parked_stream_takes_no_run(running: Terminal) -> None:
    log = ControlLog.of_checkpoint(running.storage, running.spec().checkpoint)
    log.append(a_record(Parked(), running.state().next_number, reason="six failures in a row"))

    answer = catchup(running)

    assert answer.code == 1
    assert "stream orders is parked (six failures in a row): `streamops release orders` first" in answer.err


def test_a_second_run_is_refused_with_who_asked_for_the_first_and_why(running: Terminal) -> None:
    catchup(running, "--no-wait", reason="the long night")

    answer = catchup(running)

    assert answer.code == 1
    assert "a bounded run by person:" in answer.err
    assert "is under way until 2026-03-01T18:00:00+00:00: the long night" in answer.err
    assert running.kinds().count("maintenance_begun") == 1


@pytest.mark.parametrize("given", ["0s", "soon"])
def test_a_budget_that_is_no_time_is_refused(running: Terminal, given: str) -> None:
    answer = catchup(running, "--no-wait", "--budget", given)

    assert answer.code == 2
    assert "maintenance_begun" not in running.kinds()


# Asked for


def test_a_run_is_on_record_with_its_time_and_its_reason(running: Terminal) -> None:
    answer = catchup(running, "--no-wait", "--budget", "90m")

    record = running.records()[-1]
    assert answer.code == 0
    assert answer.out == f"orders: a run is asked for (record {record.number})\n"
    assert isinstance(record.body, MaintenanceBegun)
    assert record.body.run is ClaimMode.CATCHUP
    assert record.body.until - record.at == timedelta(minutes=90)
    assert record.reason == "far behind"


def test_a_run_is_waited_for_and_told_with_what_it_did(scheduled: Terminal) -> None:
    scheduled.clock.on_sleep = in_turn(
        scheduled.settle, scheduled.beat, lambda: scheduled.finish(committed=7, rows=42), scheduled.settle
    )

    answer = catchup(scheduled)

    assert answer.code == 0
    assert answer.out == "orders: finished: 3 batches (5–7), 42 rows, 4 s\n"
    assert "catching orders up" in answer.err


def test_the_wait_tells_how_far_it_is(scheduled: Terminal) -> None:
    scheduled.clock.on_sleep = in_turn(
        scheduled.settle,
        lambda: scheduled.beat_with(rows=21, batch=5),
        lambda: scheduled.finish(committed=7, rows=42),
        scheduled.settle,
    )

    told = catchup(scheduled).err.splitlines()

    assert any(line.startswith("21 of 42: epoch 2 is running, batch 5") for line in told)


def test_a_live_stream_is_told_of_when_its_run_is_over(running: Terminal) -> None:
    running.clock.on_sleep = in_turn(
        running.obey,
        running.settle,
        lambda: running.finish(committed=7, rows=42),
        running.settle,
    )

    answer = catchup(running)

    assert answer.code == 0
    assert answer.out == "orders: finished: 3 batches (5–7), 42 rows, 2 s\n"
    assert running.newest().number == 3
    assert running.newest().claim.mode is ClaimMode.LIVE


def test_the_outcome_in_json(scheduled: Terminal) -> None:
    scheduled.clock.on_sleep = in_turn(
        scheduled.settle, lambda: scheduled.finish(committed=7, rows=42), scheduled.settle
    )

    document = catchup(scheduled, "--json").document

    run = document["run"]
    assert (run["outcome"], run["first_batch"], run["last_batch"], run["rows"]) == ("finished", 5, 7, 42)
    assert run["offsets"] == ['{"orders":{"0":30,"1":40}}']
    assert document["record"] == run["record"]


def test_a_run_that_is_parked_meanwhile_fails_with_the_reason(scheduled: Terminal) -> None:
    scheduled.clock.on_sleep = in_turn(
        scheduled.settle,
        lambda: scheduled.beat(batch=4),
        lambda: scheduled.fail(text="[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] The schema of the state has changed"),
        scheduled.settle,
    )

    answer = catchup(scheduled)

    assert answer.code == 1
    assert answer.out.splitlines() == [
        "orders: under-way: no batch, 4 s",
        "orders: it does not go on without a person: epoch 2 ended with state-incompatible, which no restart mends",
    ]


def test_a_run_whose_time_is_over_is_no_success(scheduled: Terminal) -> None:
    scheduled.clock.on_sleep = in_turn(
        scheduled.settle,
        scheduled.beat,
        lambda: scheduled.clock.advance(timedelta(minutes=2)),
        scheduled.settle,
        lambda: scheduled.write_batches(committed=5),
        scheduled.obey,
        scheduled.settle,
    )

    answer = catchup(scheduled, "--budget", "1m")

    assert answer.code == 1
    assert "orders: budget-spent: 1 batch (5)" in answer.out


def test_a_run_that_somebody_ends_meanwhile_is_no_success_and_told_with_the_reason(scheduled: Terminal) -> None:
    def end() -> None:
        scheduled.requests().end_run("not now")

    scheduled.clock.on_sleep = in_turn(scheduled.settle, scheduled.beat, end, scheduled.obey, scheduled.settle)

    answer = catchup(scheduled)

    assert answer.code == 1
    assert answer.out.startswith("orders: ended: no batch")
    assert answer.out.endswith("orders: not now\n")


def test_whoever_goes_away_leaves_the_run_going(scheduled: Terminal) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    scheduled.clock.on_sleep = interrupt

    answer = catchup(scheduled)

    record = scheduled.records()[-1]
    assert answer.code == 130
    assert f"orders: the run goes on, only the watching has ended (record {record.number})" in answer.err
    assert record.body.kind == "maintenance_begun"


def test_a_no_records_nothing(running: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamops.cli.acting.confirmed", lambda question: False)
    monkeypatch.setattr("sys.stdin", AtATerminal())

    answer = running.run("catchup", "orders", "--reason", "x")

    assert answer.code == 1
    assert "nothing was done" in answer.err
    assert "maintenance_begun" not in running.kinds()


class AtATerminal:
    """A person who can be asked, and says no."""

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return "n\n"


# A start that could only fail


def test_a_live_query_is_not_stopped_for_a_run_that_could_only_fail(running: Terminal) -> None:
    running.broker.has("orders", (34, 44), (65, 65))

    answer = catchup(running)

    assert answer.code == 1
    assert "stream orders: a run is refused, its start would be " in answer.err
    assert "maintenance_begun" not in running.kinds()


def test_a_run_that_was_ended_before_its_driver_was_started_is_not_waited_for(running: Terminal) -> None:
    """Its claim stays open while the stream stands still: nobody submits it, and no newer claim comes."""

    def end_and_stop() -> None:
        running.obey()
        asked = running.supervisor()
        while running.newest().claim.mode is not ClaimMode.CATCHUP:
            asked.step()
        running.requests().end_run("not tonight")
        running.requests().stop("maintenance of the rack")

    running.clock.on_sleep = in_turn(end_and_stop, *[running.settle] * 20, give_up)

    answer = catchup(running)

    assert answer.code == 1
    assert answer.out.splitlines()[-1] == (
        "orders: it does not go on without a person: the run was ended before a driver of it was started (epoch 2 is claimed"
        " and not submitted), and the stream stands still since: stopped by person:ana: maintenance of the rack"
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"trigger": {"continuous": "1s"}}, "its trigger is continuous", id="continuous"),
        pytest.param({}, "tracks progress asynchronously", id="asynchronous progress"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--finish-batch",)], ids=["all that waits", "the batch in flight"])
def test_a_run_that_spark_would_refuse_is_refused_before_anything_is_stopped(
    terminal: Terminal, changes: dict[str, object], reason: str, options: tuple[str, ...]
) -> None:
    kafka = {"bootstrap_servers": "a:9092", "topic": "t"}
    if not changes:
        kafka["options"] = {"asyncProgressTrackingEnabled": True}
    terminal.declare("orders", sink={"delta": None, "kafka": kafka, "guarantee": "at-least-once"}, **changes)
    terminal.started(batch=4)

    answer = catchup(terminal, *options)

    assert answer.code == 1
    assert reason in answer.err
    assert "The live query reads what waits" in answer.err
