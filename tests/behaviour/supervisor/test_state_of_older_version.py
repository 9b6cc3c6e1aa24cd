"""A state root of version 60b607b is read, and its streams go on."""

from datetime import datetime
from pathlib import Path

import pytest

from streamops.control.backfill_plan import read_plan
from streamops.control.drivers import driver_instances, traces_among
from streamops.control.layout import control_folder
from streamops.control.log import LogReader
from streamops.control.records import Claimed, VerdictChanged
from streamops.control.registry import read_entry
from streamops.control.snapshot import load_state
from streamops.dead_letters.replay import ReplayStore
from streamops.fleet.health_history import HealthHistory
from streamops.operations.history import tell
from streamops.supervision.decision import Action
from support.old_state import SINCE_START, STATE_ROOT, TOLD, old_state
from support.specs import seconds
from support.world import World

CHECKPOINT = TOLD["orders"]["checkpoint"]
CONTROL = control_folder(CHECKPOINT)


@pytest.fixture
def storage():
    return old_state()


@pytest.fixture
def world(storage):
    """The stream today: nothing of its drivers lives."""
    world = World(Path(STATE_ROOT.removeprefix("file://")))
    world.storage = storage
    world.clock.advance(SINCE_START)
    return world


def test_the_control_log_says_what_it_said(storage):
    told = TOLD["orders"]

    records = LogReader(storage, CONTROL).read()
    state = load_state(storage, CONTROL)

    assert [type(record.body).__name__ for record in records] == told["kinds"]
    assert [record.reason for record in records if record.reason] == told["reasons"]
    assert sorted({record.by.actor for record in records}) == told["authors"]
    assert (state.next_number, state.next_epoch, str(state.desire)) == (24, told["next_epoch"], told["desire"])
    assert (state.position.offset, state.position.commit) == (told["position"]["offset"], told["position"]["commit"])
    assert (len(state.failures), len(state.open_epochs)) == (told["failures"], told["open_epochs"])


def test_its_history_is_told_to_the_last_act(storage):
    entries = list(tell(LogReader(storage, CONTROL).read()))

    assert not [entry for entry in entries if "unreadable" in entry.what]
    assert [entry.why for entry in entries if entry.what.startswith("stop")] == [
        "maintenance of the table",
        "handed over",
    ]


def test_what_its_drivers_left_is_read(storage):
    instances = driver_instances(storage, CONTROL)
    traces = [trace for epoch in range(1, 7) for trace in traces_among(instances, storage, CONTROL, epoch)]

    assert len(traces) == 6
    assert not any(trace.hides_beat for trace in traces)
    assert all(trace.heartbeat for trace in traces)
    assert [trace.exit is not None for trace in traces] == [False, True, True, True, True, True]


def test_the_registry_knows_the_stream(storage):
    entry = read_entry(storage, STATE_ROOT, "orders")

    assert (entry.checkpoint, entry.query_id) == (CHECKPOINT, TOLD["orders"]["position"]["query_id"])


def test_a_stopped_stream_stays_stopped(world):
    supervisor = world.supervisor()

    assert supervisor.settle().action is Action.STOPPED
    assert len(world.records) == TOLD["orders"]["records"]


def test_a_start_goes_on_from_the_same_checkpoint(world):
    supervisor = world.supervisor()
    world.person().start("the new version is in place")

    world.run(seconds(60), supervisor)

    (claim,) = [record.body for record in world.records[24:] if isinstance(record.body, Claimed)]
    assert (claim.epoch, claim.position.commit) == (7, 58)
    assert [epoch for epoch, _ in world.writes] == [7] * len(world.writes)
    assert world.writes[0] == (7, 59)


@pytest.mark.parametrize("stream", TOLD["health"])
def test_the_verdicts_of_its_rounds_are_known(storage, stream):
    told = TOLD["health"][stream]
    now = datetime.fromisoformat(TOLD["health_now"])

    kept = HealthHistory(storage, STATE_ROOT, stream).past(now).entries
    records = LogReader(storage, control_folder(f"file:///data/checkpoints/{stream}")).read()

    assert [str(entry.sample.verdict) for entry in kept] == told["kept"]
    changes = [record.body for record in records if isinstance(record.body, VerdictChanged)]
    assert [[body.before, body.after] for body in changes] == told["recorded"]


def test_a_replay_is_done(storage):
    (replay,) = ReplayStore(storage=storage, checkpoint="file:///checkpoints/orders").replays()
    (told,) = TOLD["replays"]

    assert not replay.is_open
    assert (replay.plan.id, replay.plan.reason) == (told["plan"]["id"], told["plan"]["reason"])
    assert [list(sent.to_offsets) for sent in replay.done.sent] == [sent["to_offsets"] for sent in told["done"]["sent"]]


def test_a_backfill_s_plan_says_the_same(storage):
    plan = read_plan(storage, CHECKPOINT, "march")
    told = TOLD["plan"]

    assert (plan.stream, plan.by, plan.reason, plan.asked) == tuple(
        told[name] for name in ("stream", "by", "reason", "asked")
    )
    assert plan.at == datetime.fromisoformat(told["at"])
    for found, expected in zip((plan.start, *plan.chunks), (told["start"], *told["chunks"]), strict=True):
        assert [(one.topic, one.partition, one.offset) for one in found.positions] == [
            (one["topic"], one["partition"], one["offset"]) for one in expected["positions"]
        ]
