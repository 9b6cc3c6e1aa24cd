"""Orphans that a reconciler can't kill: it tells them every minute, and the log does not grow by it."""

from dataclasses import replace

import pytest

from streamops.control.records import ActBegun, ActEnded
from streamops.errors import LaunchError
from streamops.reconcile import FindingKind, ReconcileSeverity
from streamops.reconcile.reconciler import TRY_AGAIN_AFTER
from support.reconciling import AUTHOR, LONG, Place, orphan
from support.specs import SUPERVISOR, seconds
from support.world import World

MINUTE = seconds(60)


@pytest.fixture
def place(tmp_path):
    """With an orphan, of a stream that somebody looks after."""
    place = Place(World(tmp_path))
    place.world.supervisor().settle()
    place.world.run(seconds(20))
    orphan(place)
    place.world.run(LONG)
    return place


def refuse(place: Place) -> None:
    """Whoever owns the driver, it is somebody else."""

    def kill(handle):
        raise LaunchError(f"{handle.process} is another user's")

    place.launcher.kill = kill


def the_orphan(place: Place):
    """What a report with acts makes of it, a minute after the one before."""
    place.world.run(MINUTE)
    place.sign(SUPERVISOR)
    (found,) = (finding for finding in place.reconcile(act=True).findings if finding.kind is FindingKind.ORPHAN_DRIVER)
    return found


def acts(place: Place) -> list[str]:
    return [kind for kind in place.record_kinds if kind.startswith("act_")]


def test_a_kill_that_is_refused_is_recorded_and_told(place):
    refuse(place)

    found = the_orphan(place)

    assert (found.severity, found.is_repaired) == (ReconcileSeverity.CRITICAL, False)
    assert "could not be killed: 2 is another user's" in found.done
    assert acts(place) == ["act_begun", "act_ended"]
    assert "another user's" in place.world.records[-1].body.outcome


@pytest.mark.parametrize("trouble", ["refused", "without effect"])
def test_a_kill_that_fails_is_tried_once_an_hour_and_told_every_minute(place, trouble):
    place.world.processes.kill_works = False
    if trouble == "refused":
        refuse(place)

    told = [the_orphan(place) for _ in range(TRY_AGAIN_AFTER // MINUTE)]

    assert all(found.severity is ReconcileSeverity.CRITICAL and not found.is_repaired for found in told)
    assert "tried at" in told[-1].done
    assert acts(place) == ["act_begun", "act_ended"]
    the_orphan(place)
    assert acts(place) == 2 * ["act_begun", "act_ended"]


def test_another_actor_tries_at_once(place):
    """A person may be allowed what the account of Airflow is not."""
    kill = place.launcher.kill
    refuse(place)
    the_orphan(place)
    place.launcher.kill = kill
    place.author = replace(AUTHOR, actor="reconcile")

    found = the_orphan(place)

    assert "was killed and is gone" in found.done
    assert acts(place) == 2 * ["act_begun", "act_ended"]


def test_an_intent_that_a_crash_left_open_is_carried_out(place):
    """However often it crashes, the intent is on record once."""
    kill = place.launcher.kill

    def die(handle):
        raise RuntimeError("the process ends here")

    place.launcher.kill = die
    assert "failed: RuntimeError" in the_orphan(place).done
    assert "failed: RuntimeError" in the_orphan(place).done
    assert acts(place) == ["act_begun"]
    place.launcher.kill = kill

    assert the_orphan(place).is_repaired

    assert isinstance(place.world.records[-2].body, ActBegun)
    assert isinstance(place.world.records[-1].body, ActEnded)


def test_a_clock_that_was_set_back_does_not_hold_the_next_try_up(place):
    refuse(place)
    place.world.clock.advance(24 * TRY_AGAIN_AFTER)
    the_orphan(place)
    place.world.clock.set_wall(place.world.clock.now() - 24 * TRY_AGAIN_AFTER)

    the_orphan(place)

    assert acts(place) == 2 * ["act_begun", "act_ended"]
