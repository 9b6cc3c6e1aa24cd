"""What the rounds of health checks keep at the state root."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from streamops.catalogue.watch import HealthSample
from streamops.control.texts import COMPOSED_LIMIT
from streamops.errors import StorageError
from streamops.fleet import health_history
from streamops.fleet.health_history import HealthEntry, HealthHistory, KeptChange, NotedChange
from streamops.storage import FileKind, Storage
from streamops.storage.bounds import Bound
from streamops.storage.local import LocalStorage
from streamops.storage.memory import MemoryStorage
from streamops.verdict import Verdict
from support.clock import START
from support.storage import InterruptibleStorage, SwitchableStorage

ROOT = "file:///data/state"
FOLDER = f"{ROOT}/health/orders"


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


def a_history(storage: Storage, stream: str = "orders") -> HealthHistory:
    return HealthHistory(storage, ROOT, stream)


def an_entry(at: datetime = START, verdict: Verdict = Verdict.OK, **changes: object) -> HealthEntry:
    return HealthEntry(sample=HealthSample(at=at, verdict=verdict, last_offset=7), **changes)  # type: ignore[arg-type]


def a_change(number: int = 0, after: str = "critical") -> NotedChange:
    return NotedChange(number=number, at=START, after=after, before="ok", rules=("missing-offsets",))


# The checks


def test_a_stream_that_was_never_looked_at_has_no_past(storage: MemoryStorage) -> None:
    past = a_history(storage).past(START)

    assert (past.entries, past.samples, past.unreadable) == ((), (), 0)
    assert a_history(storage).newest(START) is None


def test_what_was_appended_is_read_back_in_order(storage: MemoryStorage) -> None:
    history = a_history(storage)
    first = an_entry()
    second = an_entry(START + timedelta(minutes=5), Verdict.UNKNOWN, trouble="no answer", is_recorded=True)
    history.append(first)
    history.append(second)

    past = history.past(START)

    assert past.entries == (first, second)
    assert history.newest(START) == second


def test_a_check_that_could_read_nothing_has_no_figures_to_give(storage: MemoryStorage) -> None:
    history = a_history(storage)
    history.append(an_entry())
    history.append(an_entry(START + timedelta(minutes=5), Verdict.UNKNOWN, trouble="no answer"))

    assert history.past(START).samples == (an_entry().sample,)


def test_the_past_reaches_over_midnight_and_no_further(storage: MemoryStorage) -> None:
    history = a_history(storage)
    for hours in (-40, -20, 0):
        history.append(an_entry(START + timedelta(hours=hours)))

    found = [entry.sample.at for entry in history.past(START).entries]

    assert found == [START - timedelta(hours=20), START]


def test_the_newest_check_may_be_of_yesterday_and_not_older(storage: MemoryStorage) -> None:
    history = a_history(storage)
    history.append(an_entry())

    assert history.newest(START + timedelta(hours=30)) == an_entry()
    assert history.newest(START + timedelta(hours=40)) is None


def test_two_streams_have_nothing_in_common(storage: MemoryStorage) -> None:
    a_history(storage).append(an_entry())

    assert a_history(storage, "clicks").past(START).entries == ()


def test_files_older_than_eight_days_go_when_a_day_begins(storage: MemoryStorage) -> None:
    history = a_history(storage)
    for day in range(12):
        history.append(an_entry(START + timedelta(days=day)))

    days = [name for name in storage.list(FOLDER) if name.endswith(".jsonl")]

    assert days == [f"2026-03-{day:02d}.jsonl" for day in range(5, 13)]


def test_a_file_of_something_else_is_left_alone(storage: MemoryStorage) -> None:
    storage.write(f"{FOLDER}/2020-01-01.jsonl.copy", b"mine")

    a_history(storage).append(an_entry())

    assert "2020-01-01.jsonl.copy" in storage.list(FOLDER)


def test_a_day_holds_so_many_lines_and_the_oldest_go(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_history, "LINES_A_DAY", 3)
    history = a_history(storage)
    for minute in range(5):
        history.append(an_entry(START + timedelta(minutes=minute)))

    assert [entry.sample.at.minute for entry in history.past(START).entries] == [2, 3, 4]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"{half", id="cut"),
        pytest.param(b"[1]", id="a list"),
        pytest.param(b"null", id="nothing"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b'{"at":"2026-03-01T12:00:00+00:00","verdict":"fine","rules":[]}', id="a verdict of its own"),
        pytest.param(b'{"at":"noon","verdict":"ok","rules":[]}', id="no moment"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"last_offset":1e999}', id="no number"),
    ],
)
def test_a_line_that_is_no_check_is_passed_over_and_counted(storage: MemoryStorage, line: bytes) -> None:
    history = a_history(storage)
    history.append(an_entry())
    address = f"{FOLDER}/2026-03-01.jsonl"
    storage.write(address, line + b"\n" + storage.read(address))

    past = history.past(START)

    assert past.entries == (an_entry(),)
    assert past.unreadable == 1


def test_the_newest_check_is_the_last_line_that_is_one(storage: MemoryStorage) -> None:
    history = a_history(storage)
    history.append(an_entry())
    address = f"{FOLDER}/2026-03-01.jsonl"
    storage.write(address, storage.read(address) + b"{half")

    assert history.newest(START) == an_entry()


def test_a_file_beyond_all_measure_is_passed_over_and_begun_anew(storage: MemoryStorage) -> None:
    storage.write(f"{FOLDER}/2026-03-01.jsonl", b"x" * (4 * 1024 * 1024 + 1))
    history = a_history(storage)

    assert history.past(START).entries == ()
    history.append(an_entry())

    assert history.past(START).entries == (an_entry(),)


def test_a_place_that_can_not_be_asked_is_no_empty_past(storage: MemoryStorage) -> None:
    away = SwitchableStorage(storage)
    away.unreachable = "/health/"
    history = a_history(away)

    for ask in (lambda: history.past(START), lambda: history.append(an_entry()), history.newest_change):
        with pytest.raises(StorageError, match="can't be reached"):
            ask()


# The changes


def test_no_change_is_none(storage: MemoryStorage) -> None:
    assert a_history(storage).newest_change() is None


def test_the_newest_change_is_read_back(storage: MemoryStorage) -> None:
    history = a_history(storage)
    assert history.note_change(a_change(0))
    assert history.note_change(a_change(1, after="ok"))

    assert history.newest_change() == KeptChange(noted=a_change(1, after="ok"))


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_of_two_rounds_one_only_makes_the_change(kind: str, tmp_path: Path) -> None:
    storage: Storage = MemoryStorage() if kind == "memory" else LocalStorage()
    root = f"file://{tmp_path}"
    rounds = [HealthHistory(storage, root, "orders") for _ in range(2)]

    assert [history.note_change(a_change()) for history in rounds] == [True, False]


def test_a_change_is_told_once_it_was_told(storage: MemoryStorage) -> None:
    history = a_history(storage)
    history.note_change(a_change(0))
    history.mark_told(0)
    history.note_change(a_change(1, after="ok"))

    assert history.newest_change() == KeptChange(noted=a_change(1, after="ok"), is_told=False)
    history.mark_told(1)
    assert history.newest_change() == KeptChange(noted=a_change(1, after="ok"), is_told=True)


def test_one_round_only_takes_a_telling_over(storage: MemoryStorage) -> None:
    history = a_history(storage)
    history.note_change(a_change())

    assert [history.take_telling_over(0), history.take_telling_over(0)] == [True, False]
    assert history.newest_change() == KeptChange(noted=a_change(), is_taken_over=True)


def test_the_last_twenty_changes_stay_with_their_marks(storage: MemoryStorage) -> None:
    history = a_history(storage)
    for number in range(25):
        history.note_change(a_change(number))
        history.mark_told(number)

    names = storage.list(f"{FOLDER}/changes")

    assert names[0] == "00000000000000000005.json"
    assert len(names) == 2 * 20


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"{half", id="cut"),
        pytest.param(b"", id="empty"),
        pytest.param(b"x" * (4 * 1024 * 1024 + 1), id="beyond all measure"),
    ],
)
def test_a_broken_change_is_like_no_verdict_and_its_number_is_not_used_again(
    storage: MemoryStorage, content: bytes
) -> None:
    history = a_history(storage)
    history.note_change(a_change(0))
    storage.write(f"{FOLDER}/changes/00000000000000000001.json", content)

    kept = history.newest_change()

    assert kept == KeptChange(noted=NotedChange(number=1, at=datetime(1, 1, 1, tzinfo=UTC), after=""))


def test_a_crash_at_any_call_leaves_what_was_there_or_the_whole_change() -> None:
    """The number is given away with the content, so there is no change without a verdict."""
    for crash in range(6):
        storage, calls = MemoryStorage(), 0
        a_history(storage).note_change(a_change(0))

        def tick(moment: str, limit: int = crash) -> None:
            nonlocal calls
            calls += 1
            if calls > limit:
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            a_history(InterruptibleStorage(storage, tick)).note_change(a_change(1, after="ok"))

        kept = a_history(storage).newest_change()
        assert kept in (KeptChange(noted=a_change(0)), KeptChange(noted=a_change(1, after="ok")))


def test_a_day_of_looks_that_fail_with_books_is_kept_within_its_bound(storage: MemoryStorage) -> None:
    history = a_history(storage)
    for number in range(40):
        history.append(an_entry(START + timedelta(seconds=number), Verdict.UNKNOWN, trouble="x" * 300_000))

    assert len(history.past(START).entries) == 40
    assert max(len(entry.trouble) for entry in history.past(START).entries) <= COMPOSED_LIMIT


def test_of_a_day_above_its_bound_the_oldest_lines_go(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(health_history.BOUNDS, FileKind.VERDICTS, Bound(written=1_000, read=1_000))
    history = a_history(storage)
    for number in range(20):
        history.append(an_entry(START + timedelta(seconds=number)))

    kept = history.past(START).entries
    assert 0 < len(kept) < 20
    assert kept[-1].sample.at == START + timedelta(seconds=19)
