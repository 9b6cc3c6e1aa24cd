"""`chaos.json` adds up runs, and a crash costs one round."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from streamops_sandbox.chaos.book import Account, Book, Run, deaths_by_supervisor, totals
from streamops_sandbox.chaos.rounds import Round
from streamops_sandbox.chaos.victims import Fate, Instant, Victim
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.ledger import Ledger

ACCOUNT = Account(
    stream="orders",
    sent=100,
    delivered=100,
    lost=0,
    duplicated=0,
    malformed=2,
    dead_letters=2,
    epochs=4,
    epochs_with_batches=1,
)


def a_round(*, noticed: float = 1.0, fate: Fate = Fate.REPLACED) -> Round:
    return Round(
        victim=Victim.JVM_KILL,
        instant=Instant.RUNNING,
        stream="orders",
        epoch=1,
        fate=fate,
        noticed=noticed,
        resubmitted=noticed,
    )


def a_run(
    started_at: str = "2026-01-01T00:00:00+00:00", *, noticed: tuple[float, ...] = (1.0,), error: str = ""
) -> Run:
    return Run(
        started_at=started_at,
        seed=1,
        cycles=len(noticed),
        supervised_by="streamops supervise",
        streams=("orders",),
        rounds=[a_round(noticed=value) for value in noticed],
        accounts=[ACCOUNT],
        error=error,
    )


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "chaos.json")


def test_runs_are_added_up_over_all_their_rounds(book: Book, tmp_path: Path) -> None:
    book.save_run(a_run("2026-01-01T00:00:00+00:00", noticed=(1.0, 2.0)))
    book.save_run(a_run("2026-01-02T00:00:00+00:00", noticed=(9.0,)))

    found = json.loads((tmp_path / "chaos.json").read_text())["totals"]
    assert (found["runs"], found["cycles"], found["sent"], found["delivered"]) == (2, 3, 200, 200)
    assert found["deaths"]["noticed"] == {"count": 3, "p50": 2.0, "p99": 8.86, "worst": 9.0}


def test_a_run_that_goes_on_replaces_what_was_known_of_it(book: Book) -> None:
    book.save_run(a_run(noticed=(1.0,)))
    book.save_run(a_run(noticed=(1.0, 2.0)))

    assert [len(run.rounds) for run in book.runs()] == [2]


def test_a_run_that_crashed_stays_in_the_sum_and_is_known_to_lack_its_account() -> None:
    crashed = replace(a_run(error="not ended"), accounts=[])

    found = totals([a_run(), crashed])

    assert (found["cycles"], found["runs_without_account"], found["sent"]) == (2, 1, 100)


def test_times_under_airflow_are_told_apart_from_those_without() -> None:
    airflow = replace(a_run("b", noticed=(12.0,)), supervised_by="airflow")

    found = deaths_by_supervisor([a_run("a", noticed=(1.0,)), airflow])

    assert found["airflow, running"].noticed.worst == 12.0
    assert found["streamops supervise, running"].noticed.worst == 1.0


def test_other_experiments_keep_their_entries(book: Book) -> None:
    book.save_entry("stock", {"started_at": "a", "error": "not ended"})
    book.save_run(a_run())
    book.save_entry("stock", {"started_at": "a", "error": ""})

    assert book.section("stock") == [{"started_at": "a", "error": ""}]
    assert len(book.runs()) == 1


def test_two_experiments_at_once_lose_nothing(tmp_path: Path) -> None:
    def write(name: str) -> None:
        for number in range(20):
            Book(tmp_path / "chaos.json").save_entry(name, {"started_at": str(number)})

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, ("stock", "airflow")))

    book = Book(tmp_path / "chaos.json")
    assert (len(book.section("stock")), len(book.section("airflow"))) == (20, 20)


def test_to_begin_anew_forgets_all(book: Book) -> None:
    book.save_run(a_run())
    book.begin_anew()

    assert book.runs() == []


def test_a_broken_book_is_named_and_never_overwritten(book: Book, tmp_path: Path) -> None:
    (tmp_path / "chaos.json").write_text("{")

    with pytest.raises(SandboxError, match=r"chaos\.json"):
        book.save_run(a_run())
    assert (tmp_path / "chaos.json").read_text() == "{"


def test_a_run_is_read_back_as_it_was_written(book: Book) -> None:
    book.save_run(a_run())

    assert book.runs() == [a_run()]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(replace(a_run(), accounts=[replace(ACCOUNT, lost=1)]), id="lost"),
        pytest.param(replace(a_run(), accounts=[replace(ACCOUNT, duplicated=1)]), id="duplicated"),
        pytest.param(replace(a_run(), double_writers=1), id="two drivers"),
        pytest.param(replace(a_run(), rounds=[a_round(fate=Fate.UNTOUCHED)]), id="a wrong fate"),
        pytest.param(replace(a_run(), error="not ended"), id="not ended"),
        pytest.param(replace(a_run(), accounts=[]), id="no account"),
    ],
)
def test_only_a_run_that_is_right_in_everything_is_good(bad: Run) -> None:
    assert a_run().is_good
    assert not bad.is_good


def test_a_missing_dead_letter_is_lost_and_one_too_many_is_a_duplicate() -> None:
    ledger = Ledger(sent=10, delivered=10, lost=0, duplicated=0, malformed=3, dead_letters=2)

    assert Account.of("orders", ledger, epochs=1, epochs_with_batches=1).lost == 1
    more = replace(ledger, dead_letters=4)
    assert Account.of("orders", more, epochs=1, epochs_with_batches=1).duplicated == 1
