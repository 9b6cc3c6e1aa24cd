"""`streamops backfill`: planned, begun, watched, stopped and gone on with, without Spark."""

import json
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from streamops.backfill.backfill_service import backfill_spec
from streamops.control import codec
from streamops.control.backfill_plan import backfill_ids, read_plan
from streamops.control.drivers import DriverPhase, ExitRecord, Heartbeat
from streamops.control.layout import (
    EXIT,
    HEARTBEAT,
    backfills_folder,
    control_folder,
    driver_folder,
    record_address,
)
from streamops.control.records import Claimed, ClaimMode, DriverEnded, Outcome
from streamops.control.snapshot import load_state
from streamops.launch import DriverState
from streamops.operations.requests import Requests
from streamops.storage import join
from streamops.storage.address import local_path
from support.checkpoints import commit, metadata, offsets
from support.clock import START
from support.observations import a_beat
from support.specs import PERSON
from support.state_files import CHANGES
from support.terminal import Terminal

RANGE = ("--from", '{"orders":{"0":100,"1":50}}', "--to", '{"orders":{"0":400,"1":150}}')
WHY = ("--reason", "a wrong rate")


@pytest.fixture
def elsewhere(tmp_path) -> tuple[str, str]:
    return ("--table", str(tmp_path / "again"))


@pytest.fixture
def orders(terminal: Terminal) -> Terminal:
    """A stream whose topic holds two partitions."""
    terminal.broker.has("orders", (0, 1000), (0, 200))
    return terminal


class Driver:
    """What a driver of the only backfill does while the command sleeps: a step each time."""

    def __init__(self, terminal: Terminal, *, dies_after: int = -1) -> None:
        self._terminal = terminal
        self._dies_after = dies_after
        terminal.clock.on_sleep = self.work

    @property
    def name(self) -> str:
        (name,) = backfill_ids(self._terminal.storage, self._terminal.spec().checkpoint)
        return name

    @property
    def plan(self):
        return read_plan(self._terminal.storage, self._terminal.spec().checkpoint, self.name)

    @property
    def checkpoint(self) -> str:
        return backfill_spec(self._terminal.spec(), self.plan).checkpoint

    @property
    def state(self):
        return load_state(self._terminal.storage, control_folder(self.checkpoint))

    def work(self) -> None:
        storage, plan, address = self._terminal.storage, self.plan, self.checkpoint
        living = [driver for driver in self._terminal.launcher.drivers if driver.is_alive]
        if not living:
            return
        storage.write(join(address, "metadata"), metadata())
        step = len(storage.list(join(address, "commits")))
        if step == self._dies_after:
            self._dies_after = -1
            self._terminal.launcher.end(living[0])
        elif step < len(plan.chunks):
            storage.write(join(address, "offsets", str(step)), offsets(plan.chunks[step].kafka_json()))
            storage.write(join(address, "commits", str(step)), commit())
        else:
            self.leave(Outcome.FINISHED)

    def leave(self, outcome: Outcome) -> None:
        newest = self.state.newest
        at = self._terminal.clock.now().isoformat()
        record = ExitRecord(epoch=newest.number, instance="0a0a0a0a", outcome=outcome, at=at)
        folder = driver_folder(control_folder(self.checkpoint), newest.number, "0a0a0a0a")
        self._terminal.storage.write(join(folder, EXIT), codec.encode(record))
        self._terminal.launcher.end(self._terminal.launcher.drivers[-1])

    def beats_without_a_record(self, *, blind: str) -> None:
        """The record of its submit is not there, and nobody would find it from here."""
        control, newest = control_folder(self.checkpoint), self.state.newest
        (submitted,) = [record.number for record in self.records() if record.body.kind == "submitted"]
        self._terminal.storage.delete(record_address(control, submitted))
        beat = join(driver_folder(control, newest.number, "0a0a0a0a"), HEARTBEAT)
        self._terminal.storage.write(beat, codec.encode(a_beat(newest.number).heartbeat))
        self._terminal.launcher.blind = blind

    def records(self):
        from streamops.control.log import LogReader

        return LogReader.of_checkpoint(self._terminal.storage, self.checkpoint).read()


# The plan


def test_a_dry_run_tells_what_is_read_and_where_it_goes_and_changes_nothing(orders, elsewhere):
    answer = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--dry-run")

    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0].startswith("backfill 20260301-120000 of orders: from ")
    assert "  because  a wrong rate" in lines
    assert "  reads    400 offsets of 2 partitions in 3 steps" in lines
    assert "           orders-0 [100, 400): 300" in lines
    assert "           orders-1 [50, 150): 100" in lines
    assert any(line.startswith("  takes    nobody knows how long") for line in lines)
    assert orders.storage.list(backfills_folder(orders.spec().checkpoint)) == ()


def test_the_stream_s_own_table_is_refused_where_it_does_not_know_rows_by_their_key(orders):
    answer = orders.run("backfill", "orders", *RANGE, *WHY, "--dry-run")

    assert answer.code == 1
    assert "backfill of orders refused: the sink of orders is idempotent" in answer.err
    assert "--table OTHER" in answer.err


def test_the_stream_s_own_table_is_taken_where_it_knows_rows_by_their_key(orders):
    orders.declare("orders", sink={"guarantee": "idempotent-by-key"})

    answer = orders.run("backfill", "orders", *RANGE, *WHY, "--dry-run", "--json")

    assert answer.code == 0
    assert answer.document["is_redirected"] is False
    assert answer.document["records"] == 400
    assert json.loads(answer.document["end"]) == {"orders": {"0": 400, "1": 150}}


def test_records_that_are_deleted_are_named_to_the_record(orders, elsewhere):
    orders.broker.has("orders", (250, 1000), (0, 200))

    refused = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--dry-run")
    accepted = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--dry-run", "--accept-expired")

    assert refused.code == 1
    assert "  MISSING  orders-0 [100, 250): 150" in refused.err
    assert accepted.code == 0
    assert "  MISSING  orders-0 [100, 250): 150" in accepted.out


def test_times_are_asked_of_the_cluster(orders, elsewhere):
    begin, end = START - timedelta(hours=2), START - timedelta(hours=1)
    for partition, first, last in ((0, 10, 20), (1, 5, 7)):
        orders.broker.offsets["orders", partition, begin] = first
        orders.broker.offsets["orders", partition, end] = last

    answer = orders.run(
        *("backfill", "orders", "--from", begin.isoformat(), "--to", end.isoformat()),
        *elsewhere,
        *WHY,
        "--dry-run",
        "--json",
    )

    assert answer.document["start"] == '{"orders":{"0":10,"1":5}}'
    assert answer.document["end"] == '{"orders":{"0":20,"1":7}}'
    assert answer.document["before"] == end.isoformat()


def test_a_broker_that_is_away_is_said(orders, elsewhere):
    orders.broker.trouble = "nobody answers"

    answer = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--dry-run")

    assert answer.code == 1
    assert "what topic orders holds is not known: nobody answers" in answer.err


def test_a_job_with_state_is_refused_unless_near_enough_is_good_enough(orders, elsewhere):
    orders.storage.write(join(orders.spec().checkpoint, "state", "0", "0", "1.delta"), CHANGES)

    refused = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--dry-run")
    accepted = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--dry-run", "--approximate")

    assert refused.code == 1
    assert "orders keeps state" in refused.err
    assert accepted.code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((*WHY,), "which range? --from and --to name its ends", id="no range"),
        pytest.param(("--from", "2026-03-01T10:00", "--to", "x", *WHY), "has no time zone", id="no zone"),
        pytest.param(
            ("--from", "{", "--to", "{}", *WHY), "from: found '{', expected a time with its zone", id="broken"
        ),
        pytest.param((*RANGE,), "--reason is empty", id="no reason"),
        pytest.param(
            ("--confirm-dead", "1", *RANGE, *WHY),
            "--confirm-dead and --accept-unsafe go with --resume ID",
            id="of whom",
        ),
        pytest.param(("--resume", "none"), "no backfill is called 'none'; there are: none", id="unknown"),
    ],
)
def test_what_makes_no_sense_is_told(orders, arguments, message):
    answer = orders.run("backfill", "orders", *arguments)

    assert answer.code == 2
    assert message in answer.err


# The run


def test_a_backfill_runs_to_its_end(orders, elsewhere):
    driver = Driver(orders)

    answer = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes")

    assert answer.code == 0, answer.err
    assert "100 % done, 400 of 400 offsets, 3 of 3 steps" in answer.out
    assert "finished: 3 batches (0–2)" in answer.out
    (claim,) = [record.body for record in driver.records() if isinstance(record.body, Claimed)]
    assert claim.mode is ClaimMode.BACKFILL
    assert json.loads(claim.spec)["trigger"]["kind"] == "once"
    assert "of 400: " in answer.err


def test_a_driver_that_dies_is_replaced_and_no_step_is_left_out(orders, elsewhere):
    driver = Driver(orders, dies_after=1)

    answer = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes")

    assert answer.code == 0, answer.err
    ends = [record.body.outcome for record in driver.records() if isinstance(record.body, DriverEnded)]
    assert ends[-1] is Outcome.FINISHED
    assert len(ends) == 2


def test_nobody_need_watch_and_whoever_asks_later_sees_the_end(orders, elsewhere):
    driver = Driver(orders)

    begun = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes", "--no-wait")
    listed = orders.run("backfill", "orders", "--list", "--json")
    resumed = orders.run("backfill", "orders", "--resume", driver.name)

    assert begun.code == 0
    assert listed.document["backfills"][0]["progress"]["percent"] == 0
    assert "100 % done" in resumed.out
    assert resumed.code == 0


def test_whoever_does_not_wait_is_told_that_nobody_restarts_the_driver(orders, elsewhere):
    driver = Driver(orders)

    begun = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes", "--no-wait")
    resumed = orders.run("backfill", "orders", "--resume", driver.name)

    told = f"nobody starts another one when it dies, until `streamops backfill orders --resume {driver.name}`"
    assert told in begun.err
    assert told not in resumed.err


def test_a_backfill_that_is_stopped_goes_on_where_it_stood(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes", "--no-wait")
    driver.work()
    orders.clock.on_sleep = lambda: None

    stopped = orders.run("backfill", "orders", "--stop", driver.name, "--reason", "later")
    driver.leave(Outcome.STOPPED)
    orders.clock.on_sleep = driver.work
    resumed = orders.run("backfill", "orders", "--resume", driver.name, "--reason", "now")

    assert "33 % done" in stopped.out
    assert "100 % done" in resumed.out
    claims = [record.body for record in driver.records() if isinstance(record.body, Claimed)]
    assert [claim.position.commit for claim in claims] == [-1, 0]


def test_a_backfill_goes_on_by_its_plan_with_the_resources_that_are_declared_by_now(orders, elsewhere):
    """Range and table are the plan's; the job, its confs and its source's options are the declaration's of the moment."""
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes", "--no-wait")
    driver.work()
    plan, name = driver.plan, driver.name
    orders.clock.on_sleep = lambda: None
    orders.run("backfill", "orders", "--stop", name, "--reason", "later")
    driver.leave(Outcome.STOPPED)

    orders.declare(
        "orders",
        sink={"delta": {"table": "data/other"}},
        launch={"conf": {"spark.driver.memory": "7g"}},
        keep={"days": 1},
    )
    orders.clock.on_sleep = driver.work
    resumed = orders.run("backfill", "orders", "--resume", name, "--reason", "now")

    assert resumed.code == 0, resumed.err
    assert driver.plan == plan
    first, second = [json.loads(record.body.spec) for record in driver.records() if isinstance(record.body, Claimed)]
    assert first["sink"] == second["sink"]
    assert ["spark.driver.memory", "7g"] in second["launch"]["conf"]
    assert len(orders.storage.list(join(driver.checkpoint, "commits"))) == len(plan.chunks)


def test_a_backfill_of_a_stream_that_has_another_checkpoint_by_now_is_named_as_missing(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes", "--no-wait")
    name = driver.name
    orders.clock.on_sleep = lambda: None

    orders.declare("orders", checkpoint="data/checkpoints/another")
    resumed = orders.run("backfill", "orders", "--resume", name, "--reason", "now")

    assert resumed.code == 2
    assert f"no backfill is called '{name}'" in resumed.err


def test_a_live_query_is_not_touched(orders, elsewhere):
    orders.started()
    before = orders.records()
    Driver(orders)
    live = orders.launcher.drivers[0]
    orders.launcher.drivers.remove(live)

    answer = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes")

    assert answer.code == 0, answer.err
    assert orders.records() == before
    assert live.signals == []


def test_without_a_terminal_it_is_not_begun_unasked(orders, elsewhere):
    answer = orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY)

    assert answer.code == 2
    assert "there is no terminal to ask at; add --yes, or --dry-run to look" in answer.err
    assert orders.storage.list(backfills_folder(orders.spec().checkpoint)) == ()


def test_a_person_may_vouch_for_the_end_of_a_backfill_s_driver(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes", "--no-wait")
    orders.launcher.drivers[0].state = DriverState.UNKNOWN
    orders.clock.on_sleep = lambda: None

    orders.run(
        "backfill", "orders", "--resume", driver.name, "--confirm-dead", "1", "--no-wait", "--reason", "host is gone"
    )

    ends = [record.body.outcome for record in driver.records() if isinstance(record.body, DriverEnded)]
    assert ends == [Outcome.CONFIRMED_DEAD]
    assert len(orders.launcher.drivers) == 2


def test_a_backfill_s_driver_that_beats_while_it_is_watched_is_not_called_dead(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes", "--no-wait")
    orders.launcher.drivers[0].state = DriverState.UNKNOWN
    folder = driver_folder(control_folder(driver.checkpoint), 1, "0a" * 8)
    beat = Heartbeat(
        epoch=1,
        instance="0a" * 8,
        token="t",
        sequence=1,
        phase=DriverPhase.RUNNING,
        at="2026-03-01T12:00:00+00:00",
        host="elsewhere",
        pid=7,
    )
    numbers = count(2)

    def go_on():
        orders.storage.write(join(folder, HEARTBEAT), codec.encode(replace(beat, sequence=next(numbers))))

    go_on()
    orders.clock.on_sleep = go_on

    answer = orders.run(
        "backfill", "orders", "--resume", driver.name, "--confirm-dead", "1", "--no-wait", "--reason", "host is gone"
    )

    assert answer.code == 1
    assert "epoch 1 is not dead: its beat moved while it was watched" in answer.err
    assert len(orders.launcher.drivers) == 1


def test_nobody_can_vouch_for_the_end_of_a_driver_that_is_seen_alive(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes", "--no-wait")
    orders.clock.on_sleep = lambda: None

    answer = orders.run(
        "backfill", "orders", "--resume", driver.name, "--confirm-dead", "1", "--reason", "host is gone"
    )

    assert answer.code == 1
    assert "epoch 1 is not dead" in answer.err


def test_a_range_that_has_not_ended_is_refused(orders, elsewhere):
    end = (START + timedelta(hours=1)).isoformat()

    answer = orders.run("backfill", "orders", "--from", START.isoformat(), "--to", end, *elsewhere, *WHY, "--dry-run")

    assert answer.code == 1
    assert "the range ends at 2026-03-01T13:00:00+00:00, which is to come" in answer.err


def test_a_table_that_is_a_checkpoint_is_refused(orders):
    checkpoint = local_path(orders.spec().checkpoint)

    answer = orders.run("backfill", "orders", *RANGE, "--table", str(checkpoint), *WHY, "--dry-run")

    assert answer.code == 1
    assert "the checkpoint of orders" in answer.err


def test_a_backfill_that_can_t_go_on_names_the_command_that_lets_it(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes", "--no-wait")
    driver.work()
    driver.leave(Outcome.STOPPED)
    orders.storage.write(join(driver.checkpoint, "commits", "7"), commit())  # A stranger's.
    orders.clock.on_sleep = lambda: None

    parked = orders.run("backfill", "orders", "--resume", driver.name)
    orders.storage.delete(join(driver.checkpoint, "commits", "7"))
    orders.clock.on_sleep = driver.work
    command = f"streamops backfill orders --resume {driver.name} --accept-unsafe --reason"
    resumed = orders.run(*command.split()[1:], "it was me")

    assert parked.code == 1
    assert f"`{command} …`" in parked.out
    assert f"when the cause is mended: `streamops backfill orders --resume {driver.name} --reason …`" in parked.out
    assert "100 % done" in resumed.out, resumed.err


def test_a_backfill_whose_driver_ended_right_behind_its_last_commit_is_finished(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes", "--no-wait")
    driver.work()
    orders.clock.on_sleep = lambda: None
    orders.run("backfill", "orders", "--stop", driver.name, "--reason", "later")
    driver.leave(Outcome.STOPPED)

    resumed = orders.run("backfill", "orders", "--resume", driver.name)

    assert resumed.code == 0
    assert "100 % done" in resumed.out
    assert "finished: 1 batch (0)" in resumed.out
    assert len(orders.launcher.drivers) == 1


def test_a_stop_waits_for_the_end_of_the_driver_and_puts_it_on_record(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes", "--no-wait")
    driver.work()
    orders.clock.on_sleep = lambda: driver.leave(Outcome.STOPPED)

    stopped = orders.run("backfill", "orders", "--stop", driver.name, "--reason", "later")

    assert stopped.code == 0
    assert "33 % done" in stopped.out
    assert "ended: 1 batch (0)" in stopped.out
    ends = [record.body.outcome for record in driver.records() if isinstance(record.body, DriverEnded)]
    assert ends == [Outcome.STOPPED]


def test_a_stop_of_a_parked_backfill_ends_it(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes", "--no-wait")
    driver.work()
    driver.leave(Outcome.STOPPED)
    orders.storage.write(join(driver.checkpoint, "commits", "7"), commit())
    orders.clock.on_sleep = lambda: None
    orders.run("backfill", "orders", "--resume", driver.name)
    orders.storage.delete(join(driver.checkpoint, "commits", "7"))

    stopped = orders.run("backfill", "orders", "--stop", driver.name, "--reason", "given up")

    assert (stopped.code, driver.state.maintenance) == (0, None)
    assert "ended: " in stopped.out


def test_a_stop_does_not_wait_for_a_driver_out_of_sight_and_names_the_way_out(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes", "--no-wait")
    orders.launcher.drivers[0].state = DriverState.UNKNOWN
    orders.clock.on_sleep = lambda: None

    stopped = orders.run("backfill", "orders", "--stop", driver.name, "--reason", "later")

    vouched = orders.run(
        "backfill", "orders", "--stop", driver.name, "--confirm-dead", "1", "--reason", "its host is gone"
    )

    assert stopped.code == 1
    assert f"`streamops backfill orders --resume {driver.name} --confirm-dead 1 --reason …`" in stopped.out
    assert vouched.code == 0
    assert len(orders.launcher.drivers) == 1


def test_a_backfill_whose_log_says_that_it_is_stopped_on_purpose_goes_on_when_it_is_resumed(orders, elsewhere):
    """No command asks for that; somebody who drives the library may."""
    driver = begun(orders, elsewhere)
    spec = backfill_spec(orders.spec(), driver.plan)
    Requests(spec, storage=orders.storage, clock=orders.clock, author=PERSON).stop("not now")
    driver.leave(Outcome.STOPPED)
    orders.clock.on_sleep = driver.work

    assert orders.run("backfill", "orders", "--resume", driver.name).code == 0


@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_backfill_whose_rest_is_deleted_is_parked_with_its_own_way_out(orders, elsewhere, fails):
    """Whatever the stream's source is declared to make of lost records: a driver of a backfill fails on them."""
    orders.declare("orders", source={"kafka": {"options": {"failOnDataLoss": fails}}})
    driver = begun(orders, elsewhere)
    step = driver.plan.chunks[1]
    orders.storage.write(join(driver.checkpoint, "offsets", "1"), offsets(step.kafka_json()))
    orders.launcher.end(orders.launcher.drivers[0])
    orders.broker.has("orders", (350, 1000), (150, 200))

    answer = orders.run("backfill", "orders", "--resume", driver.name)

    assert answer.code == 1
    assert "ask for another backfill of what is left, with --accept-expired, and end this one" in answer.out
    assert "failOnDataLoss" not in answer.out
    assert "  MISSING  orders-0 [" in answer.out
    assert len(orders.launcher.drivers) == 1


# A topic that is made anew


@pytest.fixture
def named(orders: Terminal) -> Terminal:
    """The cluster tells which topic it is."""
    orders.broker.has("orders", (0, 1000), (0, 200), topic_id="first")
    return orders


def test_a_backfill_whose_topic_was_made_anew_is_not_gone_on_with(named, elsewhere):
    driver = begun(named, elsewhere)
    named.launcher.end(named.launcher.drivers[0])
    named.broker.has("orders", (0, 1000), (0, 200), topic_id="second")
    before = driver.records()

    answer = named.run("backfill", "orders", "--resume", driver.name)

    assert answer.code == 1
    assert answer.err == (
        f"error: backfill {driver.name} of orders can't go on: topic orders was deleted and made anew since the plan was made"
        " (its id was first, now it is second). Its offsets mean other records there: ask for a range anew,"
        " `streamops backfill orders --from … --to … --reason …`\n"
    )
    assert driver.records() == before


@pytest.mark.parametrize("topic_id", ["first", ""], ids=["the same topic", "a cluster that does not tell"])
def test_a_backfill_goes_on_while_nothing_says_that_its_topic_is_another(named, elsewhere, topic_id):
    driver = begun(named, elsewhere)
    named.broker.has("orders", (0, 1000), (0, 200), topic_id=topic_id)
    named.clock.on_sleep = driver.work

    assert named.run("backfill", "orders", "--resume", driver.name).code == 0


def test_a_backfill_that_is_done_is_shown_whatever_became_of_its_topic(named, elsewhere):
    driver = begun(named, elsewhere)
    named.clock.on_sleep = driver.work
    named.run("backfill", "orders", "--resume", driver.name)
    named.broker.has("orders", (0, 1), (0, 1), topic_id="second")

    assert named.run("backfill", "orders", "--resume", driver.name).code == 0


def test_no_driver_takes_the_place_of_another_once_the_topic_was_made_anew(named, elsewhere):
    driver = begun(named, elsewhere)

    def make_anew() -> None:
        named.broker.has("orders", (0, 1000), (0, 200), topic_id="second")
        named.launcher.end(named.launcher.drivers[0])

    named.clock.on_sleep = make_anew

    answer = named.run("backfill", "orders", "--resume", driver.name)

    assert answer.code == 1
    assert "one of another topic" in answer.out
    assert f"`streamops backfill orders --resume {driver.name} --accept-unsafe --reason …`" in answer.out
    assert len(named.launcher.drivers) == 1


# Where they stand


def begun(orders: Terminal, elsewhere: tuple[str, str]) -> Driver:
    """A backfill in three steps of which the first is done; whoever began it has gone."""
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--chunk", "150", "--yes", "--no-wait")
    driver.work()
    orders.clock.on_sleep = lambda: None
    return driver


def test_the_list_tells_of_each_how_far_it_is_whether_its_driver_lives_and_who_attends(orders, elsewhere):
    driver = begun(orders, elsewhere)
    fresh = orders.run("backfill", "orders", "--list")
    orders.clock.advance(timedelta(minutes=2))

    alone = orders.run("backfill", "orders", "--list")

    _, header, _, row, note = ["", *alone.out.splitlines()]
    assert header.split() == ["backfill", "phase", "done", "epoch", "driver", "last", "sign", "attended", "by", "range"]
    assert row.split()[:7] == [driver.name, "running", "33", "%", "1", "running", "2026-03-01"]
    assert "nobody" in row
    assert "  backfill  " in fresh.out
    assert note == f"backfill {driver.name} is running, 33 % done: 1 of 3 steps are done"


@pytest.mark.parametrize(
    ("after", "phase", "reason"),
    [
        pytest.param(
            lambda orders, driver: orders.launcher.end(orders.launcher.drivers[0]),
            "waiting",
            "no driver lives, and backfill is there to start one",
            id="a moment ago",
        ),
        pytest.param(
            lambda orders, driver: (
                orders.launcher.end(orders.launcher.drivers[0]),
                orders.clock.advance(timedelta(minutes=2)),
            ),
            "left",
            "no driver lives, and nobody has attended to it since 2026-03-01T12:00:00+00:00 (backfill): `streamops backfill"
            " orders --resume 20260301-120000` goes on with it",
            id="its driver died and nobody watches",
        ),
        pytest.param(
            lambda orders, driver: setattr(orders.launcher.drivers[0], "state", DriverState.UNKNOWN),
            "unknown",
            "its driver can't be seen from here: ",
            id="its host is lost",
        ),
        pytest.param(
            lambda orders, driver: driver.beats_without_a_record(blind="it was started on host host-2, this is host-1"),
            "unknown",
            "its driver can't be seen from here: it was started on host host-2, this is host-1",
            id="its submit is on no record and it beats from another host",
        ),
        pytest.param(
            lambda orders, driver: orders.run(
                "backfill", "orders", "--stop", driver.name, "--no-wait", "--reason", "later"
            ),
            "stopping",
            "1 of 3 steps are done, and its driver ends between two of them",
            id="it is being stopped",
        ),
        pytest.param(
            lambda orders, driver: orders.run("backfill", "orders", "--stop", driver.name, "--reason", "later"),
            "stopped",
            "`streamops backfill orders --resume 20260301-120000` goes on with it",
            id="it was stopped",
        ),
        pytest.param(
            lambda orders, driver: orders.storage.delete(
                join(backfills_folder(orders.spec().checkpoint), driver.name, "plan.json")
            ),
            "unknown",
            "backfill 20260301-120000 has no plan: it was given up before it began",
            id="its plan is gone",
        ),
    ],
)
def test_where_a_backfill_stands(orders, elsewhere, after, phase, reason):
    driver = begun(orders, elsewhere)

    after(orders, driver)

    (listed,) = orders.run("backfill", "orders", "--list", "--json").document["backfills"]
    assert (listed["standing"]["phase"], listed["standing"]["reason"][: len(reason)]) == (phase, reason)
    assert f"orders: backfill {driver.name} is {phase}" in orders.run("status", "orders").out


def test_a_backfill_that_is_done_is_finished_although_its_end_is_not_on_record(orders, elsewhere):
    driver = Driver(orders)
    orders.run("backfill", "orders", *RANGE, *elsewhere, *WHY, "--yes", "--no-wait")
    driver.work()
    driver.work()

    (listed,) = orders.run("backfill", "orders", "--list", "--json").document["backfills"]

    assert listed["standing"]["phase"] == "finished"
    assert "backfill" not in orders.run("status", "orders").out


def test_a_backfill_that_nobody_carries_on_shows_in_the_status_of_the_fleet(orders, elsewhere):
    orders.started()
    orders.write_batches(committed=7)
    before = orders.run("status").code
    begun(orders, elsewhere)
    orders.launcher.end(orders.launcher.drivers[-1])
    orders.clock.advance(timedelta(minutes=2))
    orders.settle()
    orders.beat()

    answer = orders.run("status")

    assert (before, answer.code) == (0, 3)
    assert "orders: backfill 20260301-120000 is left, 33 % done: no driver lives" in answer.out


def test_a_backfill_that_nobody_carries_on_for_five_minutes_is_found_by_the_reconciler(orders, elsewhere):
    orders.started()
    orders.write_batches(committed=7)
    begun(orders, elsewhere)
    orders.launcher.end(orders.launcher.drivers[-1])

    def after(duration: timedelta):
        orders.clock.advance(duration)
        orders.settle()
        return orders.run("reconcile")

    early, late = after(timedelta(minutes=4)), after(timedelta(minutes=2))

    assert (early.code, late.code) == (0, 3)
    assert "orders: left-backfill: backfill 20260301-120000 is left, 33 % done" in late.out
    assert "nobody carries on backfill 20260301-120000 of orders" in late.out
    assert "repair: `streamops backfill orders --resume 20260301-120000`" in late.out
