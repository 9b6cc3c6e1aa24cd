from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.control.layout import record_address
from streamops.control.records import (
    ActBegun,
    ActEnded,
    Adopted,
    Body,
    DriverEnded,
    KillBegun,
    MaintenanceBegun,
    MaintenanceEnded,
    Outcome,
    Parked,
    Position,
    Record,
    Released,
    RestartRequested,
    StartRequested,
    StopRequested,
    UnknownBody,
    VerdictChanged,
)
from streamops.operations import history as history_module
from streamops.operations.history import READ_LIMIT, HistoryEntry, newest_history, tell
from streamops.operations.log_tail import UnreadableRecord, records_backwards
from streamops.storage.memory import MemoryStorage
from support.records import a_claim, a_log, a_submit, an_end, lawful_logs, logs, write_log
from support.storage import InterruptibleStorage

UNTIL = datetime.fromisoformat("2026-03-01T14:00:00+00:00")
RAN = (a_claim(), a_submit())


def told(*bodies: Body) -> list[HistoryEntry]:
    return list(tell(a_log(*bodies)))


def outcome_of(act: Body, *behind: Body) -> str:
    """What an act on the running epoch 1 came to."""
    (entry,) = [entry for entry in told(*RAN, act, *behind) if entry.number == 2]
    return entry.outcome


def test_a_restart_during_a_back_off_waits_for_no_end() -> None:
    entry = told(*RAN, an_end(1, Outcome.FAILED), RestartRequested(epoch=1))[-1]

    assert entry.outcome == "epoch 1 ended, no driver since"


@pytest.mark.parametrize(
    ("act", "behind", "outcome"),
    [
        pytest.param(StopRequested(epoch=1), [an_end(1, Outcome.STOPPED)], "epoch 1 ended", id="a stop is obeyed"),
        pytest.param(StopRequested(epoch=1), [], "epoch 1 not ended yet", id="a stop that nobody obeyed yet"),
        pytest.param(StopRequested(epoch=1), [StartRequested()], "taken back by supervise", id="a stop is taken back"),
        pytest.param(
            RestartRequested(epoch=1),
            [an_end(1, Outcome.STOPPED), a_claim(2), a_submit(2)],
            "epoch 2 submitted",
            id="a restart comes about",
        ),
        pytest.param(RestartRequested(epoch=1), [], "epoch 1 not ended yet", id="a restart that is waited for"),
        pytest.param(
            RestartRequested(epoch=1),
            [an_end(1)],
            "epoch 1 ended, no driver since",
            id="a restart without a supervisor",
        ),
        pytest.param(
            RestartRequested(epoch=1),
            [StopRequested(epoch=1), an_end(1)],
            "stopped by supervise",
            id="a stop overtakes a restart",
        ),
        pytest.param(KillBegun(epoch=1), [an_end(1, Outcome.KILLED)], "gone", id="a kill"),
        pytest.param(KillBegun(epoch=1), [], "not proven gone", id="a kill that did not work yet"),
        pytest.param(Parked(), [Released()], "released by supervise", id="parked and released"),
        pytest.param(Parked(), [], "not released yet", id="parked"),
        pytest.param(MaintenanceBegun(until=UNTIL), [MaintenanceEnded()], "ended", id="a maintenance that ended"),
        pytest.param(
            ActBegun(act="rewind", plan="p1"),
            [ActEnded(act="rewind", plan="p0", outcome="old"), ActEnded(act="rewind", plan="p1", outcome="done")],
            "done",
            id="an act ends with its own plan",
        ),
        pytest.param(ActBegun(act="rewind", plan="p1"), [], "not ended yet", id="an act that was cut off"),
    ],
)
def test_an_act_is_told_with_what_came_of_it(act: Body, behind: list[Body], outcome: str) -> None:
    assert outcome_of(act, *behind) == outcome


@pytest.mark.parametrize(
    ("act", "behind", "outcome"),
    [
        pytest.param(StartRequested(), [a_claim(2), a_submit(2)], "epoch 2 submitted", id="a start"),
        pytest.param(StartRequested(), [Parked()], "parked again: reason 4", id="a start that is parked"),
        pytest.param(Released(), [a_claim(2), a_submit(2)], "epoch 2 submitted", id="a release"),
        pytest.param(Released(), [], "no driver since", id="a release that nobody follows"),
        pytest.param(Adopted(stream="orders", position=Position()), [], "no driver since", id="an adoption"),
        pytest.param(StopRequested(epoch=1), [], "no driver lived", id="a stop of what stands still"),
    ],
)
def test_an_act_on_a_stream_that_stands_still(act: Body, behind: list[Body], outcome: str) -> None:
    (entry,) = [entry for entry in told(*RAN, an_end(1), act, *behind) if entry.number == 3]

    assert (entry.outcome, entry.is_act) == (outcome, True)


def test_a_start_and_its_submit_are_one_entry() -> None:
    (entry,) = told(*RAN)

    assert (entry.what, entry.outcome, entry.took) == ("start of epoch 1", "submitted", timedelta(seconds=1))


@pytest.mark.parametrize(
    ("commit", "outcome"),
    [
        pytest.param(-1, "died, no batch committed", id="nothing done"),
        pytest.param(0, "died, batch 0 committed", id="one batch"),
        pytest.param(41, "died, batches 0 to 41 committed", id="many"),
    ],
)
def test_an_end_tells_what_the_driver_had_done(commit: int, outcome: str) -> None:
    assert told(*RAN, an_end(1, commit=commit))[-1].outcome == outcome


def test_the_batches_of_several_queries_in_one_driver_are_told_apart() -> None:
    begun = Position(offset=9, commit=9, companions=(Position(offset=2190, commit=2190),))
    ended = Position(
        offset=50, commit=50, companions=(Position(offset=2193, commit=2193), Position(offset=0, commit=0))
    )
    stop = DriverEnded(epoch=1, outcome=Outcome.STOPPED, position=ended)

    end = told(a_claim(1, position=begun), a_submit(1), stop)[-1]

    assert end.outcome == (
        "stopped, its own query: batches 10 to 50 committed, companion 0: batches 2191 to 2193 committed, companion 1: batch 0"
        " committed"
    )


def test_a_person_s_word_on_a_death_is_an_act() -> None:
    end = told(*RAN, an_end(1, Outcome.CONFIRMED_DEAD))[-1]

    assert (end.what, end.is_act) == ("epoch 1 called dead", True)


def test_what_a_supervisor_restarts_because_it_is_stuck_is_no_act_of_a_person() -> None:
    entry = told(*RAN, RestartRequested(epoch=1, is_stuck=True))[-1]

    assert (entry.what, entry.is_act) == ("restart, stuck", False)


def test_clocks_that_differ_make_no_time_run_backwards() -> None:
    start, submit = a_log(*RAN)
    behind = replace(submit, at=start.at - timedelta(minutes=5))

    (entry,) = tell((start, behind))

    assert entry.took == timedelta(0)


@pytest.mark.parametrize(
    ("body", "what", "outcome"),
    [
        pytest.param(
            VerdictChanged(before="ok", after="critical", rules=("missing-offsets", "holes-in-history")),
            "checkpoint judged critical, ok before",
            "missing-offsets, holes-in-history",
            id="a change",
        ),
        pytest.param(
            VerdictChanged(after="warning"), "checkpoint judged warning", "", id="the first that is on record"
        ),
    ],
)
def test_a_verdict_is_told_with_the_one_before_and_its_rules(body: Body, what: str, outcome: str) -> None:
    (entry,) = told(body)

    assert (entry.what, entry.outcome, entry.is_act) == (what, outcome, False)


def test_a_record_of_a_newer_version_is_named() -> None:
    assert told(UnknownBody(kind="sung"))[0].what == "sung, a record of a newer version"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        pytest.param(a_submit(7), "submit of epoch 7", id="a submit"),
        pytest.param(MaintenanceEnded(), "end of maintenance", id="an end of maintenance"),
        pytest.param(ActEnded(act="rewind", plan="p", outcome="done"), "end of rewind, plan p", id="an end of an act"),
    ],
)
def test_the_second_half_is_told_where_the_first_was_not_read(body: Body, what: str) -> None:
    assert told(body)[0].what == what


@given(logs)
def test_every_log_can_be_told(records: tuple[Record, ...]) -> None:
    assert len(list(tell(records))) <= len(records)


@given(lawful_logs(), st.integers(1, 10))
def test_the_tail_says_the_same_as_the_end_of_the_whole(records: tuple[Record, ...], limit: int) -> None:
    found = newest_history("orders", reversed(records), limit=limit)

    assert found.entries == tuple(tell(records))[-limit:]
    assert found.is_whole == (len(list(tell(records))) <= limit)


def test_a_long_log_is_read_no_further_than_it_is_needed() -> None:
    asked: list[int] = []

    def backwards() -> Iterator[Record | UnreadableRecord]:
        for number in range(100_000, -1, -1):
            asked.append(number)
            yield a_log(Parked())[0] if number % 2 else UnreadableRecord(number=number, trouble="x")

    found = newest_history("orders", backwards(), limit=50)

    assert len(found.entries) == 50
    assert not found.is_whole
    assert len(asked) == 100


def test_a_search_for_rare_acts_ends_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "READ_LIMIT", 300)
    record = a_log(Parked())[0]

    found = newest_history("orders", (record for _ in range(100_000)), limit=50, acts_only=True)

    assert READ_LIMIT == 2000
    assert found.entries == ()


def test_records_are_read_one_by_one_from_the_end() -> None:
    reads: list[str] = []
    storage = MemoryStorage()
    write_log(storage, "file:///c", a_log(*(Parked() for _ in range(200))))
    watched = InterruptibleStorage(storage, reads.append)

    backwards = records_backwards(watched, "file:///c")

    assert [next(backwards).number for _ in range(3)] == [199, 198, 197]
    assert len([read for read in reads if read.startswith("before read")]) == 3


def test_a_hole_and_a_copied_record_are_facts() -> None:
    storage = MemoryStorage()
    log = a_log(Parked(), Parked(), Parked(), Parked())
    write_log(storage, "file:///c", (log[0], log[3]))
    storage.write(record_address("file:///c", 2), storage.read(record_address("file:///c", 0)))

    newest, copied, missing, first = records_backwards(storage, "file:///c")

    assert isinstance(copied, UnreadableRecord)
    assert "holds record 0: copied or renamed" in copied.trouble
    assert missing == UnreadableRecord(number=1, trouble="it is missing although later records exist")
    assert (newest, first) == (log[3], log[0])


def test_batches_of_somebody_else_are_told_with_the_start_that_found_them_and_not_with_a_driver_of_ours() -> None:
    found = Position(offset=60, commit=60)

    entries = told(a_claim(1), a_submit(1), an_end(1, commit=52, offset=53), a_claim(2, position=found))

    assert "batches 0 to 52 committed" in next(entry.outcome for entry in entries if entry.what == "epoch 1 ended")
    assert entries[-1].what == "start of epoch 2, behind batches 53 to 60 committed by somebody else"


def test_a_claim_over_a_driver_that_had_not_ended_says_nothing_of_whose_the_batches_were() -> None:
    entries = told(
        a_claim(1), a_submit(1), an_end(1), a_claim(2), a_submit(2), a_claim(3, position=Position(offset=9, commit=9))
    )

    assert entries[-1].what == "start of epoch 3"
