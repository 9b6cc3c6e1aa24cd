"""The file in which the rounds of retention coverage keep what they have seen."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from streamops.control.layout import control_folder
from streamops.control.records import Adopted, Position, Released, TopicSeen
from streamops.retention import Coverage, PartitionCoverage, PartitionState
from streamops.retention.coverage_history import MOST_BYTES, encode, read_past, write_past
from streamops.retention.past import CoveragePast, SuspectedState, Track
from streamops.storage.memory import MemoryStorage
from support.clock import START
from support.records import a_claim, a_log, a_submit, write_log
from support.specs import CHECKPOINT

ADDRESS = f"{CHECKPOINT}.streamops/coverage.json"
MINUTE = timedelta(minutes=1)


def a_look(past, *, at=START, partitions=1, start=10, latest=100, topic_id="a", standing=PartitionState.COVERED):
    found = tuple(
        PartitionCoverage(
            topic="orders", partition=number, standing=standing, start=start, earliest=latest // 2, latest=latest
        )
        for number in range(partitions)
    )
    coverage = Coverage(at=at, partitions=found)
    return past.with_look({CHECKPOINT: coverage}, {"orders": topic_id}, at=at)


@pytest.fixture
def storage():
    return MemoryStorage()


def given_log(storage, *bodies):
    write_log(storage, control_folder(CHECKPOINT), a_log(a_claim(1), a_submit(1), *bodies))


def test_what_is_kept_comes_back(storage):
    past = a_look(CoveragePast(query_id="q"))
    past = a_look(past, at=START + 5 * MINUTE, start=60, latest=130)
    past = a_look(past, at=START + 10 * MINUTE, latest=5, standing=PartitionState.RESET)

    write_past(storage, CHECKPOINT, past)

    assert read_past(storage, CHECKPOINT, query_id="q") == past


def test_where_nothing_is_kept_nothing_is_known(storage):
    assert read_past(storage, CHECKPOINT) == CoveragePast()


def test_offsets_stand_in_columns_of_differences(storage):
    past = a_look(CoveragePast())
    past = a_look(past, at=START + 5 * MINUTE, start=60, latest=130)

    write_past(storage, CHECKPOINT, past)

    kept = json.loads(storage.read(ADDRESS))
    assert kept["at"] == [1772366400, 300]
    assert kept["ends"] == [["orders", 0, [50, 15], [100, 30]]]
    assert kept["places"] == [[CHECKPOINT, "orders", 0, [10, 50]]]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="nothing in it"),
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b"9" * 10_000, id="a number without end"),
        pytest.param(b" " * (MOST_BYTES + 1), id="too large"),
    ],
)
def test_a_file_that_cannot_be_read_is_begun_anew_with_a_warning(storage, content, caplog):
    storage.write(ADDRESS, content)

    assert read_past(storage, CHECKPOINT) == CoveragePast()
    assert "earlier looks are begun anew" in caplog.text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("form", 1),
        ("at", [1772366400, -5]),
        ("at", [None]),
        ("at", [10**18]),
        ("at", []),
        ("ends", [["orders", 0, [1, 2, 3], [1, 2, 3]]]),
        ("ends", [["orders", 0, [1], []]]),
        ("ends", [["orders", 0, [1.5, 2], [1, 2]]]),
        ("ends", [["orders", 0, [1, -2], [1, 2]]]),
        ("ends", [["orders", 0, [1, 2], [1, 10**400]]]),
        ("ends", [["orders", True, [1, 2], [1, 2]]]),
        ("ends", [[["orders"], 0, [1, 2], [1, 2]]]),
        ("places", [[CHECKPOINT, "orders", 0, []]]),
        ("odd", [[CHECKPOINT, "orders", 0, "strange", START.isoformat()]]),
        ("odd", [[CHECKPOINT, "orders", 0, "reset", "yesterday"]]),
        ("odd", [[CHECKPOINT, "orders", 0, "reset"]]),
        ("odd_at", "yesterday"),
        ("topic_ids", {"orders": 5}),
        ("log", [1]),
        ("log", [1, "nonce"]),
        ("log", [1, "nonce", {"orders": 5}]),
        ("log", [1, "nonce", ["orders"]]),
        ("query", None),
    ],
)
def test_one_wrong_value_in_it_is_as_bad(storage, key, value, caplog):
    past = a_look(a_look(CoveragePast()), at=START + 5 * MINUTE)
    storage.write(ADDRESS, json.dumps({**json.loads(encode(past)), key: value}).encode())

    assert read_past(storage, CHECKPOINT) == CoveragePast()
    assert "earlier looks are begun anew" in caplog.text


# How large it grows


def nine_days(*, partitions, rate):
    """Looks at partitions that grow by so many records a second, and lose as many."""
    at = [START + timedelta(hours=hour) for hour in range(9 * 24)]
    at += [at[-1] + number * 5 * MINUTE for number in range(1, 37)]
    written = tuple(10**9 + rate * round((moment - START).total_seconds()) for moment in at)
    track = Track(earliest=written, latest=tuple(2 * offset for offset in written))
    numbers = range(partitions)
    return CoveragePast(
        at=tuple(at),
        tracks={("orders", number): track for number in numbers},
        places={(CHECKPOINT, "orders", number): written[-37:] for number in numbers},
    )


def test_nine_days_of_a_thousand_partitions_fit_whole(storage):
    past = nine_days(partitions=1_000, rate=50)

    write_past(storage, CHECKPOINT, past)

    assert len(storage.read(ADDRESS)) < MOST_BYTES
    assert read_past(storage, CHECKPOINT).at == past.at


def test_what_does_not_fit_is_kept_with_fewer_looks_and_the_newest_is_among_them(storage):
    past = nine_days(partitions=1_000, rate=50_000)

    write_past(storage, CHECKPOINT, past)

    kept = read_past(storage, CHECKPOINT)
    assert len(kept.at) == len(past.at) // 2
    assert kept.at[-1] == past.at[-1]


# A person's word


def remembered(storage):
    write_past(storage, CHECKPOINT, a_look(read_past(storage, CHECKPOINT, query_id="q")))
    return read_past(storage, CHECKPOINT, query_id="q").topic_ids


def test_a_plain_release_takes_no_other_topic_for_the_right_one(storage):
    """It may end a park of another cause, and nobody has looked at the topic."""
    given_log(storage)
    remembered(storage)

    given_log(storage, Released())

    assert read_past(storage, CHECKPOINT, query_id="q").topic_ids == {"orders": "a"}


def test_the_topic_that_was_read_is_forgotten_when_somebody_accepts_what_is_there(storage):
    given_log(storage)
    assert remembered(storage) == {"orders": "a"}

    given_log(storage, Released(accepts_unsafe=True))

    assert read_past(storage, CHECKPOINT, query_id="q").topic_ids == {}


def test_an_acceptance_from_before_the_first_look_forgets_nothing_later(storage):
    given_log(storage, Released(accepts_unsafe=True))

    assert remembered(storage) == {"orders": "a"}
    assert remembered(storage) == {"orders": "a"}


def test_an_acceptance_of_a_stream_that_had_no_log_at_the_first_look_counts(storage):
    assert remembered(storage) == {"orders": "a"}

    given_log(storage, Released(accepts_unsafe=True))

    assert read_past(storage, CHECKPOINT, query_id="q").topic_ids == {}


def test_records_that_are_no_word_forget_nothing(storage):
    given_log(storage)
    remembered(storage)

    given_log(storage, a_claim(2), a_submit(2))

    assert read_past(storage, CHECKPOINT, query_id="q").topic_ids == {"orders": "a"}


def test_a_log_that_was_lost_and_begun_anew_by_an_adoption_forgets_it(storage):
    given_log(storage, a_claim(2), a_submit(2))
    remembered(storage)
    for name in storage.list(f"{CHECKPOINT}.streamops/log"):
        storage.delete(f"{CHECKPOINT}.streamops/log/{name}")

    write_log(storage, control_folder(CHECKPOINT), a_log(Adopted(stream="orders", position=Position())))

    assert read_past(storage, CHECKPOINT, query_id="q").topic_ids == {}


def test_a_control_log_that_cannot_be_read_forgets_nothing(storage, caplog):
    given_log(storage)
    remembered(storage)
    storage.write(f"{CHECKPOINT}.streamops/log/{2:020d}.json", b"{")

    assert read_past(storage, CHECKPOINT, query_id="q").topic_ids == {"orders": "a"}
    assert "whether somebody has released the stream is not known" in caplog.text


# Topics that the log knows


def a_start(epoch, topic_id):
    return replace(a_claim(epoch), topics=(TopicSeen(topic="orders", id=topic_id),))


def known_ids(storage):
    past = a_look(read_past(storage, CHECKPOINT, query_id="q"), topic_id="seen")
    write_past(storage, CHECKPOINT, past)
    return read_past(storage, CHECKPOINT, query_id="q").known_ids


def test_what_a_start_put_on_record_goes_before_what_looks_have_seen(storage):
    assert known_ids(storage) == {"orders": "seen"}

    given_log(storage, a_start(2, "b"))

    assert known_ids(storage) == {"orders": "b"}


def test_it_is_known_without_the_file_too(storage):
    given_log(storage, a_start(2, "b"))

    assert read_past(storage, CHECKPOINT, query_id="q").known_ids == {"orders": "b"}


def test_it_is_kept_with_the_looks_so_that_a_look_reads_no_more_than_the_newest_records(storage):
    given_log(storage, a_start(2, "b"))
    known_ids(storage)
    for number in (0, 1):  # Never done for real; here it shows that nobody asks for them.
        storage.delete(f"{CHECKPOINT}.streamops/log/{number:020d}.json")

    assert known_ids(storage) == {"orders": "b"}


def test_an_accepted_start_brings_the_topic_that_counts_from_then_on(storage):
    given_log(storage, a_start(2, "b"))
    known_ids(storage)

    given_log(storage, a_start(2, "b"), Released(accepts_unsafe=True), a_start(3, "c"))

    assert known_ids(storage) == {"orders": "c"}


def test_an_accepted_start_that_could_not_ask_leaves_it_to_the_looks(storage):
    given_log(storage, a_start(2, "b"))
    known_ids(storage)

    given_log(storage, a_start(2, "b"), Released(accepts_unsafe=True), a_claim(3))

    assert known_ids(storage) == {"orders": "seen"}


def test_of_a_log_that_was_begun_anew_only_the_new_one_counts(storage):
    given_log(storage, a_start(2, "b"), a_submit(2))
    known_ids(storage)
    for name in storage.list(f"{CHECKPOINT}.streamops/log"):
        storage.delete(f"{CHECKPOINT}.streamops/log/{name}")

    write_log(storage, control_folder(CHECKPOINT), a_log(a_claim(1)))

    assert known_ids(storage) == {"orders": "seen"}


def test_another_query_in_the_same_folder_begins_anew(storage):
    remembered(storage)

    assert read_past(storage, CHECKPOINT, query_id="another") == CoveragePast(query_id="another")


def test_two_hundred_thousand_odd_partitions_leave_a_file_that_is_read_again(storage):
    """Each has a line of its own, whatever is left out of the looks."""
    places = {(CHECKPOINT, f"topic-{number // 1_000:03d}", number % 1_000): ODD for number in range(200_000)}
    past = CoveragePast(at=(START,), odd=places, odd_at=START, topic_ids={"orders": "a"})

    write_past(storage, CHECKPOINT, past)

    kept = read_past(storage, CHECKPOINT)
    assert len(storage.read(ADDRESS)) <= MOST_BYTES
    assert (kept.odd, kept.topic_ids) == ({}, {"orders": "a"})


ODD = SuspectedState(standing=PartitionState.UNKNOWN, since=START)
