"""Overlaps in time: of drivers with drivers, of rounds with outages around them."""

from datetime import timedelta
from pathlib import Path

from streamops_sandbox.chaos.mounts import mounts_below
from streamops_sandbox.chaos.overlap import Sighting, seconds_of_two
from streamops_sandbox.chaos.stock import changes_of_author
from streamops_sandbox.chaos.surroundings import Outages
from streamops_sandbox.chaos.victims import Victim
from streamops_sandbox.timeline import now


def seen(at: float, *leaders: int) -> Sighting:
    return Sighting(at=at, leaders=frozenset(leaders))


def test_two_drivers_are_counted_while_both_are_seen() -> None:
    looks = [seen(0, 1), seen(1, 1, 2), seen(2, 1, 2), seen(3, 1, 2), seen(4, 2)]

    assert seconds_of_two(looks, longest_gap=1.5) == 2


def test_one_driver_after_the_other_is_no_overlap() -> None:
    assert seconds_of_two([seen(0, 1), seen(1), seen(2, 2)], longest_gap=1.5) == 0


def test_a_gap_in_the_looks_proves_nothing() -> None:
    assert seconds_of_two([seen(0, 1, 2), seen(60, 1, 2)], longest_gap=1.5) == 0


def test_a_table_that_is_handed_over_once_has_one_change_of_author_and_one_with_two_at_work_has_more() -> None:
    assert changes_of_author(["a", "a", "b", "b"]) == 1
    assert changes_of_author(["a", "b", "a", "b"]) == 3


def test_a_round_knows_what_was_down_at_any_moment_of_it() -> None:
    outages = Outages()
    before = now()
    with outages.during(Victim.BROKER_KILL):
        during = now()
    after = now() + timedelta(microseconds=1)

    assert outages.between(before, after) == ("broker-kill",)
    assert outages.between(during, during) == ("broker-kill",)
    assert outages.between(after, after) == ()


def test_an_outage_that_goes_on_disturbs_everything_since() -> None:
    outages = Outages()
    with outages.during(Victim.SUPERVISOR_KILL):
        begin = now()
        assert outages.between(begin, now()) == ("supervisor-kill",)


def test_mounts_below_a_folder_are_named_the_newest_first() -> None:
    table = "a / ext4 rw 0 0\nb /s/one tmpfs rw 0 0\nc /s/one ext4 ro 0 0\nd /s/with\\040space tmpfs rw 0 0\ne /so tmpfs 0 0\n"

    assert mounts_below(Path("/s"), table) == (Path("/s/with space"), Path("/s/one"), Path("/s/one"))
