"""A driver's progress file, read from outside."""

import json

from hypothesis import given
from hypothesis import strategies as st

from streamops.progress import ProgressHistory, parse_progress, read_progress
from streamops.progress.event import LINES_READ
from streamops.storage.memory import MemoryStorage
from support.specs import seconds

ADDRESS = "memory:///orders.streamops/drivers/1-0123456789abcdef/progress.jsonl"


def line(batch: int, *, took: float = 2, planned: float = 1, ran: bool = True, query: str = "q-1") -> str:
    durations = {"latestOffset": planned * 1000, "triggerExecution": took * 1000}
    if ran:
        durations["addBatch"] = 1
    fields = {"id": query, "batchId": batch, "timestamp": "2026-03-01T12:00:00.000Z", "durationMs": durations}
    return json.dumps(fields) + "\n"


def history(*lines: str) -> ProgressHistory:
    return parse_progress("".join(lines).encode())


def test_events_come_in_the_order_of_their_lines():
    assert [event.batch for event in history(line(7), line(8)).events] == [7, 8]


def test_batches_took_what_their_triggers_took_and_idle_ones_do_not_count():
    assert history(line(0, took=5), line(1, took=60, ran=False), line(1, took=6)).batch_durations(last=20) == (
        seconds(5),
        seconds(6),
    )


def test_idle_triggers_plan_like_any_other():
    assert history(line(0, planned=1), line(1, planned=3, ran=False)).planning_durations(last=20) == (
        seconds(1),
        seconds(3),
    )


def test_only_the_last_batches_count():
    assert history(*(line(number, took=number) for number in range(9))).batch_durations(last=2) == (
        seconds(7),
        seconds(8),
    )


def test_queries_of_one_driver_are_told_apart():
    both = history(line(7), line(1, query="q-2"))

    assert [event.batch for event in both.of_query("q-2").events] == [1]


def test_broken_lines_are_counted_and_hide_no_other():
    found = history(line(1), "{cut\n", "\n", line(2))

    assert ([event.batch for event in found.events], found.broken) == ([1, 2], 1)


def test_only_the_end_of_a_long_file_is_read():
    found = history(*(line(number) for number in range(LINES_READ + 40)))

    assert (len(found.events), found.events[0].batch) == (LINES_READ, 40)


def test_a_driver_without_progress_has_no_history():
    assert read_progress(MemoryStorage(), ADDRESS) == ProgressHistory()


def test_a_file_beyond_all_bounds_is_known_to_be_there():
    storage = MemoryStorage()
    storage.write(ADDRESS, b"x" * (5 * 1024 * 1024))

    assert read_progress(storage, ADDRESS) == ProgressHistory(is_readable=False)


def test_the_newest_event_is_the_last_one():
    storage = MemoryStorage()
    storage.write(ADDRESS, (line(3) + line(4)).encode())

    assert read_progress(storage, ADDRESS).newest.batch == 4


@given(st.binary(max_size=200))
def test_any_content_is_read(content):
    assert parse_progress(content).broken >= 0
