"""`streamops dlq`: what the table of dead letters holds, shown."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from support.dead_letters import EMPTY, NO_JSON, NOON, a_letter, append
from support.terminal import Terminal


@pytest.fixture
def dead(terminal: Terminal) -> Path:
    """Where the dead letters of `orders` lie."""
    return terminal.project.root / "data/dead/orders"


def told(terminal: Terminal, *options: str) -> list[str]:
    """The lines of the answer, without what lines them up."""
    answer = terminal.run("dlq", "orders", *options)
    assert (answer.code, answer.err) == (0, "")
    return [" ".join(line.split()) for line in answer.out.splitlines()]


def offsets(terminal: Terminal, *options: str) -> list[int]:
    answer = terminal.run("dlq", "orders", "--json", *options)
    assert answer.code == 0, answer.err
    return [letter["offset"] for letter in answer.document["letters"]]


def test_without_a_table_there_are_none(terminal: Terminal) -> None:
    assert told(terminal) == ["orders: no dead letters"]


def test_the_newest_first_with_their_reasons(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(3), a_letter(5, minutes=1))
    append(dead, a_letter(9, minutes=2, value=None, reason=EMPTY))

    lines = told(terminal)

    assert lines[0] == f"orders: 3 of 3 dead letters, the newest first (file://{dead})"
    assert lines[3:] == [
        "orders/0:9 2026-03-01 12:02:00 the record is empty",
        "orders/0:5 2026-03-01 12:01:00 the record is not one JSON object {broken 5",
        "orders/0:3 2026-03-01 12:00:00 the record is not one JSON object {broken 3",
        "by reason, of those shown (--all counts all of them):",
        "2 the record is not one JSON object, 2026-03-01 12:00:00 to 2026-03-01 12:01:00 UTC",
        "1 the record is empty, 2026-03-01 12:02:00 UTC",
    ]


def test_the_newest_are_found_whatever_the_order_of_the_commits(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(7, minutes=7), a_letter(2, minutes=2))
    append(dead, a_letter(1, minutes=1), a_letter(6, minutes=6))

    assert offsets(terminal, "--last", "3") == [7, 6, 2]


def test_old_files_are_not_opened(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1))
    (old,) = dead.glob("*.parquet")
    append(dead, a_letter(2, minutes=5), a_letter(3, minutes=6))
    old.write_bytes(b"no parquet")

    assert offsets(terminal, "--last", "2") == [3, 2]


def test_a_reason_is_looked_for_in_older_files_too(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1, reason="it's EMPTY"))
    append(dead, *(a_letter(number, minutes=number) for number in range(2, 30)))

    assert offsets(terminal, "--last", "1", "--reason", "it's empty") == [1]


def test_from_a_time_on(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1), a_letter(2, minutes=10), a_letter(3, minutes=20))

    assert offsets(terminal, "--since", "2026-03-01T13:10+01:00") == [3, 2]


def test_all_counts_those_that_are_not_shown(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1, reason=EMPTY), a_letter(2, minutes=1), a_letter(3, minutes=2))

    answer = terminal.run("dlq", "orders", "--last", "1", "--all", "--json")

    assert [letter["offset"] for letter in answer.document["letters"]] == [3]
    assert answer.document["reasons"] == [
        {
            "reason": NO_JSON,
            "letters": 2,
            "first": "2026-03-01T12:01:00+00:00",
            "last": "2026-03-01T12:02:00+00:00",
        },
        {"reason": EMPTY, "letters": 1, "first": "2026-03-01T12:00:00+00:00", "last": "2026-03-01T12:00:00+00:00"},
    ]


def test_nothing_of_a_record_reaches_the_terminal_as_it_is(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1, value=b"\x1b[2Jgone\nnext", topic="or\x1bders", reason="bad\x07"))

    answer = terminal.run("dlq", "orders")

    assert r"\x1b[2Jgone\nnext" in answer.out
    assert r"or\x1bders/0:1" in answer.out
    assert not {"\x1b", "\x07"} & set(answer.out)


def test_a_long_text_is_cut(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1, value=b"x" * 5000))

    (line,) = [line for line in told(terminal) if line.startswith("orders/0:1 ")]

    assert line.endswith(" " + "x" * 80 + "…")


def test_a_table_of_an_older_job_says_that_it_can_not_be_replayed(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1), without=("key", "value"))

    assert told(terminal)[-1] == "they can't be sent again: the table has no columns key and value"


def test_dead_letters_of_files_show_the_columns_that_there_are(terminal: Terminal, dead: Path) -> None:
    row = {"file": ["/in/a.json"], "line": [4], "read_at": [NOON], "text": ["{"], "reason": ["broken"]}
    write_deltalake(str(dead), pa.table({**row, "read_at": pa.array([NOON], pa.timestamp("us", tz="UTC"))}))

    lines = told(terminal)

    assert lines[3] == "file=/in/a.json, line=4 2026-03-01 12:00:00 broken {"
    assert lines[-1] == (
        "they can't be sent again: the table has no columns topic, partition and offset and no key and value"
    )


def test_a_table_without_times_is_shown_and_not_asked_for_them(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1), without=("timestamp",))

    assert told(terminal)[0].startswith("orders: 1 of 1 dead letters, in no order: the table has no times")
    answer = terminal.run("dlq", "orders", "--since", "2026-03-01T13:10+01:00")
    assert (answer.code, answer.err) == (2, f"error: file://{dead} has no column with times: leave --since away\n")


def test_a_stream_without_declared_dead_letters_is_told_what_to_set(terminal: Terminal) -> None:
    terminal.declare("orders", sink={"dead_letters": None})

    answer = terminal.run("dlq", "orders")

    assert (answer.code, answer.err) == (
        2,
        "error: stream orders declares no table of dead letters: set sink.dead_letters\n",
    )


def test_a_broken_file_is_a_sentence(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(1))
    (file,) = dead.glob("*.parquet")
    file.write_bytes(b"no parquet")

    answer = terminal.run("dlq", "orders")

    assert answer.code == 1
    assert answer.err.startswith(f"error: file://{dead}: the dead letters can't be read: ")


@pytest.mark.parametrize("text", ["yesterday", "2026-03-01T13:10"])
def test_a_time_without_a_zone_is_refused(terminal: Terminal, text: str) -> None:
    answer = terminal.run("dlq", "orders", "--since", text)

    assert answer.code == 2
    assert "2026-11-28T14:00+01:00 is expected" in " ".join(answer.err.replace("│", " ").split())


def test_a_time_beyond_every_calendar_is_left_out(terminal: Terminal, dead: Path) -> None:
    far = pa.array([2**62], pa.int64()).cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
    write_deltalake(str(dead), pa.table({"timestamp": far, "reason": ["r"]}))

    answer = terminal.run("dlq", "orders", "--json")

    assert (answer.code, answer.document["letters"][0]["at"]) == (0, None)


def a_file(path: Path) -> None:
    path.write_text("x")


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize("made", [a_file, os.mkfifo, a_link_to_itself])
def test_what_is_no_folder_in_place_of_the_table_is_told(
    terminal: Terminal, dead: Path, made: Callable[[Path], None]
) -> None:
    dead.parent.mkdir(parents=True)
    made(dead)

    answer = terminal.run("dlq", "orders")

    assert (answer.code, answer.out) == (1, "")
    assert f"file://{dead}/_delta_log: " in answer.err


@pytest.mark.parametrize("name", ["_last_checkpoint", "00000000000000000001.json"])
def test_a_fifo_in_the_log_of_the_table_makes_nobody_wait(terminal: Terminal, dead: Path, name: str) -> None:
    append(dead, a_letter(3))
    os.mkfifo(dead / "_delta_log" / name)

    answer = terminal.run("dlq", "orders")

    assert (answer.code, answer.out) == (1, "")
    assert f"_delta_log/{name} is no regular file" in answer.err


def test_a_table_whose_name_has_control_characters_is_told_in_plain_letters(terminal: Terminal, dead: Path) -> None:
    append(dead, a_letter(3))
    name = "data/dead/\x1b[31m\x07"
    dead.rename(terminal.project.root / name)
    terminal.declare("orders", sink={"dead_letters": name})

    answer = terminal.run("dlq", "orders")

    # The library takes no such path, which Spark makes all the same.
    assert (answer.code, answer.out) == (1, "")
    assert "the Delta log can't be read" in answer.err
    assert all(letter.isprintable() or letter == "\n" for letter in answer.err)
