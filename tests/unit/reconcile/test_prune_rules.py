"""Which logs and traces of ended drivers may go: rules one by one, then the law over drawn histories."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.control.fold import fold
from streamops.control.records import Adopted, Position
from streamops.control.state import LogState
from streamops.reconcile.prune_rules import YOUNGEST, Leftover, StreamLeftovers, fates, may_go, to_date
from streamops.spec import Keep
from support.observations import NOW
from support.records import a_claim, a_state, a_submit, an_end, lawful_logs

TWO = Keep(epochs=2, days=7)
LONG_AGO = NOW - timedelta(days=30)


def ended(*epochs: int) -> list:
    """Records of drivers that were proven to have ended."""
    return [body for epoch in epochs for body in (a_claim(epoch), a_submit(epoch), an_end(epoch))]


def a_leftover(epoch: int, **changes) -> Leftover:
    """A log and a folder that nobody has written for long."""
    found = Leftover(
        epoch=epoch,
        logs=(f"{epoch:06d}.log",),
        folders=(f"{epoch}-0a0a0a0a",),
        is_dated=True,
        written_at=LONG_AGO,
        size=10,
    )
    return replace(found, **changes)


def leftovers(*bodies, of=range(1, 6), **changes) -> StreamLeftovers:
    """A stream with such a log, whose drivers of those epochs have all left something long ago."""
    found = tuple(a_leftover(epoch) for epoch in of)
    return replace(StreamLeftovers(stream="orders", state=a_state(*bodies), found=found), **changes)


def going(facts: StreamLeftovers, keep: Keep = TWO) -> list[int]:
    return [leftover.epoch for leftover in may_go(facts, keep, now=NOW)]


def why(facts: StreamLeftovers, epoch: int, keep: Keep = TWO) -> str:
    (stays,) = [fate.stays for fate in fates(facts, keep, now=NOW) if fate.leftover.epoch == epoch]
    return stays


FIVE = ended(1, 2, 3, 4, 5)


def test_all_but_the_last_epochs_go_the_oldest_first():
    assert going(leftovers(*FIVE)) == [1, 2, 3]


def test_what_was_written_within_the_days_stays_however_many_epochs_it_is():
    young = NOW - timedelta(days=6)
    facts = leftovers(*FIVE, found=tuple(a_leftover(n, written_at=young if n > 1 else LONG_AGO) for n in range(1, 6)))

    assert going(facts) == [1]
    assert "7 days are kept" in why(facts, 2)


def test_without_days_the_epochs_alone_count():
    facts = leftovers(*FIVE, found=tuple(a_leftover(n, written_at=NOW - 2 * YOUNGEST) for n in range(1, 6)))

    assert going(facts, Keep(epochs=2, days=0)) == [1, 2, 3]


def test_what_was_written_a_moment_ago_stays_even_then():
    facts = leftovers(*FIVE, found=tuple(a_leftover(n, written_at=NOW - YOUNGEST) for n in range(1, 6)))

    assert going(facts, Keep(epochs=2, days=0)) == []


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        pytest.param(leftovers(), "no claim is on record", id="the log is gone, or its volume is not mounted"),
        pytest.param(
            leftovers(*ended(1, 2, 3)), "up to epoch 5 left traces", id="the log was lost, or is an older copy"
        ),
        pytest.param(leftovers(*FIVE, stream="other"), "belongs to stream orders", id="the log is another stream's"),
    ],
)
def test_where_the_log_can_not_be_trusted_all_stays(facts, reason):
    assert going(facts) == []
    assert reason in why(facts, 1)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        pytest.param(
            leftovers(a_claim(1), a_submit(1), *ended(2, 3, 4, 5)),
            "its end is not on record",
            id="superseded, not ended",
        ),
        pytest.param(leftovers(*FIVE, living=frozenset({1})), "a driver of it lives", id="disowned, and seen alive"),
        pytest.param(
            leftovers(Adopted(stream="orders", position=Position(), epochs_seen=1), *ended(2, 3, 4, 5)),
            "from before the log was adopted",
            id="from before the log",
        ),
        pytest.param(
            leftovers(*FIVE, found=(a_leftover(1, is_dated=False, trouble="EACCES"), *leftovers(of=range(2, 6)).found)),
            "can't be looked at: EACCES",
            id="its files can't be looked at",
        ),
        pytest.param(
            leftovers(*FIVE, found=(a_leftover(1, is_dated=False), *leftovers(of=range(2, 6)).found)),
            "nobody has looked",
            id="nobody has looked at its files",
        ),
    ],
)
def test_an_old_epoch_stays(facts, reason):
    assert 1 not in going(facts)
    assert reason in why(facts, 1)


def test_the_highest_epoch_with_a_folder_stays_though_many_later_drivers_died_before_their_first_beat():
    """It alone tells a control log that was lost: `epochs_ahead` and an adoption count by it."""
    found = tuple(a_leftover(epoch, folders=("1-0a0a0a0a",) if epoch == 1 else ()) for epoch in range(1, 6))

    facts = leftovers(*FIVE, found=found)

    assert going(facts) == [2, 3]
    assert "control log that was lost" in why(facts, 1)


def test_logs_of_another_checkpoint_do_not_push_the_own_ones_out():
    """The stream was moved, and its epochs began anew: what bears a higher number is none of the last."""
    found = tuple(a_leftover(epoch, folders=("5-0a",) if epoch == 5 else ()) for epoch in (1, 2, 3, 4, 5, 900, 901))

    facts = leftovers(*FIVE, found=found)

    assert going(facts) == [1, 2, 3]
    assert why(facts, 900) == "newer than every claim on record"


def test_a_stamp_from_the_future_counts_as_now_until_a_later_epoch_tells_better():
    ahead = NOW + timedelta(days=900)
    stamped = [a_leftover(1, written_at=ahead), a_leftover(2, written_at=ahead), a_leftover(3)]
    rest = [a_leftover(4), a_leftover(5)]

    assert going(leftovers(*FIVE, found=(*stamped, *rest))) == [1, 2, 3]
    assert going(leftovers(*FIVE, found=tuple(a_leftover(n, written_at=ahead) for n in range(1, 6)))) == []


def test_a_folder_without_a_file_is_as_old_as_can_be():
    """What a pruner that crashed has left."""
    facts = leftovers(*FIVE, found=(a_leftover(1, logs=(), written_at=None), *leftovers(of=range(2, 6)).found))

    assert 1 in going(facts)


def test_only_what_its_number_does_not_keep_is_worth_a_look():
    facts = leftovers(*FIVE, found=tuple(a_leftover(n, is_dated=False, written_at=None) for n in range(1, 6)))

    assert [leftover.epoch for leftover in to_date(facts, TWO)] == [1, 2, 3]


@pytest.mark.parametrize("figures", [{"epochs": 1}, {"epochs": 0}, {"days": -1}, {"days": 5000}])
def test_less_than_two_epochs_or_days_that_are_none_are_refused(figures):
    with pytest.raises(ValueError, match=r"epochs|days"):
        Keep(**figures)


# The law

keeps = st.builds(Keep, epochs=st.integers(2, 6), days=st.integers(0, 20))
ages = st.none() | st.integers(-5, 60).map(timedelta)


@st.composite
def histories(draw) -> StreamLeftovers:
    """A log as supervisors write it, and any leftovers beside it."""
    state: LogState = fold(draw(lawful_logs()))
    numbers = draw(st.sets(st.integers(1, state.next_epoch + 1)))
    found = []
    for epoch in sorted(numbers):
        age = draw(ages)
        written_at = None if age is None else NOW - age
        folders = draw(st.sampled_from(((), (f"{epoch}-0a0a0a0a",))))
        found.append(a_leftover(epoch, folders=folders, written_at=written_at, is_dated=draw(st.booleans())))
    living = frozenset(draw(st.sets(st.sampled_from(sorted(numbers)), max_size=2))) if numbers else frozenset()
    return StreamLeftovers(stream="orders", state=state, found=tuple(found), living=living)


@given(histories(), keeps)
def test_nothing_of_a_driver_that_may_live_nor_of_the_newest_goes_and_no_protection_is_lowered(facts, keep):
    gone = set(going(facts, keep))
    left = replace(facts, found=tuple(one for one in facts.found if one.epoch not in gone))

    assert gone.isdisjoint(epoch.number for epoch in facts.state.open_epochs)
    assert gone.isdisjoint(facts.living)
    assert all(epoch < facts.newest for epoch in gone)
    assert left.highest_folder == facts.highest_folder


@given(histories(), keeps)
def test_what_is_left_is_bounded(facts, keep):
    """Ended epochs that are left: the last ones, those within the days, the one that the log leans on."""
    whole = facts.state.newest is None or facts.highest_folder >= facts.state.next_epoch
    dated = replace(facts, found=tuple(replace(one, is_dated=True) for one in facts.found))
    left = [fate.leftover for fate in fates(dated, keep, now=NOW) if fate.stays]
    within = max(timedelta(days=keep.days), YOUNGEST)
    excused = {epoch.number for epoch in facts.state.open_epochs} | facts.living | {facts.newest}
    old = [
        one
        for one in left
        if one.epoch not in excused
        and one.epoch < facts.newest
        and (one.written_at is None or timedelta(0) <= NOW - one.written_at > within)
    ]

    assert whole or len(old) <= keep.epochs + 1


@given(histories(), keeps)
def test_what_stays_once_stays_or_only_grows_old(facts, keep):
    """Judged again after the deletion, nothing that was kept goes: two pruners in a row are one."""
    gone = set(going(facts, keep))
    left = replace(facts, found=tuple(one for one in facts.found if one.epoch not in gone))

    assert going(left, keep) == []
