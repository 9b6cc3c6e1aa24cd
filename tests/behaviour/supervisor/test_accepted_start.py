"""A person's acceptance of an unsafe start serves one driver: not none, and not two."""

import pytest

from streamops.control.records import Outcome
from streamops.errors import LaunchError
from streamops.spec import Timings
from streamops.supervision.decision import Action
from support.fencing import a_stopped_stream, a_submit_without_a_record, last_batch, put_checkpoint_back, write_batch
from support.specs import seconds

TIMINGS = Timings()


@pytest.fixture
def put_back(world):
    """A copy of the checkpoint was put back that is one batch older, and a person accepts the start from there."""
    supervisor = a_stopped_stream(world)
    put_checkpoint_back(world)
    assert supervisor.settle().action is Action.PARKED
    world.person().release("replay is wanted", accepts_unsafe=True)
    return supervisor


def test_a_claim_that_was_left_behind_has_not_used_it_up(world, put_back):
    assert put_back.step().action is Action.CLAIM

    decision = world.run(TIMINGS.claim + seconds(60), world.supervisor())

    assert decision.action is Action.KEEP


def test_a_submit_that_failed_has_not_used_it_up(world, put_back):
    world.processes.submit_error = LaunchError("spark-submit is not there")
    put_back.settle()
    assert world.state.newest.end.outcome is Outcome.LAUNCH_FAILED
    world.processes.submit_error = None

    decision = world.run(seconds(60), put_back)

    assert decision.action is Action.KEEP


def test_it_does_not_cover_what_somebody_wrote_after_the_claim(world, put_back):
    assert put_back.step().action is Action.CLAIM
    write_batch(world, last_batch(world) + 1)

    decision = world.run(TIMINGS.claim + seconds(60), world.supervisor())

    assert decision.action is Action.PARKED
    assert "foreign writer" in decision.reason


def test_a_driver_that_was_submitted_without_a_record_has_used_it_up(world, put_back):
    a_submit_without_a_record(world)
    world.run(seconds(20))
    first = last_batch(world)
    assert first >= 0

    world.run(TIMINGS.claim + TIMINGS.takeover + seconds(120), world.supervisor())
    world.kill(world.driver)
    put_checkpoint_back(world)
    put_checkpoint_back(world)
    decision = world.run(seconds(120), world.supervisor())

    assert decision.action is Action.PARKED
