"""`streamops lag` where earlier looks are on record, and where the declaration says what an outage may cost."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.control.layout import PROGRESS, control_folder, driver_folder
from streamops.retention import Coverage, PartitionCoverage, PartitionState
from streamops.retention.coverage_history import FILE, read_past, write_past
from streamops.retention.past import CoveragePast, SuspectedState
from streamops.storage import join
from support.brokers import A_WEEK
from support.checkpoints import QUERY_ID, commit, metadata, offsets
from support.clock import START
from support.settings import a_declared_stream
from support.terminal import Terminal

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def stands_at(terminal: Terminal, offset: int, *, batch: int = 0) -> None:
    """The query has committed all before this offset of partition 0."""
    address = terminal.spec().checkpoint
    terminal.storage.write(join(address, "metadata"), metadata())
    terminal.storage.write(join(address, "offsets", str(batch)), offsets(f'{{"orders":{{"0":{offset}}}}}'))
    terminal.storage.write(join(address, "commits", str(batch)), commit())


def was_seen(
    terminal: Terminal, *, reads: int, deleted: int, written: int, start: int = 60_000, topic_id: str = ""
) -> None:
    """Looks every five minutes for two hours at a query that stands at `start` of 200 000 now; offsets a minute."""
    past = CoveragePast(query_id=QUERY_ID)
    for age in range(120, 0, -5):
        at = START - age * MINUTE
        one = PartitionCoverage(
            topic="orders",
            partition=0,
            standing=PartitionState.COVERED,
            start=start - reads * age,
            earliest=50_000 - deleted * age,
            latest=200_000 - written * age,
        )
        coverage = Coverage(at=at, partitions=(one,))
        past = past.with_look({terminal.spec().checkpoint: coverage}, {"orders": topic_id}, at=at)
    write_past(terminal.storage, terminal.spec().checkpoint, past)


@pytest.fixture
def seen(terminal: Terminal) -> Terminal:
    """A query of one partition; its topic keeps a week, and the record that waits is six days and 23 hours old."""
    terminal.declare("orders")
    terminal.started()
    stands_at(terminal, 60_000)
    terminal.broker.has("orders", (50_000, 200_000))
    terminal.broker.times["orders", 0] = START - timedelta(days=6, hours=23)
    return terminal


def test_a_query_that_keeps_pace_is_quiet_though_what_waits_is_old(seen: Terminal) -> None:
    was_seen(seen, reads=150, deleted=100, written=100)

    answer = seen.run("lag", "orders")

    assert answer.code == 0
    assert "it read 150 offsets a minute, and Kafka may delete 100 a minute" in answer.out
    assert "act by" not in answer.out


def test_the_same_query_dead_must_be_acted_on(seen: Terminal) -> None:
    was_seen(seen, reads=0, deleted=100, written=100)

    answer = seen.run("lag", "orders", "--json")

    stream = answer.document["streams"][0]
    assert (answer.code, stream["verdict"], stream["rule"]) == (3, "warning", "deadline-near")
    assert stream["act_by"] == "2026-03-01T12:30:00+00:00"


@pytest.mark.fault("B33")
def test_a_living_query_on_which_the_deletions_close_in_is_warned_with_its_headroom(seen: Terminal) -> None:
    """The earliest offset moves 100 a minute, the query 40: 10 000 offsets less a deletion last for 158 minutes."""
    was_seen(seen, reads=40, deleted=100, written=100)

    answer = seen.run("lag", "orders")

    assert answer.code == 3
    assert answer.out.startswith(
        "orders: warning: orders-0: what is deleted closes in on the query:"
        " when it was last seen reading, it read 40 offsets a minute, and Kafka may delete 100 a minute\n"
    )
    assert "from 2026-03-01 14:38:20 UTC on (in 2h): act by 2026-03-01 14:08:20 UTC" in answer.out


def test_a_query_at_the_very_edge_is_a_warning_though_it_gains(seen: Terminal) -> None:
    was_seen(seen, reads=150, deleted=100, written=100)
    seen.broker.times["orders", 0] = START - timedelta(days=7) + 10 * MINUTE

    answer = seen.run("lag", "orders")

    assert answer.code == 3
    assert "what it reads now is deleted within the half hour, though it gains" in answer.out


def test_without_the_right_to_read_the_deadline_follows_from_earlier_looks(seen: Terminal) -> None:
    """Offset 190 000 was written 100 minutes ago, by the growth that was seen."""
    stands_at(seen, 190_000)
    seen.broker.times.clear()
    was_seen(seen, reads=0, deleted=0, written=100, start=190_000)

    answer = seen.run("lag", "orders", "--json")

    assert answer.document["streams"][0]["deadline"].startswith("2026-03-08T10:20:0")


def test_a_topic_that_was_created_again_is_known_by_the_id_that_was_read(seen: Terminal) -> None:
    was_seen(seen, reads=150, deleted=100, written=100, topic_id="old")
    seen.broker.topics["orders"] = replace(seen.broker.topics["orders"], topic_id="new")

    answer = seen.run("lag", "orders")

    assert answer.code == 4
    assert "orders: critical: orders-0: offset 60000 is one of another topic" in answer.out
    assert "its id was old, now it is new" in answer.out


def test_somebody_who_releases_the_stream_has_seen_that_the_topic_is_another(seen: Terminal) -> None:
    seen.run("stop", "orders", "--reason", "the topic is made anew", "--yes")
    seen.settle()
    seen.obey()
    seen.settle()
    was_seen(seen, reads=150, deleted=100, written=100, topic_id="old")
    seen.broker.topics["orders"] = replace(seen.broker.topics["orders"], topic_id="new")
    assert seen.run("lag", "orders").code == 4

    seen.run("release", "orders", "--accept-unsafe", "--reason", "the topic is a new one", "--yes")

    assert seen.kinds()[-1] == "released"
    assert "another topic" not in seen.run("lag", "orders").out


def test_an_odd_answer_that_an_earlier_look_had_as_well_counts_at_once(seen: Terminal) -> None:
    was_seen(seen, reads=0, deleted=100, written=100)
    past = read_past(seen.storage, seen.spec().checkpoint)
    found = SuspectedState(standing=PartitionState.RESET, since=START - 5 * MINUTE)
    odd = {(seen.spec().checkpoint, "orders", 0): found}
    write_past(seen.storage, seen.spec().checkpoint, replace(past, odd=odd, odd_at=START - 5 * MINUTE))
    seen.broker.moves("orders", 0, latest=20)

    answer = seen.run("lag", "orders")

    assert answer.code == 4
    assert "it ends at 20, the query has reached 60000" in answer.out
    assert seen.clock.slept == []


def test_nothing_is_kept_by_asking(seen: Terminal) -> None:
    seen.run("lag", "orders")

    assert FILE not in seen.storage.list(control_folder(seen.spec().checkpoint))


# Catching up


def ran(terminal: Terminal, *, rows: int, seconds: int, backlog: int) -> None:
    """The newest driver ran a batch."""
    line = (
        f'{{"id":"{QUERY_ID}","batchId":1,"timestamp":"2026-03-01T11:00:00.000Z","numInputRows":{rows},'
        f'"durationMs":{{"addBatch":{1000 * seconds},"triggerExecution":{1000 * seconds}}},'
        f'"sources":[{{"description":"KafkaV2","metrics":{{"maxOffsetsBehindLatest":"{backlog}"}}}}]}}'
    )
    folder = driver_folder(control_folder(terminal.spec().checkpoint), terminal.newest().number, "0a0a0a0a")
    terminal.storage.write(join(folder, PROGRESS), line.encode())


def test_act_by_leaves_the_time_that_catching_up_takes(seen: Terminal) -> None:
    """140 000 offsets, of which it reads 100 a second while 100 a minute are written."""
    ran(seen, rows=1_000, seconds=10, backlog=500)
    was_seen(seen, reads=0, deleted=100, written=100)

    answer = seen.run("lag", "orders")

    assert "act by 2026-03-01 12:06:16 UTC" in answer.out
    assert "once it is started it takes 23m to catch up: it reads 100 records a second and 2 are written" in answer.out


def test_a_query_that_can_never_catch_up_is_said_to_be_one(seen: Terminal) -> None:
    seen.broker.times["orders", 0] = START - timedelta(days=2)
    ran(seen, rows=10, seconds=10, backlog=500)
    was_seen(seen, reads=0, deleted=100, written=100)

    answer = seen.run("lag", "orders")

    assert answer.code == 0
    assert "act by 2026-03-05 11:30:00 UTC" in answer.out  # A day, and the half hour, before the deadline.
    assert "it reads 1 records a second and 2 are written: as it is, it never catches up" in answer.out


def test_progress_that_cannot_be_read_takes_nothing_off(seen: Terminal) -> None:
    ran(seen, rows=10, seconds=10, backlog=500)
    folder = driver_folder(control_folder(seen.spec().checkpoint), 1, "0a0a0a0a")
    seen.storage.write(join(folder, PROGRESS), b"\xff{")

    answer = seen.run("lag", "orders")

    assert "act by 2026-03-01 12:30:00 UTC" in answer.out


# The outage that is said to be tolerated


@pytest.mark.parametrize(
    ("tolerated", "code"),
    [
        pytest.param("3d", 3, id="longer than a day"),
        pytest.param("23h", 0, id="shorter"),
        pytest.param("0s", 0, id="none"),
    ],
)
def test_a_topic_that_keeps_its_records_too_short_for_the_outage_is_a_warning(
    terminal: Terminal, tolerated: str, code: int
) -> None:
    kafka = {"tolerated_outage": tolerated}
    terminal.project.load(streams={"orders": a_declared_stream(source={"kafka": kafka})})
    terminal.broker.has("orders", (0, 0), retention=replace(A_WEEK, time=timedelta(days=1)))

    answer = terminal.run("lag", "orders")

    assert answer.code == code
    assert ("need retention.ms 261000000" in answer.out) == (code == 3)


def test_a_limit_of_size_that_was_seen_to_last_too_short_for_the_outage_is_a_warning(seen: Terminal) -> None:
    """A hundred offsets a minute are written and as many deleted, the query keeps pace: 5 000 are kept."""
    by_size = replace(A_WEEK, time=None, size=1_000_000, segment_size=100_000)
    seen.project.load(streams={"orders": a_declared_stream(source={"kafka": {"tolerated_outage": "2h"}})})
    stands_at(seen, 200_000)
    seen.broker.has("orders", (195_000, 200_000), retention=by_size)
    past = CoveragePast(query_id=QUERY_ID)
    for age in range(120, 0, -5):
        at, latest = START - age * MINUTE, 200_000 - 100 * age
        one = PartitionCoverage(
            topic="orders",
            partition=0,
            standing=PartitionState.COVERED,
            start=latest,
            earliest=latest - 5_000,
            latest=latest,
        )
        past = past.with_look({seen.spec().checkpoint: Coverage(at=at, partitions=(one,))}, {}, at=at)
    write_past(seen.storage, seen.spec().checkpoint, past)

    answer = seen.run("lag", "orders")

    assert answer.code == 3
    assert (
        "partition 0 was seen to delete records 55 min after they were written (retention.bytes 1000000)" in answer.out
    )
    assert "need retention.bytes 3300000 or so" in answer.out
