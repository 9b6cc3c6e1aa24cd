"""`streamops dlq --replay`: shown, asked about, sent, carried on."""

from dataclasses import replace
from pathlib import Path

import pytest

from streamops.dead_letters.replay import POSITION_HEADER
from support.dead_letters import EMPTY, a_letter, append
from support.sending import FakeSender
from support.terminal import Answer, Terminal


@pytest.fixture
def sender(terminal: Terminal) -> FakeSender:
    """The topic `orders` of two partitions with ten records each."""
    terminal.broker.has("orders", (0, 10), (0, 10), topic_id="first")
    sender = FakeSender(terminal.broker)
    terminal.wiring = replace(terminal.wiring, sender=lambda access, clock: sender)
    return sender


@pytest.fixture
def dead(terminal: Terminal) -> Path:
    """Where three dead letters of `orders` lie."""
    folder = terminal.project.root / "data/dead/orders"
    append(folder, a_letter(3), a_letter(5, minutes=1), a_letter(1, partition=1, value=None, reason=EMPTY))
    return folder


def replayed(terminal: Terminal, *options: str) -> Answer:
    return terminal.run("dlq", "orders", "--replay", "--reason", "mended", *options)


def test_the_plan_is_shown_and_nothing_done(terminal: Terminal, sender: FakeSender, dead: Path) -> None:
    terminal.declare("orders", "billing")

    answer = replayed(terminal, "--dry-run")

    assert answer.code == 0
    assert answer.out.splitlines() == [
        "orders: sends 3 dead letters again to where they came from, at 127.0.0.1:9092",
        "  orders, partition 0: 2",
        "  orders, partition 1: 1",
        "  whoever reads these topics gets the records once more; so do the streams billing",
    ]
    assert sender.sent == {}
    assert not list(terminal.project.root.glob("data/checkpoints/*.streamops/replays"))


def test_key_and_value_go_as_they_came(terminal: Terminal, sender: FakeSender, dead: Path) -> None:
    answer = replayed(terminal, "--yes")

    assert (answer.code, answer.out) == (0, "orders: replay 1 is done: 3 dead letters sent, 3 of them now\n")
    assert [(at, record.key, record.value) for at, record in sender.sent.items()] == [
        (("orders", 0, 10), b"k3", b"{broken 3"),
        (("orders", 0, 11), b"k5", b"{broken 5"),
        (("orders", 1, 10), b"k1", None),
    ]


def test_there_is_nobody_to_ask(terminal: Terminal, sender: FakeSender, dead: Path) -> None:
    answer = replayed(terminal)

    assert answer.code == 2
    assert "error: replay orders: there is no terminal to ask at; add --yes" in answer.err
    assert sender.sent == {}


def test_a_second_replay_sends_what_is_new_and_says_what_it_leaves_out(
    terminal: Terminal, sender: FakeSender, dead: Path
) -> None:
    replayed(terminal, "--yes")
    append(dead, a_letter(10, minutes=5), a_letter(12, minutes=6))

    answer = replayed(terminal, "--dry-run", "--json")

    assert answer.document["letters"] == [{"topic": "orders", "partition": 0, "letters": 1}]
    assert answer.document["left_out"] == {
        "held": ["orders/0:3", "orders/0:5", "orders/1:1"],
        "died_again": ["orders/0:10"],
    }


def test_the_list_tells_what_was_sent_again_and_what_died_again(
    terminal: Terminal, sender: FakeSender, dead: Path
) -> None:
    replayed(terminal, "--yes")
    append(dead, a_letter(11, minutes=5))

    answer = terminal.run("dlq", "orders", "--last", "2")

    rows = [" ".join(line.split()) for line in answer.out.splitlines()[3:5]]
    assert rows[0].endswith("{broken 11 died again, first orders/0:5")
    assert rows[1].endswith("{broken 5 in replay 1")


def test_only_some(terminal: Terminal, sender: FakeSender, dead: Path) -> None:
    replayed(terminal, "--yes", "--only-reason", "empty")
    answer = replayed(terminal, "--yes", "--offsets", "orders/0:5,orders/0:99", "--json")

    assert sender.header(POSITION_HEADER) == ["orders/1/1", "orders/0/5"]
    assert answer.document["unknown"] == ["orders/0:99"]


def test_what_broke_off_is_carried_on(terminal: Terminal, sender: FakeSender, dead: Path) -> None:
    sender.breaks_after, sender.loses_answers = 1, True
    answer = replayed(terminal, "--yes")

    assert answer.code == 1
    assert answer.out.splitlines() == [
        "orders: replay 1 is open: 1 of 3 dead letters are sent, the rest is not",
        "  orders/0:5: _MSG_TIMED_OUT: Local: Message timed out",
        "  when that is mended: `streamops dlq orders --resume`; to end it: `streamops dlq orders --give-up --reason …`",
    ]
    sender.breaks_after = None

    answer = terminal.run("dlq", "orders", "--resume", "--yes")

    assert (answer.code, answer.out) == (0, "orders: replay 1 is done: 3 dead letters sent, 1 of them now\n")
    assert sender.header(POSITION_HEADER) == ["orders/0/3", "orders/0/5", "orders/1/1"]


def test_the_next_replay_carries_the_open_one_on_first(terminal: Terminal, sender: FakeSender, dead: Path) -> None:
    sender.breaks_after = 1
    replayed(terminal, "--yes")
    sender.breaks_after = None

    answer = replayed(terminal, "--yes", "--only-reason", "empty")

    assert answer.code == 0
    assert "orders: replay 1 of 2026-03-01 12:00:00 UTC by person:" in answer.err
    assert sender.header(POSITION_HEADER) == ["orders/0/3", "orders/0/5", "orders/1/1"]


def test_what_is_given_up_may_be_sent_by_another(terminal: Terminal, sender: FakeSender, dead: Path) -> None:
    sender.unfit = frozenset({b"{broken 3"})
    replayed(terminal, "--yes")

    answer = terminal.run("dlq", "orders", "--give-up", "--reason", "too large", "--yes")

    assert answer.out.splitlines() == [
        "orders: replay 1 is given up",
        "  2 of its 3 dead letters were sent; the other 1 may be sent by another replay",
    ]
    assert replayed(terminal, "--dry-run", "--json").document["letters"] == [
        {"topic": "orders", "partition": 0, "letters": 1}
    ]


def test_a_table_without_raw_records_can_not_be_replayed(terminal: Terminal, sender: FakeSender) -> None:
    append(terminal.project.root / "data/dead/orders", a_letter(1), without=("key", "value"))

    answer = replayed(terminal, "--yes")

    assert answer.code == 1
    assert "has no columns key and value: without them nothing can be sent again" in answer.err


def test_rows_of_before_the_raw_columns_are_left_out(terminal: Terminal, sender: FakeSender) -> None:
    folder = terminal.project.root / "data/dead/orders"
    append(folder, a_letter(1), without=("key", "value"))
    append(folder, a_letter(2))

    answer = replayed(terminal, "--yes")

    assert "left out: 1 written without key and value, by an older job: orders/0:1" in answer.err
    assert sender.header(POSITION_HEADER) == ["orders/0/2"]


def test_a_time_is_no_bound_where_there_are_no_times(terminal: Terminal, sender: FakeSender) -> None:
    append(terminal.project.root / "data/dead/orders", a_letter(1), without=("timestamp",))

    answer = replayed(terminal, "--yes", "--since", "2026-03-01T13:10+01:00")

    assert answer.code == 2
    assert "has no column with times: leave --since away" in answer.err
    assert sender.sent == {}


def test_only_a_stream_of_kafka_is_replayed(terminal: Terminal, sender: FakeSender) -> None:
    terminal.declare("orders", source={"kafka": None, "delta": {"table": "data/tables/raw"}})

    answer = replayed(terminal, "--yes")

    assert answer.code == 2
    assert "only dead letters from Kafka can be sent again" in answer.err


def test_a_topic_that_is_gone(terminal: Terminal, sender: FakeSender, dead: Path) -> None:
    terminal.broker.topics.clear()

    answer = replayed(terminal, "--yes")

    assert (answer.code, answer.err) == (
        1,
        "error: topic orders is gone: make it again, or replay dead letters of other topics\n",
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--replay", "--resume"), "--replay and --resume: one of them"),
        (("--yes",), "belong to --replay: add that"),
        (("--replay",), "--reason is empty: say why, others will read it"),
        (("--give-up",), "--reason is empty: say why, others will read it"),
        (("--replay", "--offsets", "orders"), "positions such as orders/0:17,orders/1:4"),
    ],
)
def test_bad_calls_are_told_what_is_expected(
    terminal: Terminal, sender: FakeSender, dead: Path, options: tuple[str, ...], words: str
) -> None:
    answer = terminal.run("dlq", "orders", *options)

    assert answer.code == 2
    assert words in " ".join(answer.err.replace("│", " ").split())


def test_there_is_nothing_to_carry_on(terminal: Terminal, sender: FakeSender) -> None:
    answer = terminal.run("dlq", "orders", "--resume")

    assert (answer.code, answer.err) == (1, "error: stream orders has no open replay\n")


def test_without_dead_letters_there_is_nothing_to_send(terminal: Terminal, sender: FakeSender) -> None:
    answer = replayed(terminal, "--yes")

    assert (answer.code, answer.out) == (0, "orders: no dead letters to send again\n")
