"""Where the plans of backfills lie, and what they are called."""

from datetime import UTC, datetime

import pytest

from streamops.control.backfill_plan import backfill_ids, id_at, id_from, is_backfill_id, read_plan, write_plan
from streamops.errors import CorruptRecordError, ObjectExistsError, SettingsError
from streamops.storage.memory import MemoryStorage
from support.backfills import a_plan, offsets
from support.specs import CHECKPOINT

MARCH = f"{CHECKPOINT}.backfills/march/plan.json"


@pytest.fixture
def storage():
    return MemoryStorage()


def test_a_plan_is_read_as_it_was_put_there(storage):
    write_plan(storage, CHECKPOINT, a_plan())

    assert read_plan(storage, CHECKPOINT, "march") == a_plan()


def test_a_plan_is_never_replaced(storage):
    write_plan(storage, CHECKPOINT, a_plan())

    with pytest.raises(ObjectExistsError):
        write_plan(storage, CHECKPOINT, a_plan(start=offsets(6, 3)))

    assert read_plan(storage, CHECKPOINT, "march").start == offsets(5, 3)


def test_backfills_are_known_by_name_and_other_folders_are_passed_over(storage):
    for name in ("may", "march"):
        write_plan(storage, CHECKPOINT, a_plan(id=name))
    storage.create(f"{CHECKPOINT}.backfills/.Trash/plan.json", b"{}")

    assert backfill_ids(storage, CHECKPOINT) == ("march", "may")


def test_a_stream_without_backfills_has_none(storage):
    assert backfill_ids(storage, CHECKPOINT) == ()


def test_a_name_that_nobody_knows_is_told_with_those_that_there_are(storage):
    for name in ("may", "march"):
        write_plan(storage, CHECKPOINT, a_plan(id=name))

    with pytest.raises(SettingsError, match=r"^no backfill is called 'june'; there are: march, may$"):
        read_plan(storage, CHECKPOINT, "june")


def test_a_name_leads_to_no_other_folder(storage):
    storage.create(f"{CHECKPOINT}.backfills/../plan.json", b"{}")

    with pytest.raises(SettingsError, match=r"^no backfill is called '\.\.'; there are: none$"):
        read_plan(storage, CHECKPOINT, "..")


def test_a_backfill_without_a_plan_was_given_up(storage):
    storage.create(f"{CHECKPOINT}.backfills/march/checkpoint/metadata", b"{}")

    with pytest.raises(SettingsError, match="backfill march has no plan: it was given up before it began"):
        read_plan(storage, CHECKPOINT, "march")


def test_a_broken_plan_is_named_by_its_file(storage):
    storage.create(MARCH, b'{"format":1')

    with pytest.raises(CorruptRecordError, match=f"^{MARCH} is not the plan of a backfill"):
        read_plan(storage, CHECKPOINT, "march")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "manual__2026-03-01T12:00:00+00:00", "manual-2026-03-01t12-00-00-00-0-19363e7f", id="a run of a DAG"
        ),
        pytest.param("__Weird  ✂ Name!", "weird-name-dc293a2c", id="whatever stands around letters and digits"),
        pytest.param("x" * 100, "x" * 31 + "-09ecb6eb", id="the begin of a long name"),
        pytest.param("Run_a", "run-a-e853fcd0", id="one name"),
        pytest.param("run a", "run-a-4ece8f01", id="and one that looks the same"),
        pytest.param("✂", "bd28827c", id="nothing that could be told"),
    ],
)
def test_a_name_of_others_becomes_an_id_and_the_same_one_each_time(name, expected):
    assert id_from(name) == id_from(name) == expected
    assert is_backfill_id(expected)


def test_an_id_of_the_moment_says_when():
    assert id_at(datetime(2026, 11, 28, 15, 30, 12, 999_999, tzinfo=UTC)) == "20261128-153012"
