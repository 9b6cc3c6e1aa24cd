"""`streamops history`: who did what, when, why, and what came of it."""

from datetime import timedelta

from streamops.control.codec import encode_record
from streamops.control.layout import control_folder, record_address
from streamops.control.records import VerdictChanged
from support.records import a_record
from support.terminal import Terminal


def entries(terminal: Terminal, *options: str) -> list[dict]:
    return terminal.run("history", "orders", "--json", *options).document["entries"]


def test_a_request_and_what_came_of_it_stand_together(terminal: Terminal) -> None:
    terminal.started()
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")
    terminal.clock.advance(timedelta(seconds=12))
    terminal.obey()
    terminal.settle()

    answer = terminal.run("history", "orders")

    assert answer.code == 0
    (line,) = [line for line in answer.out.splitlines() if "#2 " in line]
    assert line.startswith("2026-03-01 12:00:00  #2  stop  by person:")
    assert line.endswith("→ epoch 1 ended after 12s")
    assert "    why: upgrade" in answer.out


def test_a_failure_shows_its_outcome_how_long_it_ran_and_its_error(terminal: Terminal) -> None:
    terminal.started()
    terminal.clock.advance(timedelta(minutes=10))
    terminal.fail(text="KafkaException: no broker\n\tat somewhere")
    terminal.settle()

    start, end = entries(terminal)

    assert (start["what"], start["outcome"], start["is_act"]) == ("start of epoch 1", "submitted", False)
    assert (end["what"], end["took"], end["error"]) == ("epoch 1 ended", 600.0, "KafkaException: no broker")
    assert end["outcome"].startswith("failed")
    assert end["failure_class"] == terminal.newest().end.failure_class  # type: ignore[union-attr]


def test_acts_alone_leave_out_what_supervisors_do(terminal: Terminal) -> None:
    terminal.started()
    terminal.run("restart", "orders", "--reason", "new job", "--yes", "--no-wait")
    terminal.obey()
    terminal.settle()

    (act,) = entries(terminal, "--acts")

    assert (act["what"], act["why"], act["outcome"]) == ("restart", "new job", "epoch 2 submitted")


def test_the_newest_entries_are_shown_and_that_there_are_older_ones(terminal: Terminal) -> None:
    terminal.started()
    for number in range(3):
        terminal.run("stop", "orders", "--reason", f"stop {number}", "--yes")
        terminal.run("start", "orders", "--reason", f"start {number}", "--yes")

    answer = terminal.run("history", "orders", "--limit", "2")

    assert "older ones are in the log (--limit)" in answer.out
    assert [line for line in answer.out.splitlines() if "why" in line] == ["    why: stop 2", "    why: start 2"]


def test_a_log_that_nothing_can_fold_shows_what_is_around_the_damage(terminal: Terminal) -> None:
    terminal.started()
    terminal.run("stop", "orders", "--reason", "upgrade", "--yes")
    terminal.storage.write(record_address(control_folder(terminal.spec().checkpoint), 1), b"{half")

    answer = terminal.run("history", "orders")

    assert answer.code == 0
    assert "#1  unreadable record" in answer.out
    assert "00000000000000000001.json is not a control record" in answer.out
    assert "why: upgrade" in answer.out


def test_a_changed_verdict_on_the_checkpoint_stands_among_the_acts_of_supervisors(terminal: Terminal) -> None:
    terminal.started()
    control = control_folder(terminal.spec().checkpoint)
    changed = VerdictChanged(before="ok", after="critical", rules=("missing-offsets",))
    terminal.storage.create(record_address(control, 2), encode_record(a_record(changed, 2, reason="a health check")))

    answer = terminal.run("history", "orders")

    assert "#2  checkpoint judged critical, ok before  by supervise" in answer.out
    assert "missing-offsets" in answer.out
    assert [entry["what"] for entry in entries(terminal, "--acts")] == []


def test_a_stream_without_a_log_has_no_history(terminal: Terminal) -> None:
    answer = terminal.run("history", "orders")

    assert (answer.code, answer.out) == (0, "orders: nothing is on record\n")
