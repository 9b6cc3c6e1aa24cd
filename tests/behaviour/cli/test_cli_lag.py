"""`streamops lag`: from the checkpoint and the broker alone."""

from datetime import timedelta

import pytest

from streamops.control.layout import companion_checkpoint
from streamops.storage import join
from support.checkpoints import commit, metadata, offsets
from support.clock import START
from support.terminal import Terminal


def write(terminal: Terminal, *entries: str, committed: int, address: str = "") -> None:
    """A checkpoint with these offsets, from batch 0 on, of which so many are committed."""
    address = address or terminal.spec().checkpoint
    terminal.storage.write(join(address, "metadata"), metadata())
    for batch, text in enumerate(entries):
        terminal.storage.write(join(address, "offsets", str(batch)), offsets(text))
    for batch in range(committed):
        terminal.storage.write(join(address, "commits", str(batch)), commit())


@pytest.fixture
def dead(terminal: Terminal) -> Terminal:
    """A query that died an hour ago, with two partitions; no driver lives, and no supervisor ever ran."""
    write(terminal, '{"orders":{"0":100,"1":200}}', '{"orders":{"0":150,"1":260}}', committed=2)
    terminal.broker.has("orders", (0, 450), (0, 260))
    terminal.broker.times["orders", 0] = START - timedelta(hours=1)
    return terminal


def test_a_dead_stream_shows_its_lag_and_its_deadline(dead: Terminal) -> None:
    answer = dead.run("lag", "orders")

    assert answer.code == 0
    assert answer.out.startswith("orders: ok: everything that it needs is there\n")
    assert "300 offsets are not read yet, the oldest is 60m old" in answer.out
    assert (
        "the first record that waits may be deleted from 2026-03-08 11:00:00 UTC on (in 6d): act by"
        " 2026-03-08 10:30:00 UTC" in answer.out
    )
    assert [line.split()[:9] for line in answer.out.splitlines()[5:]] == [
        ["orders", "orders-0", "covered", "150", "0", "450", "300", "2026-03-08", "11:00:00"],
        ["orders", "orders-1", "covered", "260", "0", "260", "0"],
    ]


def test_only_what_waits_is_looked_at_for_its_time(dead: Terminal) -> None:
    dead.run("lag", "orders")

    assert [(place.topic, place.partition, place.offset) for place in dead.broker.probed] == [("orders", 0, 150)]


@pytest.mark.parametrize(
    ("age", "code", "verdict"),
    [
        pytest.param(timedelta(days=6, hours=11), 0, "ok", id="more than half a day and the margin are left"),
        pytest.param(timedelta(days=6, hours=12), 3, "warning", id="half a day before act-by"),
        pytest.param(timedelta(days=6, hours=23, minutes=29), 3, "warning", id="a minute before act-by"),
        pytest.param(timedelta(days=6, hours=23, minutes=30), 4, "critical", id="act by now"),
    ],
)
def test_the_verdict_follows_from_the_time_that_is_left(
    dead: Terminal, age: timedelta, code: int, verdict: str
) -> None:
    dead.broker.times["orders", 0] = START - age

    answer = dead.run("lag", "orders", "--json")

    assert (answer.code, answer.document["streams"][0]["verdict"]) == (code, verdict)


def test_lost_records_are_told_with_their_exact_range(dead: Terminal) -> None:
    dead.broker.has("orders", (400, 450), (0, 260))

    answer = dead.run("lag", "orders")

    assert answer.code == 4
    assert "orders: critical: orders-0: 250 offsets [150, 400) that are needed are deleted" in answer.out


def test_a_batch_in_flight_is_needed_from_its_start(dead: Terminal) -> None:
    write(dead, '{"orders":{"0":100,"1":200}}', '{"orders":{"0":150,"1":260}}', committed=1)
    dead.storage.delete(join(dead.spec().checkpoint, "commits", "1"))
    dead.broker.has("orders", (120, 450), (0, 260))

    answer = dead.run("lag", "orders", "--json")

    partition = answer.document["streams"][0]["partitions"][0]["coverage"]
    assert (partition["start"], partition["end"], partition["lost"]) == (100, 150, {"first": 100, "end": 120})


def test_an_end_below_the_offset_counts_only_when_the_second_look_finds_it_too(dead: Terminal) -> None:
    dead.broker.has("orders", (0, 20), (0, 260))
    dead.clock.on_sleep = lambda: dead.broker.moves("orders", 0, latest=450)

    moved = dead.run("lag", "orders")
    dead.clock.on_sleep = lambda: None
    dead.broker.moves("orders", 0, latest=20)
    stayed = dead.run("lag", "orders")

    assert (moved.code, stayed.code) == (0, 4)
    assert "orders: critical: orders-0: it ends at 20, the query has reached 150" in stayed.out
    assert dead.clock.slept == [timedelta(seconds=3)] * 2


def test_a_broker_that_is_away_is_unknown_and_nothing_is_called_lost(dead: Terminal) -> None:
    dead.broker.trouble = "_TRANSPORT: no broker answers"

    answer = dead.run("lag", "orders")

    assert answer.code == 4
    assert "orders: unknown: orders-0: _TRANSPORT: no broker answers" in answer.out


def test_without_the_right_to_read_there_is_no_deadline_and_the_rest_is_told(dead: Terminal) -> None:
    dead.broker.times.clear()

    answer = dead.run("lag", "orders")

    assert answer.code == 0
    assert "300 offsets are not read yet\n" in answer.out
    assert "the time of the first record that is needed is not known" in answer.out


def test_the_further_queries_of_a_driver_count_too(dead: Terminal) -> None:
    companion = companion_checkpoint(dead.spec().checkpoint, 0)
    write(dead, '{"orders":{"0":50,"1":260}}', committed=1, address=companion)
    dead.broker.has("orders", (60, 450), (0, 260))

    answer = dead.run("lag", "orders", "--json")

    first = answer.document["streams"][0]["partitions"][0]
    assert (first["checkpoint"], first["coverage"]["lost"]) == (companion, {"first": 50, "end": 60})


def test_a_stream_that_has_not_begun_needs_nothing(terminal: Terminal) -> None:
    terminal.broker.has("orders", (0, 10))

    answer = terminal.run("lag", "orders")

    assert (answer.code, answer.out) == (
        0,
        "orders: ok: no batch was planned yet: it begins where `startingOffsets` says\n",
    )


def test_a_newest_entry_that_is_broken_is_unknown(dead: Terminal) -> None:
    dead.storage.write(join(dead.spec().checkpoint, "offsets", "2"), b"")

    answer = dead.run("lag", "orders")

    assert answer.code == 4
    assert "where the query goes on is not known: offsets/2: " in answer.out


@pytest.mark.parametrize("newest", ["{}", '{"orders":{}}', "-"])
def test_an_entry_whose_topics_are_gone_is_unknown_and_no_beginning(dead: Terminal, newest: str) -> None:
    write(dead, '{"orders":{"0":100,"1":200}}', newest, committed=2)

    answer = dead.run("lag", "orders")

    assert answer.code == 4
    assert "offsets/1 names no topic, though the entry below it does" in answer.out
    assert "no batch was planned yet" not in answer.out


def test_all_streams_of_a_cluster_are_told_from_one_scan(dead: Terminal) -> None:
    dead.declare("orders", "returns")
    write(dead, '{"orders":{"0":440,"1":260}}', committed=1, address=dead.spec("returns").checkpoint)

    answer = dead.run("lag", "--all")

    assert answer.code == 0
    assert [line.split()[:3] for line in answer.out.splitlines()[2:]] == [
        ["orders", "ok", "300"],
        ["returns", "ok", "10"],
    ]
    assert dead.broker.scans == [frozenset({"orders"})]


def test_one_stream_that_cannot_be_read_hides_no_other(dead: Terminal) -> None:
    dead.declare("orders", "returns")
    dead.storage.write(dead.spec("returns").checkpoint, b"a file")

    answer = dead.run("lag", "--all", "--json")

    assert [one["verdict"] for one in answer.document["streams"]] == ["ok", "unknown"]


def test_no_stream_named_is_a_question_back(terminal: Terminal) -> None:
    answer = terminal.run("lag")

    assert answer.code == 2
    assert "which stream? `streamops lag STREAM`, or `streamops lag --all`" in answer.err
