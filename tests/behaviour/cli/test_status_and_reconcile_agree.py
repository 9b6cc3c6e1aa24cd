"""`status` and `reconcile` call for a person at the same moments: one judgement, read twice."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from support.terminal import Terminal

NEEDS_A_PERSON = 4


def runs(terminal: Terminal) -> None:
    terminal.started()
    terminal.make_sound()


def is_stopped(terminal: Terminal) -> None:
    driver = terminal.started()
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")
    terminal.launcher.end(driver)
    terminal.settle()
    terminal.make_sound()


def waits_for_its_next_attempt(terminal: Terminal) -> None:
    runs(terminal)
    terminal.fail()
    terminal.settle()


def is_parked(terminal: Terminal) -> None:
    runs(terminal)
    terminal.storage.write(f"{terminal.spec().checkpoint}/commits/41", b"")
    terminal.fail()
    terminal.settle()
    terminal.clock.advance(timedelta(minutes=1))
    terminal.settle()


def is_parked_and_stopped(terminal: Terminal) -> None:
    is_parked(terminal)
    terminal.run("stop", "orders", "--reason", "later", "--yes")


def is_stopped_on_a_broken_checkpoint(terminal: Terminal) -> None:
    is_stopped(terminal)
    terminal.storage.write(f"{terminal.spec().checkpoint}/offsets/41", b"")


def is_stopped_and_its_records_expired(terminal: Terminal) -> None:
    is_stopped(terminal)
    terminal.broker.has("orders", (70, 90), (0, 40))


def is_stopped_and_its_broker_is_away(terminal: Terminal) -> None:
    is_stopped(terminal)
    terminal.broker.trouble = "_TRANSPORT: no broker answers"


def is_left_alone(terminal: Terminal) -> None:
    runs(terminal)
    terminal.clock.advance(timedelta(minutes=5))


def lost_its_driver_while_nobody_looked(terminal: Terminal) -> None:
    runs(terminal)
    terminal.launcher.end(terminal.launcher.drivers[-1])
    terminal.clock.advance(timedelta(minutes=20))


@pytest.mark.parametrize(
    ("happens", "needs_a_person"),
    [
        (runs, False),
        (is_stopped, False),
        (waits_for_its_next_attempt, False),
        (is_stopped_and_its_broker_is_away, False),
        (is_parked, True),
        (is_parked_and_stopped, True),
        (is_stopped_on_a_broken_checkpoint, True),
        (is_stopped_and_its_records_expired, True),
        (is_left_alone, True),
        (lost_its_driver_while_nobody_looked, True),
    ],
)
def test_both_call_for_a_person(terminal: Terminal, happens: Callable[[Terminal], None], needs_a_person: bool) -> None:
    happens(terminal)

    codes = [terminal.run(command).code for command in ("status", "reconcile")]

    assert [code == NEEDS_A_PERSON for code in codes] == [needs_a_person] * 2
