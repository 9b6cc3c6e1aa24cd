"""Rounds of retention coverage: what is asked, judged, kept and told, whatever fails or hangs on the way."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.errors import StorageError
from streamops.fleet.coverage_round import CoveragePace
from streamops.fleet.verdict_change import Subject
from streamops.storage import join
from streamops.verdict import Verdict
from support.coverage_rounds import EVERY, STATE_ROOT, Readers, verdicts
from support.storage import InterruptibleStorage


@pytest.fixture
def readers():
    return Readers("orders", "clicks", "returns")


def told(readers):
    return [str(change) for change in readers.told]


def hurried(pace, *, limit):
    """With such a limit for each answer, so that what hangs is given up soon."""
    return replace(
        pace,
        reading=replace(pace.reading, limit=limit),
        asking=replace(pace.asking, limit=limit),
        remembering=replace(pace.remembering, limit=limit),
        verdicts=replace(pace.verdicts, looking=replace(pace.verdicts.looking, limit=limit)),
    )


# What is asked, found and kept


def test_streams_that_are_fine_are_kept_and_nobody_is_told(readers):
    first, second = readers.rounds(2)

    assert set(verdicts(first).values()) == {Verdict.OK}
    assert (first.troubles, second.troubles) == ((), ())
    assert readers.kept("orders") == ["ok", "ok"]
    assert readers.told == []


def test_a_cluster_is_asked_once_for_all_its_streams(readers):
    readers.reads_from("returns", "other:9092")

    readers.round()

    assert sorted(readers.clusters) == ["broker:9092", "other:9092"]
    assert sorted(map(sorted, readers.broker.scans)) == [["clicks", "orders"], ["returns"]]


def test_what_was_seen_is_kept_beside_the_control_log(readers):
    readers.rounds(1)
    readers.broker.moves("orders", 0, latest=130)
    readers.rounds(1)

    assert readers.seen("orders") == [100, 130]
    assert readers.storage.list("file:///data/checkpoints/orders.streamops") == ("coverage.json",)


def test_lost_records_are_told_once_with_the_report(readers):
    readers.rounds(1)
    readers.broker.has("orders", (80, 100))

    readers.rounds(3)

    assert told(readers) == ["orders: no verdict -> critical (records-partly-lost)"]
    (change,) = readers.told
    assert change.subject is Subject.RETENTION
    assert change.report.startswith("orders: critical: orders-0: 30 offsets [50, 80) that are needed are deleted\n")


def test_a_deadline_that_comes_nearer_is_a_warning_and_then_critical(readers):
    readers.broker.times["orders", 0] = readers.clock.now() - timedelta(days=6, hours=22)
    (first,) = readers.rounds(1)
    readers.clock.advance(timedelta(hours=1, minutes=30))
    (second,) = readers.rounds(1)

    assert (verdicts(first)["orders"], verdicts(second)["orders"]) == (Verdict.WARNING, Verdict.CRITICAL)
    assert told(readers) == [
        "orders: no verdict -> warning (deadline-near)",
        "orders: warning -> critical (act-by-over)",
    ]


@pytest.mark.fault("B33")
def test_a_living_query_on_which_the_deletions_close_in_is_told_and_one_that_keeps_pace_is_not(readers):
    """The earliest offset moves 100 a minute. One query reads 100 a minute, the other 40."""
    for number in range(13):
        minute = 5 * number
        for name, pace in (("orders", 40), ("clicks", 100)):
            readers.stands_at(name, 10_000 + pace * minute)
            readers.broker.has(name, (100 * minute, 100_000 + 100 * minute), retention=None)
        readers.rounds(1)

    # 10 000 offsets were between them at first; 6 400 are left, of which 60 go a minute.
    assert told(readers) == ["orders: no verdict -> warning (deadline-near)"]
    assert "it read 40 offsets a minute, and Kafka may delete 100 a minute" in readers.look("orders").report[0]
    assert readers.kept("clicks") == ["ok"] * 13


def test_an_odd_answer_counts_in_the_next_round_and_no_round_waits_for_it(readers):
    readers.rounds(1)
    readers.broker.moves("orders", 0, latest=20)

    first, second = readers.rounds(2)

    assert (verdicts(first)["orders"], verdicts(second)["orders"]) == (Verdict.UNKNOWN, Verdict.CRITICAL)
    assert readers.clock.slept == []


def test_an_odd_answer_that_passes_by_itself_wakes_nobody(readers):
    readers.rounds(1)
    readers.broker.moves("orders", 0, latest=20)
    readers.rounds(1)
    readers.broker.moves("orders", 0, latest=120)
    readers.rounds(2)

    assert readers.kept("orders") == ["ok", "unknown", "ok", "ok"]
    assert readers.told == []


def test_a_topic_that_is_created_anew_stays_critical_however_far_it_grows(readers):
    readers.broker.topics["orders"] = replace(readers.broker.topics["orders"], topic_id="old")
    readers.rounds(1)
    readers.broker.topics["orders"] = replace(readers.broker.topics["orders"], topic_id="new")
    readers.rounds(2)
    readers.stands_at("orders", 90)
    readers.rounds(2)

    assert readers.kept("orders") == ["ok", "critical", "critical", "critical", "critical"]


def test_a_look_for_a_report_says_what_its_round_said(readers):
    readers.rounds(1)
    readers.broker.moves("orders", 0, latest=20)
    found = []
    for _ in range(2):
        readers.rounds(1)
        readers.clock.advance(timedelta(seconds=30))
        found.append(readers.look("orders").verdict)

    assert found == [Verdict.UNKNOWN, Verdict.CRITICAL]


def test_a_look_for_a_report_keeps_nothing(readers):
    readers.look("orders")

    assert readers.storage.list("file:///data/checkpoints/orders.streamops") == ()
    assert readers.kept("orders") == []


# What fails and hangs


def test_a_cluster_that_is_away_is_unknown_and_told_when_two_rounds_have_seen_it(readers):
    readers.rounds(1)
    readers.broker.trouble = "_TRANSPORT: no broker answers"
    readers.rounds(1)
    assert readers.told == []

    readers.rounds(1)

    assert sorted(told(readers)) == [
        f"{name}: no verdict -> unknown (not-known)" for name in ("clicks", "orders", "returns")
    ]
    assert readers.seen("orders") == [100]


def test_settings_that_cannot_be_used_hide_no_other_cluster(readers):
    readers.reads_from("orders", "nowhere:9092")

    (report,) = readers.rounds(1)

    assert verdicts(report) == {"orders": Verdict.UNKNOWN, "clicks": Verdict.OK, "returns": Verdict.OK}


def test_a_checkpoint_that_cannot_be_read_hides_no_other(readers):
    readers.storage.write(join(readers.spec("orders").checkpoint, "offsets", "1"), b"")

    (report,) = readers.rounds(1)

    assert verdicts(report) == {"orders": Verdict.UNKNOWN, "clicks": Verdict.OK, "returns": Verdict.OK}
    (look,) = [look for look in report.looks if look.spec.name == "orders"]
    assert "where the query goes on is not known: offsets/1" in look.line


def test_a_checkpoint_that_hangs_costs_its_own_answer(readers):
    over = threading.Event()

    def tick(moment):
        if "checkpoints/orders/" in moment:
            over.wait()

    report = readers.round(
        through=lambda storage: InterruptibleStorage(storage, tick),
        pace=hurried(CoveragePace.within(EVERY), limit=timedelta(seconds=0.5)),
    )
    over.set()

    assert verdicts(report) == {"orders": Verdict.UNKNOWN, "clicks": Verdict.OK, "returns": Verdict.OK}
    (look,) = [look for look in report.looks if look.spec.name == "orders"]
    assert look.line == "no answer within 0.5 s"


def test_a_cluster_that_hangs_costs_its_own_streams(readers):
    readers.reads_from("orders", "slow:9092")
    over = threading.Event()
    scan = readers.broker.scan

    def hanging(topics):
        if "orders" in topics:
            over.wait()
        return scan(topics)

    readers.broker.scan = hanging

    report = readers.round(pace=hurried(CoveragePace.within(EVERY), limit=timedelta(seconds=0.5)))
    over.set()

    assert verdicts(report) == {"orders": Verdict.UNKNOWN, "clicks": Verdict.OK, "returns": Verdict.OK}
    (look,) = [look for look in report.looks if look.spec.name == "orders"]
    assert look.line == "slow:9092: no answer within 0.5 s"


def test_looks_that_cannot_be_kept_are_told_and_the_verdicts_are_kept(readers):
    def tick(moment):
        if moment.startswith("before write") and "orders.streamops" in moment:
            raise StorageError("the disk is full")

    report = readers.round(through=lambda storage: InterruptibleStorage(storage, tick))

    assert report.troubles == ("orders: its looks are not kept: the disk is full",)
    assert readers.kept("orders") == ["ok"]


def test_a_state_root_that_is_away_hides_no_verdict(readers):
    def tick(moment):
        if STATE_ROOT in moment:
            raise StorageError("no such mount")

    readers.broker.has("orders", (80, 100))

    report = readers.round(through=lambda storage: InterruptibleStorage(storage, tick))

    assert verdicts(report)["orders"] is Verdict.CRITICAL
    assert report.troubles == (
        f"{STATE_ROOT} can't be asked, so no verdict is kept and no change is told: no such mount",
    )
    assert readers.seen("orders") == [100]


def test_streams_for_which_the_time_does_not_suffice_are_unknown_and_nothing_is_kept_of_them(readers):
    pace = CoveragePace.within(EVERY)

    report = readers.round(pace=replace(pace, reading=replace(pace.reading, budget=timedelta(0))))

    assert set(verdicts(report).values()) == {Verdict.UNKNOWN}
    assert {look.line for look in report.looks} == {"not looked at: the time of the round was over"}
    assert readers.kept("orders") == []


def test_figures_that_cannot_be_reckoned_with_hide_no_other_stream(readers):
    readers.broker.times["orders", 0] = "yesterday"

    (report,) = readers.rounds(1)

    assert verdicts(report) == {"orders": Verdict.UNKNOWN, "clicks": Verdict.OK, "returns": Verdict.OK}


def test_two_rounds_at_once_tell_a_change_once(readers):
    readers.rounds(1)
    readers.broker.has("orders", (80, 100))
    together = threading.Barrier(4)

    def one_round():
        together.wait(timeout=30)
        readers.round()

    threads = [threading.Thread(target=one_round) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert told(readers) == ["orders: no verdict -> critical (records-partly-lost)"]


@pytest.mark.parametrize("minutes", [1, 5, 60])
def test_the_steps_of_a_round_end_before_the_next_begins(minutes):
    every = timedelta(minutes=minutes)
    pace = CoveragePace.within(every)

    steps = (
        pace.reading,
        pace.asking,
        pace.remembering,
        pace.verdicts.looking,
        pace.verdicts.keeping,
        pace.verdicts.telling,
    )

    assert sum((step.budget + step.limit for step in steps), timedelta(0)) < every
