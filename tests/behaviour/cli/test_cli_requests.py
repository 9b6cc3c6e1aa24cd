import io
import os
import pwd
from datetime import timedelta
from pathlib import Path

import pytest

from streamops.control.layout import record_address
from streamops.control.records import DriverEnded, Outcome
from streamops.control.state import Desire
from streamops.launch.outsiders import Outsider
from streamops.operations.requests import user_name
from streamops.spec import Timings
from support.checkpoints import write_checkpoint
from support.terminal import Terminal


class TypedAnswer(io.StringIO):
    """A terminal at which somebody types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    def answer(text: str) -> None:
        monkeypatch.setattr("sys.stdin", TypedAnswer(f"{text}\n"))

    return answer


def test_stop_tells_its_plan_and_records_the_request(terminal: Terminal) -> None:
    terminal.started()

    answer = terminal.run("stop", "orders", "--reason", "upgrade", "--yes")

    assert answer.code == 0
    assert "epoch 1 finishes its batch and stops; after 120 s a supervisor kills it" in answer.err
    assert "no restart until `streamops start orders`" in answer.err
    recorded, standing = answer.out.splitlines()
    assert recorded == "orders: stop_requested recorded (record 2)"
    assert standing.startswith("orders: epoch 1 has not ended yet")
    record = terminal.records()[-1]
    assert (record.body.kind, record.reason) == ("stop_requested", "upgrade")
    assert record.by.actor.startswith("person:")


def test_whoever_asks_is_named_by_their_user_and_not_by_their_environment(terminal: Terminal, monkeypatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "ceo")

    terminal.run("stop", "orders", "--reason", "night", "--yes")

    assert terminal.records()[-1].by.actor == f"person:{pwd.getpwuid(os.getuid()).pw_name}"


def test_a_user_without_a_name_on_this_host_is_named_by_number() -> None:
    assert user_name(2_000_000_001) == "2000000001"


def test_a_dry_run_shows_the_plan_as_data_and_records_nothing(terminal: Terminal) -> None:
    terminal.started()

    answer = terminal.run("stop", "orders", "--reason", "upgrade", "--dry-run")

    assert answer.code == 0
    assert answer.out.splitlines()[:3] == ["stop orders", "  because  upgrade", "  records  stop_requested"]
    assert "stop_requested" not in terminal.kinds()


def test_a_dry_run_in_json_is_the_plan(terminal: Terminal) -> None:
    document = terminal.run("stop", "orders", "--reason", "upgrade", "--dry-run", "--json").document

    assert document["outcome"] == "planned"
    assert document["plan"]["records"] == ["stop_requested"]
    assert document["has_ended"] is None


def test_without_a_terminal_nothing_is_done_unasked(terminal: Terminal) -> None:
    answer = terminal.run("stop", "orders", "--reason", "upgrade")

    assert answer.code == 2
    assert "no terminal to ask at; add --yes" in answer.err
    assert terminal.kinds() == []


def test_a_person_is_asked_on_stderr_and_may_say_yes(terminal: Terminal, types) -> None:  # type: ignore[no-untyped-def]
    types("y")

    answer = terminal.run("stop", "orders", "--reason", "upgrade", "--json")

    assert answer.code == 0
    assert "stop orders? [y/N]" in answer.err
    assert answer.document["outcome"] == "recorded"


@pytest.mark.parametrize("text", ["n", "", "maybe"])
def test_anything_but_a_clear_yes_is_a_no(terminal: Terminal, types, text: str) -> None:  # type: ignore[no-untyped-def]
    types(text)

    answer = terminal.run("stop", "orders", "--reason", "upgrade")

    assert (answer.code, answer.out) == (1, "")
    assert "nothing was done" in answer.err
    assert terminal.kinds() == []


@pytest.mark.parametrize(
    "command",
    [["stop"], ["start"], ["restart"], ["release"], ["adopt"], ["catchup"], ["backfill"], ["dlq", "--replay"]],
)
def test_a_reason_that_is_too_long_is_refused_before_anything_is_looked_at(
    terminal: Terminal, command: list[str]
) -> None:
    answer = terminal.run(command[0], "orders", *command[1:], "--reason", "x" * 2_001)

    assert answer.code == 2
    assert "it has 2001 characters, 2000 at most are put on record" in " ".join(answer.err.split())
    assert terminal.kinds() == []


def test_an_empty_reason_is_no_reason(terminal: Terminal) -> None:
    answer = terminal.run("stop", "orders", "--reason", " ", "--yes")

    assert answer.code == 2
    assert "--reason is empty" in answer.err


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        pytest.param(["start"], "it is meant to run already", id="start what runs"),
        pytest.param(["release"], "it is not parked", id="release what is not parked"),
    ],
)
def test_what_is_so_already_is_left_as_it_is(terminal: Terminal, argv: list[str], why: str) -> None:
    terminal.started()
    before = terminal.records()

    answer = terminal.run(*argv, "orders", "--reason", "x", "--yes")

    assert answer.code == 0
    assert why in answer.out
    assert terminal.records() == before


def test_a_second_stop_names_the_first(terminal: Terminal) -> None:
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")

    answer = terminal.run("stop", "orders", "--reason", "me too", "--yes")

    assert answer.code == 0
    assert "nothing to do: it is asked to stand still already, by person:" in answer.out
    assert "upgrade" in answer.out


def test_a_stop_can_wait_until_the_driver_is_gone(terminal: Terminal) -> None:
    driver = terminal.started()
    terminal.clock.on_sleep = lambda: terminal.launcher.end(driver) if len(terminal.clock.slept) == 3 else None

    answer = terminal.run("stop", "orders", "--reason", "upgrade", "--yes", "--wait")

    assert answer.code == 0
    assert "waiting at most 180 s until no driver of orders lives" in answer.err
    assert answer.out.endswith("orders: no driver lives (after 3 s)\n")
    assert terminal.clock.slept == [timedelta(seconds=1)] * 3


def test_a_stop_that_takes_too_long_fails(terminal: Terminal) -> None:
    terminal.started()

    answer = terminal.run("stop", "orders", "--reason", "upgrade", "--yes", "--wait-limit", "5", "--json")

    assert answer.code == 1
    assert answer.document["has_ended"] is False
    assert "epoch 1: driver 1 is running" in answer.err


def test_a_stop_waits_through_trouble_because_unreadable_is_not_ended(terminal: Terminal) -> None:
    terminal.started()
    control = f"{terminal.spec().checkpoint}.streamops"
    terminal.clock.on_sleep = lambda: terminal.storage.write(record_address(control, 3), b"{half")

    answer = terminal.run("stop", "orders", "--reason", "upgrade", "--yes", "--wait-limit", "3s")

    assert answer.code == 1
    assert "is not a control record" in answer.err


def test_a_stop_does_not_wait_for_a_claim_that_nobody_will_submit(terminal: Terminal) -> None:
    supervisor = terminal.supervisor()
    supervisor.step()
    assert terminal.kinds() == ["claimed"]

    answer = terminal.run("stop", "orders", "--reason", "upgrade", "--yes", "--wait")

    assert answer.code == 0
    assert terminal.clock.slept == []


@pytest.mark.fault("B67")
def test_a_forced_stop_says_that_the_batch_runs_again(terminal: Terminal) -> None:
    terminal.started()

    answer = terminal.run("stop", "orders", "--reason", "it hangs", "--force", "--yes")

    assert (
        "a supervisor kills epoch 1 at once: the batch that it is at runs again, with exactly its range" in answer.err
    )
    assert terminal.state().is_stop_forced


def test_a_stop_that_is_too_slow_can_be_forced_once(terminal: Terminal) -> None:
    terminal.started()
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")

    assert terminal.run("stop", "orders", "--reason", "now", "--force", "--yes").code == 0
    assert "nothing to do" in terminal.run("stop", "orders", "--reason", "now!", "--force", "--yes").out
    assert terminal.kinds().count("stop_requested") == 2


def test_where_nobody_supervises_the_plan_of_a_stop_warns(terminal: Terminal) -> None:
    terminal.started()
    terminal.clock.advance(timedelta(minutes=5))

    answer = terminal.run("stop", "orders", "--reason", "upgrade", "--yes")

    assert answer.code == 0
    assert "WARNING  nobody has attended to it since" in answer.err
    assert "a driver that does not stop by itself is not killed until `streamops supervise` runs" in answer.err


def test_start_tells_what_spark_will_do(terminal: Terminal) -> None:
    write_checkpoint(terminal.storage, terminal.spec().checkpoint, planned=[4, 5], committed=[4])
    terminal.run("adopt", "orders", "--reason", "ours now", "--yes")
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")

    answer = terminal.run("start", "orders", "--reason", "done", "--yes")

    assert answer.code == 0
    assert "a start now is safe-if-idempotent: batch 5 was planned but not committed" in answer.err
    assert "a supervisor claims epoch 1 at its next look" in answer.err
    assert terminal.state().desire is Desire.RUNNING


def test_a_start_while_the_driver_still_stops_says_so(terminal: Terminal) -> None:
    terminal.started()
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")

    answer = terminal.run("start", "orders", "--reason", "changed my mind", "--yes")

    assert "epoch 1 is still open: it goes on if it has not begun to stop, or is replaced" in answer.err


def test_a_person_vouches_for_the_end_of_a_driver_that_nobody_can_see(terminal: Terminal) -> None:
    terminal.launcher.hide(terminal.started())

    answer = terminal.run("start", "orders", "--confirm-dead", "1", "--reason", "its host burnt down", "--yes")

    assert answer.code == 0
    assert sum(terminal.clock.slept, timedelta(0)) == Timings().halt
    body = terminal.records()[-1].body
    assert isinstance(body, DriverEnded)
    assert (body.epoch, body.outcome) == (1, Outcome.CONFIRMED_DEAD)


def test_confirm_dead_starts_a_stopped_stream_as_well(terminal: Terminal) -> None:
    terminal.launcher.hide(terminal.started())
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")

    answer = terminal.run("start", "orders", "--confirm-dead", "1", "--reason", "it is gone", "--yes", "--json")

    assert answer.document["plan"]["records"] == ["driver_ended", "start_requested"]
    assert terminal.kinds()[-2:] == ["driver_ended", "start_requested"]


@pytest.mark.parametrize(
    ("epoch", "hidden", "why"),
    [
        pytest.param("1", False, "epoch 1 is not dead: driver 1 is running", id="seen alive"),
        pytest.param("2", True, "epoch 2 is not open; open epochs: 1", id="another epoch"),
    ],
)
def test_nobody_vouches_against_what_is_seen(terminal: Terminal, epoch: str, hidden: bool, why: str) -> None:
    driver = terminal.started()
    if hidden:
        terminal.launcher.hide(driver)

    answer = terminal.run("start", "orders", "--confirm-dead", epoch, "--reason", "x", "--yes")

    assert answer.code == 1
    assert why in answer.err
    assert "driver_ended" not in terminal.kinds()


def test_nobody_vouches_against_a_beat_that_moves(terminal: Terminal) -> None:
    terminal.launcher.hide(terminal.started())
    terminal.clock.on_sleep = lambda: terminal.beat(sequence=2)

    answer = terminal.run("start", "orders", "--confirm-dead", "1", "--reason", "x", "--yes")

    assert answer.code == 1
    assert "its beat moved while it was watched" in answer.err
    assert "driver_ended" not in terminal.kinds()


def test_a_release_of_what_would_be_parked_again_says_so(terminal: Terminal) -> None:
    checkpoint = terminal.spec().checkpoint
    terminal.started()
    write_checkpoint(terminal.storage, checkpoint, planned=[0, 1, 2], committed=[0, 1, 2])
    terminal.storage.write(f"{checkpoint}/commits/2", b"")
    terminal.fail()
    terminal.settle()
    terminal.clock.advance(timedelta(minutes=1))
    terminal.settle()
    assert terminal.kinds()[-1] == "parked"

    answer = terminal.run("release", "orders", "--reason", "try again", "--yes")

    assert answer.code == 0
    assert "a start now is futile: commits/2 can't be read" in answer.err
    assert "a supervisor parks it again" in answer.err
    assert terminal.state().parked is None


def test_accepting_what_is_unsafe_is_recorded(terminal: Terminal) -> None:
    answer = terminal.run("release", "orders", "--accept-unsafe", "--reason", "I know", "--yes")

    assert "the next start, and only that one, goes ahead although its plan is not safe" in answer.err
    assert terminal.state().accepts_unsafe


def test_adopt_watches_before_it_records(terminal: Terminal) -> None:
    write_checkpoint(terminal.storage, terminal.spec().checkpoint, planned=[4, 5], committed=[4, 5])

    answer = terminal.run("adopt", "orders", "--reason", "ours now", "--watch", "2m", "--yes")

    assert answer.code == 0
    assert "watching the checkpoint of stream orders for 120 s" in answer.err
    assert sum(terminal.clock.slept, timedelta(0)) == timedelta(minutes=2)
    assert terminal.kinds() == ["adopted"]


def test_adopt_takes_bare_seconds_and_thirty_by_default(terminal: Terminal) -> None:
    write_checkpoint(terminal.storage, terminal.spec().checkpoint, planned=[4, 5], committed=[4, 5])

    assert "for 45 s first" in terminal.run("adopt", "orders", "--reason", "x", "--watch", "45", "--dry-run").out
    assert "for 30 s first" in terminal.run("adopt", "orders", "--reason", "x", "--dry-run").out


def test_a_checkpoint_that_moves_is_not_adopted(terminal: Terminal) -> None:
    checkpoint = terminal.spec().checkpoint
    write_checkpoint(terminal.storage, checkpoint, planned=[4, 5], committed=[4, 5])
    terminal.clock.on_sleep = lambda: write_checkpoint(terminal.storage, checkpoint, planned=[6])

    answer = terminal.run("adopt", "orders", "--reason", "ours now", "--yes")

    assert answer.code == 1
    assert "its checkpoint moved from batch 5 to 6" in answer.err
    assert terminal.kinds() == []


def test_nothing_is_adopted_twice_nor_when_it_is_new(terminal: Terminal) -> None:
    assert "its checkpoint is new, nothing to adopt" in terminal.run("adopt", "orders", "--reason", "x", "--yes").err

    write_checkpoint(terminal.storage, terminal.spec().checkpoint, planned=[4, 5], committed=[4, 5])
    terminal.run("adopt", "orders", "--reason", "x", "--yes")
    answer = terminal.run("adopt", "orders", "--reason", "x", "--yes")

    assert answer.code == 1
    assert "has a control log already" in answer.err


def test_a_start_can_wait_for_its_first_batch(terminal: Terminal) -> None:
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")
    terminal.clock.on_sleep = lambda: (terminal.started(), terminal.write_batches(committed=0))  # type: ignore[assignment]

    answer = terminal.run("start", "orders", "--reason", "done", "--yes", "--wait")

    assert answer.code == 0
    assert answer.out.endswith("orders: epoch 1 has committed batch 0 (after 1 s)\n")


def test_a_release_that_is_parked_again_is_no_success(terminal: Terminal) -> None:
    terminal.started()
    terminal.write_batches(committed=2)
    terminal.storage.write(f"{terminal.spec().checkpoint}/commits/2", b"")
    terminal.fail()
    terminal.settle()
    terminal.clock.advance(timedelta(minutes=1))
    terminal.settle()

    answer = terminal.run("release", "orders", "--reason", "try again", "--yes", "--wait")

    assert answer.code == 1
    assert "orders: it did not come about: " in answer.out
    assert "the stream is parked: a start now is futile: commits/2 can't be read" in answer.out


# A scheduled stream


def test_a_scheduled_stream_between_two_runs_is_started_stopped_and_released_without_a_driver(
    terminal: Terminal,
) -> None:
    terminal.declare("orders", mode="scheduled", schedule={"cron": "@hourly"})

    stopped = terminal.run("stop", "orders", "--reason", "pause", "--yes")
    started = terminal.run("start", "orders", "--reason", "go on", "--yes", "--wait")
    status = terminal.run("status", "orders", "--json")

    assert stopped.code == 0
    assert started.code == 0
    assert "  then     it rests until its next run (@hourly UTC)" in started.err
    assert status.document["streams"][0]["phase"] == "idle"
    assert status.document["streams"][0]["needs_attention"] is False
    assert status.document["streams"][0]["dag"] == "catchup__orders"


# Taking a checkpoint over beside signs of somebody else


LEGACY = Outsider(pid=4711, command="python legacy.py", evidence="the script that it runs names the checkpoint")


def a_batch_in_flight(terminal: Terminal, *, took: timedelta | None) -> str:
    """A checkpoint of others with a planned batch; the batch before it took so long."""
    checkpoint = terminal.spec().checkpoint
    committed = [4] if took else []
    write_checkpoint(terminal.storage, checkpoint, planned=[4, 5] if took else [0], committed=committed)
    if took:
        folder, begun = Path(checkpoint.removeprefix("file://")), 1_772_366_400
        os.utime(folder / "offsets" / "4", (begun, begun))
        os.utime(folder / "commits" / "4", (begun, begun + took.total_seconds()))
    return checkpoint


def test_a_batch_in_flight_is_watched_for_longer_than_the_slowest_one_and_that_is_told_before(
    terminal: Terminal,
) -> None:
    a_batch_in_flight(terminal, took=timedelta(seconds=200))

    planned = terminal.run("adopt", "orders", "--reason", "ours now", "--dry-run")
    answer = terminal.run("adopt", "orders", "--reason", "ours now", "--yes")

    assert "is watched for 300 s first (batch 5 is planned and not committed" in planned.out
    assert answer.code == 0
    assert sum(terminal.clock.slept, timedelta(0)) == timedelta(seconds=300)
    assert terminal.kinds() == ["adopted"]


def test_a_batch_that_is_committed_late_in_the_watch_was_somebody_s(terminal: Terminal) -> None:
    checkpoint = a_batch_in_flight(terminal, took=timedelta(seconds=200))
    terminal.clock.on_sleep = lambda: (
        write_checkpoint(terminal.storage, checkpoint, committed=[5]) if len(terminal.clock.slept) == 90 else None
    )

    answer = terminal.run("adopt", "orders", "--reason", "ours now", "--yes")

    assert answer.code == 1
    assert "somebody runs it; stop that query first" in answer.err
    assert terminal.kinds() == []


def test_where_nobody_knows_how_long_a_batch_takes_a_person_vouches(terminal: Terminal) -> None:
    a_batch_in_flight(terminal, took=None)

    refused = terminal.run("adopt", "orders", "--reason", "ours now", "--yes")
    vouched = terminal.run("adopt", "orders", "--reason", "unit disabled", "--confirm-stopped", "--yes")

    assert refused.code == 1
    assert "`streamops adopt orders --confirm-stopped --reason …`: if one does, both write" in refused.err
    assert vouched.code == 0
    assert terminal.kinds() == ["adopted"]


def test_a_process_that_names_the_checkpoint_is_in_the_way_of_adopt_start_and_release(terminal: Terminal) -> None:
    terminal.run("stop", "orders", "--reason", "moving in", "--yes")
    write_checkpoint(terminal.storage, terminal.spec().checkpoint, planned=[0], committed=[0])
    terminal.outsiders = (LEGACY,)

    for act in ("adopt", "start"):
        refused = terminal.run(act, "orders", "--reason", "ours now", "--yes")
        assert refused.code == 1
        assert "process 4711 (python legacy.py): the script that it runs names the checkpoint" in refused.err
    terminal.outsiders = ()
    assert terminal.run("adopt", "orders", "--reason", "ours now", "--yes").code == 0


def a_stream_that_met_another_writer(terminal: Terminal) -> None:
    terminal.started()
    terminal.fail(text="[CONCURRENT_STREAM_LOG_UPDATE] Multiple streaming jobs detected for 3.")
    terminal.settle()
    assert terminal.kinds()[-1] == "parked"


def test_after_a_second_writer_a_release_watches_first(terminal: Terminal) -> None:
    a_stream_that_met_another_writer(terminal)
    checkpoint = terminal.spec().checkpoint
    write_checkpoint(terminal.storage, checkpoint, planned=[0], committed=[0])
    terminal.outsiders = (LEGACY,)

    refused = terminal.run("release", "orders", "--reason", "old unit is off", "--yes")

    assert refused.code == 1
    assert "process 4711" in refused.err
    assert terminal.state().parked


def test_the_restart_of_a_parked_stream_watches_as_a_release_does(terminal: Terminal) -> None:
    a_stream_that_met_another_writer(terminal)
    terminal.outsiders = (LEGACY,)

    answer = terminal.run("restart", "orders", "--reason", "again", "--no-wait", "--yes")

    assert answer.code == 1
    assert "process 4711" in answer.err
    assert terminal.state().parked


def test_a_stream_of_our_own_starts_at_once(terminal: Terminal) -> None:
    """Its last batch was cut off, and that is no sign of anybody."""
    terminal.started(batch=1)
    terminal.write_batches(committed=1, planned=2)
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")
    terminal.obey()
    terminal.settle()

    answer = terminal.run("start", "orders", "--reason", "go on", "--yes")

    assert (answer.code, terminal.clock.slept) == (0, [])
