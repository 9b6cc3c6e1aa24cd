"""`streamops explain`: the last hours of a stream, in five sentences."""

from datetime import timedelta

from streamops.control.layout import control_folder, record_address
from streamops.errors import LaunchError
from support.terminal import Terminal


def test_a_stream_that_runs_and_had_no_trouble(terminal: Terminal) -> None:
    terminal.started()
    terminal.clock.advance(timedelta(minutes=10))
    terminal.beat(sequence=2)
    terminal.settle()

    answer = terminal.run("explain", "orders")

    assert answer.code == terminal.run("status", "orders").code
    standing, drivers, _, acts, data = answer.out.splitlines()
    assert standing.startswith("orders runs: epoch 1 since 2026-03-01 12:00:00 UTC (10m)")
    assert drivers == "In the last 6h 1 driver was started and none ended."
    assert acts == "Nobody asked for anything in the last 6h."
    assert data.startswith("Its checkpoint is ")


def test_failures_are_counted_by_class_and_the_newest_cause_is_told(terminal: Terminal) -> None:
    terminal.started()
    for minutes in (5, 7):
        terminal.clock.advance(timedelta(minutes=minutes))
        terminal.fail(text="KafkaException: no broker\n\tat somewhere")
        terminal.settle()
        terminal.clock.advance(timedelta(minutes=8))
        terminal.settle()

    answer = terminal.run("explain", "orders", "--last", "1h")

    drivers, progress = answer.out.splitlines()[1:3]
    assert drivers.startswith("In the last 60m 3 drivers were started and 2 ended: 2 ")
    assert drivers.endswith("the newest failure: KafkaException: no broker.")
    assert "had no driver for 16m, the longest time 8m from 12:05:00 UTC." in progress


def test_what_lies_before_the_window_is_not_told(terminal: Terminal) -> None:
    terminal.started()
    terminal.fail(text="KafkaException: no broker")
    terminal.settle()
    terminal.clock.advance(timedelta(hours=3))
    terminal.settle()

    document = terminal.run("explain", "orders", "--last", "30m", "--json").document

    assert (document["drivers_started"], document["ends"]) == (1, {})
    assert [(gap["since"], gap["until"]) for gap in document["gaps"]] == [
        ("2026-03-01T14:30:00+00:00", "2026-03-01T15:00:00+00:00")
    ]


def test_what_people_asked_for_is_told_with_the_reason(terminal: Terminal) -> None:
    terminal.started()
    terminal.run("stop", "orders", "--reason", "new broker", "--yes")
    terminal.obey()
    terminal.settle()

    answer = terminal.run("explain", "orders")

    lines = answer.out.splitlines()
    assert lines[0].startswith("orders is stopped: stopped by person:")
    assert lines[3].startswith("Asked for: stop by person:")
    assert lines[3].endswith("at 12:00:00 UTC (new broker).")


def test_a_stream_that_can_not_be_looked_at_is_told_as_unknown(terminal: Terminal) -> None:
    terminal.started()
    terminal.storage.write(record_address(control_folder(terminal.spec().checkpoint), 0), b"no record")

    answer = terminal.run("explain", "orders")

    assert answer.code == 4
    standing, told, *_ = answer.out.splitlines()
    assert standing.startswith("orders is unknown: ")
    assert told == "What happened to it is not known: its control log or checkpoint can't be read."


def test_a_stream_that_was_parked_long_ago_had_no_driver_all_the_time(terminal: Terminal) -> None:
    terminal.started()
    terminal.fail(text="KafkaException: no broker")
    terminal.settle()
    terminal.run("stop", "orders", "--reason", "night", "--yes")
    terminal.clock.advance(timedelta(hours=9))
    terminal.settle()

    answer = terminal.run("explain", "orders", "--last", "1h")

    assert "had no driver for 60m from 20:00:00 UTC." in answer.out.splitlines()[2]


def test_a_gap_begins_with_the_first_of_several_ends(terminal: Terminal) -> None:
    terminal.started()
    terminal.fail(text="KafkaException: no broker")
    terminal.settle()
    begun = terminal.clock.now()
    terminal.launcher.submit_error = LaunchError("no room")
    for _ in range(2):
        terminal.clock.advance(timedelta(minutes=10))
        terminal.settle()
    terminal.launcher.submit_error = None
    terminal.clock.advance(timedelta(minutes=10))
    terminal.settle()

    (gap,) = terminal.run("explain", "orders", "--json").document["gaps"]

    assert gap["since"] == begun.isoformat()
