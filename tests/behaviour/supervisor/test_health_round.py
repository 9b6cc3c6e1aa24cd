"""Rounds of health checks: what is judged, kept, recorded and told, whatever fails or hangs on the way."""

import threading
from datetime import timedelta

import pytest

from streamops.control.layout import control_folder, record_address
from streamops.errors import StorageError
from streamops.fleet import observe_health as health_look
from streamops.fleet.health_round import RoundPace, order_of_round
from streamops.storage.local import LocalStorage
from streamops.verdict import Verdict
from support.health_rounds import EVERY, STATE_ROOT, Fleet, hurried, verdicts
from support.storage import InterruptibleStorage, SwitchableStorage

SOON = timedelta(seconds=0.5)


@pytest.fixture
def fleet():
    return Fleet("orders", "clicks", "returns")


def told(fleet):
    return [str(change) for change in fleet.told]


# What is found, kept and told


def test_a_fleet_that_is_fine_is_kept_and_nobody_is_told(fleet):
    (first, second) = fleet.rounds(2)

    assert verdicts(first) == {"orders": Verdict.OK, "clicks": Verdict.OK, "returns": Verdict.OK}
    assert (first.troubles, second.troubles) == ((), ())
    assert fleet.kept("orders") == ["ok", "ok"]
    assert fleet.recorded("orders") == []
    assert fleet.told == []


def test_damage_is_told_once_with_its_report_and_is_on_record(fleet):
    fleet.rounds(1)
    fleet.damage("orders")

    report, *_ = fleet.rounds(3)

    assert verdicts(report)["orders"] is Verdict.CRITICAL
    assert told(fleet) == ["orders: no verdict -> critical (unreadable-last-commit)"]
    assert fleet.told[0].report.startswith("critical  file:///data/checkpoints/orders\n")
    assert "repair: " in fleet.told[0].report
    assert fleet.recorded("orders") == [("", "critical")]
    assert fleet.recorded("clicks") == []


def test_a_repair_is_told_when_two_looks_have_seen_it(fleet):
    fleet.damage("orders")
    fleet.rounds(1)
    fleet.heal("orders")
    fleet.rounds(1)
    assert len(fleet.told) == 1

    fleet.rounds(3)

    assert told(fleet)[1:] == ["orders: critical -> ok"]
    assert fleet.recorded("orders") == [("", "critical"), ("critical", "ok")]


def test_a_checkpoint_out_of_reach_for_a_moment_wakes_nobody(fleet):
    fleet.rounds(1)
    away = SwitchableStorage(fleet.storage)
    away.unreachable = "checkpoints/orders"
    fleet.clock.advance(EVERY)
    report = fleet.round(through=lambda storage: away)

    fleet.rounds(1)

    assert verdicts(report) == {"orders": Verdict.UNKNOWN, "clicks": Verdict.OK, "returns": Verdict.OK}
    assert fleet.kept("orders") == ["ok", "unknown", "ok"]
    assert fleet.told == []


def test_a_checkpoint_that_stays_out_of_reach_is_told_and_recorded_nowhere_but_at_the_state_root(fleet):
    fleet.rounds(1)
    away = SwitchableStorage(fleet.storage)
    away.unreachable = "checkpoints/orders"
    for _ in range(3):
        fleet.clock.advance(EVERY)
        report = fleet.round(through=lambda storage: away)

    assert told(fleet) == ["orders: no verdict -> unknown"]
    assert "It can't be judged: " in fleet.told[0].report
    assert report.troubles == ()
    assert fleet.recorded("orders") == []

    fleet.rounds(2)

    assert told(fleet)[1:] == ["orders: unknown -> ok"]
    assert fleet.recorded("orders") == []


def test_a_stream_that_was_never_started_is_fine(fleet):
    fleet.vanish("orders")
    fleet.lose_log("orders")

    (report,) = fleet.rounds(1)

    assert verdicts(report)["orders"] is Verdict.OK
    assert fleet.storage.list("file:///data/checkpoints/orders.streamops") == ()


def test_a_first_driver_that_has_written_nothing_is_given_a_round(fleet):
    """It is about to, or its checkpoint is gone: the log does not know how far a first driver has come."""
    fleet.vanish("orders")
    (report,) = fleet.rounds(1)
    assert verdicts(report)["orders"] is Verdict.UNKNOWN
    assert fleet.told == []

    fleet.rounds(1)

    assert told(fleet) == ["orders: no verdict -> unknown (no-checkpoint)"]


def test_a_checkpoint_that_is_gone_although_its_driver_had_written_is_critical(fleet):
    fleet.vanish("orders")
    fleet.write_log("orders", commit=4)

    (report,) = fleet.rounds(1)

    assert verdicts(report)["orders"] is Verdict.CRITICAL
    assert fleet.told[0].after is Verdict.CRITICAL


def test_a_report_without_end_is_cut(fleet, monkeypatch):
    monkeypatch.setattr(health_look, "MOST_LINES", 4)
    fleet.damage("orders")

    fleet.rounds(1)

    lines = fleet.told[0].report.splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("… and ")
    assert lines[-1].endswith(" more lines: see `streamops check`")


def test_a_control_log_that_is_broken_is_unknown_and_the_look_is_kept(fleet):
    fleet.storage.write(record_address(control_folder(fleet.spec("orders").checkpoint), 1), b"{half")

    report, again = fleet.rounds(2)

    assert verdicts(report)["orders"] is Verdict.UNKNOWN
    assert "is not a control record" in next(look.line for look in again.looks if look.spec.name == "orders")
    assert fleet.kept("orders") == ["unknown", "unknown"]
    assert told(fleet) == ["orders: no verdict -> unknown"]


def test_a_verdict_from_before_there_was_a_log_is_recorded_when_there_is_one():
    fleet = Fleet("orders")
    fleet.lose_log("orders")
    fleet.damage("orders")
    fleet.rounds(2)

    fleet.write_log("orders")
    fleet.rounds(2)

    assert fleet.recorded("orders") == [("", "critical")]
    assert len(fleet.told) == 1


def test_no_streams_are_an_empty_round():
    report = Fleet().round()

    assert (report.looks, report.troubles) == ((), ())


def test_a_fault_of_ours_is_one_verdict_and_not_the_end_of_the_round(fleet):
    def tick(moment):
        if "checkpoints/orders/metadata" in moment:
            raise ZeroDivisionError("a fault")

    report = fleet.round(through=lambda storage: InterruptibleStorage(storage, tick))

    assert verdicts(report) == {"orders": Verdict.UNKNOWN, "clicks": Verdict.OK, "returns": Verdict.OK}
    assert next(look.line for look in report.looks if look.trouble) == "ZeroDivisionError: a fault"


def test_what_a_place_says_reaches_no_log_unescaped(fleet):
    def tick(moment):
        if "checkpoints/orders" in moment:
            raise StorageError("no \x1b[2J such\nplace")

    report = fleet.round(through=lambda storage: InterruptibleStorage(storage, tick))

    (blind,) = [look for look in report.looks if look.trouble]
    assert blind.line == "no \\x1b[2J such\\nplace"
    assert all(line.isprintable() for line in blind.report)


# The state root


def test_a_state_root_out_of_reach_hides_no_verdict_and_is_told_once(fleet):
    fleet.damage("orders")
    away = SwitchableStorage(fleet.storage)
    away.unreachable = STATE_ROOT

    report = fleet.round(through=lambda storage: away)

    assert verdicts(report) == {"orders": Verdict.CRITICAL, "clicks": Verdict.OK, "returns": Verdict.OK}
    (trouble,) = report.troubles
    assert trouble.startswith(f"{STATE_ROOT} can't be asked, so no verdict is kept and no change is told: ")
    assert fleet.told == []
    assert fleet.recorded("orders") == []


def test_a_state_root_that_can_not_be_written_is_told_for_each_stream(fleet):
    def tick(moment):
        if moment.startswith(("before write", "before create")) and STATE_ROOT in moment:
            raise StorageError("read-only file system")

    fleet.damage("orders")
    report = fleet.round(through=lambda storage: InterruptibleStorage(storage, tick))

    assert verdicts(report)["orders"] is Verdict.CRITICAL
    assert sorted(report.troubles) == [
        f"{name}: its verdict is not kept: read-only file system" for name in ("clicks", "orders", "returns")
    ]
    assert fleet.told == []

    fleet.rounds(1)

    assert len(fleet.told) == 1


def test_changes_that_can_not_be_written_are_told_by_nobody_rather_than_each_round(fleet):
    def tick(moment):
        if moment.startswith("before create") and "/changes/" in moment:
            raise StorageError("no space left")

    fleet.damage("orders")
    for _ in range(3):
        fleet.clock.advance(EVERY)
        report = fleet.round(through=lambda storage: InterruptibleStorage(storage, tick))

    assert report.troubles == ("orders: its verdict is not kept: no space left",)
    assert fleet.told == []


# Hanging


class DeadPlace:
    """Every call below some addresses hangs until the test is over."""

    def __init__(self, part):
        self.part = part
        self.over = threading.Event()

    def __call__(self, storage):
        return InterruptibleStorage(storage, self._tick)

    def _tick(self, moment):
        if self.part in moment:
            self.over.wait()
            raise StorageError("the place was dead")


@pytest.fixture
def dead():
    places = []

    def make(part):
        places.append(DeadPlace(part))
        return places[-1]

    yield make
    for place in places:
        place.over.set()


def test_a_place_that_hangs_costs_its_own_answer(fleet, dead):
    fleet.damage("clicks")
    pace = hurried(RoundPace.within(EVERY), limit=SOON)

    report = fleet.round(through=dead("checkpoints/orders/"), pace=pace)

    assert verdicts(report) == {"orders": Verdict.UNKNOWN, "clicks": Verdict.CRITICAL, "returns": Verdict.OK}
    assert next(look.line for look in report.looks if look.trouble) == "no answer within 0.5 s"
    assert fleet.kept("orders") == ["unknown"]
    assert told(fleet) == ["clicks: no verdict -> critical (unreadable-last-commit)"]


def test_a_state_root_that_hangs_costs_one_answer_for_all(fleet, dead):
    fleet.damage("orders")
    pace = hurried(RoundPace.within(EVERY), limit=SOON)

    report = fleet.round(through=dead(STATE_ROOT), pace=pace)

    assert verdicts(report)["orders"] is Verdict.CRITICAL
    assert report.troubles == (
        f"{STATE_ROOT} can't be asked, so no verdict is kept and no change is told: no answer in time",
    )


def test_whoever_is_told_may_hang_or_fail_and_the_others_are_told(fleet):
    over, reached = threading.Event(), []

    def on_change(change):
        reached.append(change.stream)
        if change.stream == "orders":
            over.wait()
        if change.stream == "clicks":
            raise OSError("no line to the pager")

    fleet.on_change = on_change
    for name in ("orders", "clicks", "returns"):
        fleet.damage(name)

    report = fleet.round(pace=hurried(RoundPace.within(EVERY), limit=SOON))
    over.set()

    assert sorted(reached) == ["clicks", "orders", "returns"]
    assert sorted(report.troubles) == [
        "clicks: its verdict is not told: OSError: no line to the pager",
        "orders: its verdict is not told: no answer in time",
    ]


def test_an_alert_that_failed_is_tried_once_more(fleet):
    tries = []

    def on_change(change):
        tries.append(str(change))
        raise OSError("no line to the pager")

    fleet.on_change = on_change
    fleet.damage("orders")

    fleet.rounds(5)

    assert tries == ["orders: no verdict -> critical (unreadable-last-commit)"] * 2


def test_an_alert_that_failed_once_and_came_through_then_is_not_repeated(fleet):
    tries = []

    def on_change(change):
        tries.append(str(change))
        if len(tries) == 1:
            raise OSError("no line to the pager")

    fleet.on_change = on_change
    fleet.damage("orders")

    fleet.rounds(5)

    assert len(tries) == 2


# Two at once, and crashes


def test_of_two_rounds_at_once_one_tells_and_one_records():
    """The second runs as a whole before each of the first one's calls that changes something, in turn."""
    for position in range(12):
        fleet = Fleet("orders")
        fleet.rounds(1)
        fleet.damage("orders")
        calls = 0

        def tick(moment, fleet=fleet, position=position):
            nonlocal calls
            if moment.startswith(("before write", "before create", "before delete")):
                calls += 1
                if calls == position + 1:
                    fleet.round()

        fleet.round(through=lambda storage, tick=tick: InterruptibleStorage(storage, tick))
        fleet.rounds(2)

        assert told(fleet) == ["orders: no verdict -> critical (unreadable-last-commit)"], position
        assert fleet.recorded("orders") == [("", "critical")], position


def test_of_many_rounds_at_once_on_a_disk_one_tells_and_one_records(tmp_path):
    fleet = Fleet("orders", storage=LocalStorage(), root=f"file://{tmp_path}")
    fleet.damage("orders")
    together = threading.Barrier(8)

    def one_round():
        together.wait(timeout=30)
        fleet.round()

    rounds = [threading.Thread(target=one_round) for _ in range(8)]
    for thread in rounds:
        thread.start()
    for thread in rounds:
        thread.join()
    fleet.rounds(1)

    assert told(fleet) == ["orders: no verdict -> critical (unreadable-last-commit)"]
    assert fleet.recorded("orders") == [("", "critical")]


def damaged_fleet():
    """Fine when it was looked at last."""
    fleet = Fleet("orders")
    fleet.rounds(1)
    fleet.damage("orders")
    fleet.clock.advance(EVERY)
    return fleet


class Mortal:
    """A process that is gone after so many calls: nothing that it does later reaches a file."""

    def __init__(self, calls):
        self.left = calls
        self.made = 0
        self._lock = threading.Lock()

    def __call__(self, storage):
        return InterruptibleStorage(storage, self._tick)

    def _tick(self, moment):
        with self._lock:
            self.made += 1
            if self.made > self.left:
                raise StorageError("the process is gone")


def test_after_a_crash_at_any_call_the_change_is_recorded_once_and_told():
    """Twice at most, where the round died between telling and putting down that it was told."""
    whole = Mortal(calls=1_000_000)
    damaged_fleet().round(through=whole)
    tellings = []
    for calls in range(whole.made + 1):
        fleet = damaged_fleet()

        fleet.round(through=Mortal(calls))
        fleet.rounds(4)

        assert fleet.recorded("orders") == [("", "critical")], calls
        assert fleet.kept("orders")[-1] == "critical", calls
        tellings.append(len(fleet.told))

    assert tellings.count(2) == 1
    assert tellings.count(1) == len(tellings) - 1


# Time


@pytest.mark.parametrize("minutes", [1, 5, 60])
def test_the_steps_of_a_round_end_before_the_next_begins(minutes):
    every = timedelta(minutes=minutes)
    pace = RoundPace.within(every)

    steps = (pace.looking, pace.keeping, pace.telling)

    assert sum((step.budget + step.limit for step in steps), timedelta(0)) < every
    assert pace.patience < every


def test_streams_for_which_the_time_does_not_suffice_are_unknown_and_nothing_is_kept_of_them(fleet):
    pace = RoundPace.within(EVERY)
    none = RoundPace(
        looking=type(pace.looking)(budget=timedelta(0)),
        keeping=pace.keeping,
        telling=pace.telling,
        patience=pace.patience,
    )
    report = fleet.round(pace=none)

    assert set(verdicts(report).values()) == {Verdict.UNKNOWN}
    assert {look.line for look in report.looks} == {"not looked at: the time of the round was over"}
    assert fleet.kept("orders") == []


def test_it_is_not_always_the_same_streams_for_which_the_time_does_not_suffice(fleet):
    fleet = Fleet(*(f"s{number}" for number in range(20)))
    last = {order_of_round(fleet.specs, fleet.clock.now() + EVERY * number)[-1].name for number in range(100)}

    assert len(last) >= 15
    assert sorted(spec.name for spec in order_of_round(fleet.specs, fleet.clock.now())) == sorted(
        spec.name for spec in fleet.specs
    )
