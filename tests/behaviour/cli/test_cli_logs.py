import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from streamops.control.log import ControlLog
from streamops.control.records import DriverHandle, Submitted
from streamops.operations.requests import this_person
from streamops.supervision.act import new_record
from support.terminal import Terminal


def written(terminal: Terminal, content: str) -> Path:
    """The newest driver's log."""
    path = Path(terminal.launcher.drivers[-1].handle.log)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_the_end_of_the_newest_drivers_log(terminal: Terminal) -> None:
    terminal.started()
    written(terminal, "one\n[two] :smile:\nthree\n")

    answer = terminal.run("logs", "orders", "--lines", "2")

    assert (answer.code, answer.out) == (0, "[two] :smile:\nthree\n")


def test_the_log_of_an_older_epoch(terminal: Terminal) -> None:
    terminal.started()
    written(terminal, "first\n")
    terminal.fail()
    terminal.settle()
    terminal.clock.advance(terminal.spec().restart.max_delay)
    terminal.settle()
    written(terminal, "second\n")

    assert terminal.run("logs", "orders").out == "second\n"
    assert terminal.run("logs", "orders", "--epoch", "1").out == "first\n"


def test_the_answer_in_json(terminal: Terminal) -> None:
    terminal.started()
    path = written(terminal, "one\n")

    document = terminal.run("logs", "orders", "--json").document

    assert document == {"stream": "orders", "epoch": 1, "path": str(path), "lines": ["one"]}


def test_a_stream_that_never_had_a_driver_has_no_log(terminal: Terminal) -> None:
    answer = terminal.run("logs", "orders")

    assert answer.code == 1
    assert "no driver of it was ever submitted" in answer.err


def test_an_epoch_that_was_never_submitted_is_named_beside_those_that_were(terminal: Terminal) -> None:
    terminal.started()

    answer = terminal.run("logs", "orders", "--epoch", "7")

    assert answer.code == 1
    assert "epoch 7 was never submitted; submitted: 1 to 1" in answer.err


def test_a_log_on_another_host_is_named_with_its_host(terminal: Terminal) -> None:
    terminal.started()

    answer = terminal.run("logs", "orders")

    assert answer.code == 1
    assert "000001.log on host host-1" in answer.err
    assert "run this command there" in answer.err


def test_a_driver_whose_log_is_not_known_is_told(terminal: Terminal) -> None:
    terminal.supervisor().step()
    log = ControlLog.of_checkpoint(terminal.storage, terminal.spec().checkpoint)
    body = Submitted(epoch=1, handle=DriverHandle(launcher="fake"))
    log.append(new_record(body, number=1, clock=terminal.clock, author=this_person(), reason="found"))

    answer = terminal.run("logs", "orders")

    assert answer.code == 1
    assert "has told no place for the log" in answer.err


class CtrlC:
    """What is written between the looks of --follow, and then a person ends it."""

    def __init__(self, path: Path, *contents: tuple[str, str]) -> None:
        self._path = path
        self._contents = list(contents)

    def __call__(self) -> None:
        if not self._contents:
            raise KeyboardInterrupt
        mode, content = self._contents.pop(0)
        with open(self._path, mode) as file:
            file.write(content)


@pytest.mark.parametrize(
    ("contents", "shown"),
    [
        pytest.param([("a", "two\n"), ("a", "three\n")], "one\ntwo\nthree\n", id="grows"),
        pytest.param([("a", "tw"), ("a", "o\n")], "one\ntwo\n", id="shows whole lines only"),
        pytest.param([("w", "2\n"), ("a", "3\n")], "one\n2\n3\n", id="was emptied by its cap"),
        pytest.param([], "one\n", id="nothing more"),
    ],
)
def test_following_a_log(terminal: Terminal, contents: list[tuple[str, str]], shown: str) -> None:
    terminal.started()
    terminal.clock.on_sleep = CtrlC(written(terminal, "one\n"), *contents)

    answer = terminal.run("logs", "orders", "--follow")

    assert (answer.code, answer.out) == (0, shown)


def test_a_log_that_was_pruned_is_called_so(terminal: Terminal) -> None:
    terminal.declare("orders", keep={"epochs": 2, "days": 1})
    terminal.started()
    for _ in range(2):
        terminal.fail()
        terminal.settle()
        terminal.clock.advance(terminal.spec().restart.max_delay)
        terminal.settle()
        terminal.beat()
    terminal.clock.advance(timedelta(days=2))

    pruned, kept = terminal.run("logs", "orders", "--epoch", "1"), terminal.run("logs", "orders", "--epoch", "2")

    assert (pruned.code, kept.code) == (1, 1)
    assert "orders, epoch 1: log pruned: it ended at" in pruned.err
    assert "the last 2 epochs and 1 days are kept" in pruned.err
    assert "log pruned" not in kept.err


def a_directory(path: Path) -> None:
    path.mkdir()


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_link(path: Path) -> None:
    (path.parent / "shadow").write_text("root:x\n")
    path.symlink_to(path.parent / "shadow")


def a_loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        pytest.param(a_directory, "no regular file", id="a folder"),
        pytest.param(a_fifo, "no regular file", id="a FIFO, which would wait for ever"),
        pytest.param(a_link, "symbolic links", id="a link to a file of somebody else"),
        pytest.param(a_loop, "symbolic links", id="a link to itself"),
    ],
)
def test_what_is_no_log_at_its_place_is_told_and_not_read(
    terminal: Terminal, made: Callable[[Path], None], reason: str
) -> None:
    terminal.started()
    path = Path(terminal.launcher.drivers[-1].handle.log)
    path.parent.mkdir(parents=True, exist_ok=True)
    made(path)

    answer = terminal.run("logs", "orders")

    assert (answer.code, answer.out) == (1, "")
    assert "driver log" in answer.err
    assert reason in answer.err


@pytest.mark.parametrize(
    "log",
    [
        pytest.param("/dev/zero", id="a device without an end"),
        pytest.param("/no/such\x1b[31m\x07/log", id="control characters"),
        pytest.param("/no/../such/../log", id="a path upwards"),
        pytest.param("/" + "d" * 5000, id="longer than a name may be"),
        pytest.param("/no\0such", id="a null character"),
    ],
)
def test_a_path_of_a_record_that_leads_nowhere_is_told_in_plain_letters(terminal: Terminal, log: str) -> None:
    terminal.started()
    ControlLog.of_checkpoint(terminal.storage, terminal.spec().checkpoint).append(
        new_record(
            Submitted(epoch=1, handle=replace(terminal.launcher.drivers[-1].handle, log=log)),
            number=terminal.state().next_number,
            clock=terminal.clock,
            author=this_person(),
            reason="forged",
        )
    )

    answer = terminal.run("logs", "orders")

    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("error: ")
    assert all(letter.isprintable() or letter == "\n" for letter in answer.err)


def test_the_end_of_a_huge_log_costs_no_more_than_its_end(terminal: Terminal) -> None:
    terminal.started()
    path = written(terminal, "")
    with open(path, "r+b") as file:
        file.truncate(1 << 40)
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast\n")

    answer = terminal.run("logs", "orders", "--lines", "1")

    assert (answer.code, answer.out) == (0, "last\n")


@pytest.mark.parametrize("stream", ["../orders", "/etc/passwd", "orders\0", "ord\x1b[31mers", "x" * 5000])
@pytest.mark.parametrize("command", ["logs", "dlq"])
def test_a_name_that_is_a_path_is_no_stream(terminal: Terminal, command: str, stream: str) -> None:
    answer = terminal.run(command, stream)

    assert (answer.code, answer.out) == (2, "")
    assert "no stream is called" in answer.err
    assert all(letter.isprintable() or letter == "\n" for letter in answer.err)
