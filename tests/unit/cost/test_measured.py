"""What is taken from progress for an estimate."""

import json
from datetime import timedelta

from streamops.cost.state import input_rate, of_stream, processing_time
from streamops.progress import ProgressHistory, parse_progress
from support.clock import START
from support.specs import seconds


def history(*batches: tuple[int, int, int], lag: int = 0, name: str = "orders") -> ProgressHistory:
    """Batches that began so many seconds after the first, read so many records, and took so many seconds."""
    lines = [
        {
            "batchId": number,
            "name": name,
            "timestamp": (START + timedelta(seconds=began)).isoformat(),
            "numInputRows": rows,
            "durationMs": {"addBatch": 1, "triggerExecution": 1000 * took},
            "sources": [{"description": "KafkaV2", "metrics": {"maxOffsetsBehindLatest": str(lag)}}],
        }
        for number, (began, rows, took) in enumerate(batches)
    ]
    return parse_progress("\n".join(map(json.dumps, lines)).encode())


def test_the_processing_time_is_that_of_batches_with_input():
    figure = processing_time(history((0, 10, 3), (10, 0, 60), (20, 10, 4)))

    assert figure is not None
    assert (figure.duration, figure.note) == (seconds(4), "95 % of 2 batches took so long or less")


def test_without_such_a_batch_it_is_not_known():
    assert processing_time(history((0, 0, 3))) is None


def test_the_rate_is_what_came_in_since_the_first_batch_began():
    """What the first has read had come before it: for how long is not known."""
    figure = input_rate(history((0, 5000, 3), (10, 100, 3), (20, 300, 3)))

    assert figure is not None
    assert (figure.number, figure.note) == (20.0, "400 in 20 s")


def test_a_rate_of_batches_that_left_records_behind_is_the_least():
    figure = input_rate(history((0, 10, 3), (10, 100, 3), lag=7))

    assert figure is not None
    assert figure.note == "100 in 10 s; it left records behind, so more were written"


def test_one_batch_is_no_rate_nor_are_two_at_one_moment():
    assert input_rate(history((0, 10, 3))) is None
    assert input_rate(history((0, 10, 3), (0, 10, 3))) is None


def test_companions_do_not_count():
    both = ProgressHistory(events=history((0, 1, 1)).events + history((0, 2, 9), name="orders-0").events)

    assert [event.input_rows for event in of_stream(both, "orders").events] == [1]
