"""The plan of a backfill survives its file, and a plan that would leave out or repeat a record can't be built."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.control.backfill_plan import decode_plan, encode_plan, is_backfill_id
from streamops.control.kafka_offsets import Offsets, PartitionOffset
from streamops.control.layout import backfill_checkpoint, backfill_folder, backfill_plan_address, control_folder
from streamops.control.records import TopicSeen
from streamops.errors import CorruptRecordError, NewerRecordError
from support.backfills import a_plan, offsets

ADDRESS = "file:///c.backfills/march/plan.json"
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)


def written(**changes):
    """The file of a plan with some keys replaced, and those set to ... removed."""
    fields = {**json.loads(encode_plan(a_plan())), **changes}
    return json.dumps({key: value for key, value in fields.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(a_plan(), id="offsets"),
        pytest.param(a_plan(not_before=MIDNIGHT, before=MIDNIGHT.replace(hour=6), notes=("One.", "Two.")), id="times"),
        pytest.param(a_plan(is_redirected=True, is_approximate=True, reason="später ✓"), id="redirected, approximate"),
        pytest.param(
            a_plan(start=Offsets.of({("a", 0): 1, ("b", 10): 2}), chunks=(Offsets.of({("b", 10): 2, ("a", 0): 5}),)),
            id="two topics",
        ),
        pytest.param(a_plan(topics=(TopicSeen(topic="orders", id="rX7"),)), id="the id of its topic"),
    ],
)
def test_a_plan_survives_its_file(plan):
    assert decode_plan(encode_plan(plan), address=ADDRESS) == plan


def test_a_plan_of_an_older_version_knows_no_ids_of_topics():
    assert decode_plan(written(topics=...), address=ADDRESS).topics == ()


def test_a_plan_tells_how_much_it_reads_and_where_each_step_begins():
    plan = a_plan()

    assert (plan.records, plan.end) == (13, offsets(9, 12))
    assert [plan.chunk_start(number) for number in (0, 1)] == [offsets(5, 3), offsets(7, 10)]


@pytest.mark.parametrize(
    ("changes", "trouble"),
    [
        pytest.param({"chunks": ()}, "one step", id="no step"),
        pytest.param({"chunks": (offsets(4, 10),)}, "goes back", id="a step before the start"),
        pytest.param({"chunks": (offsets(7, 10), offsets(7, 9))}, "goes back", id="a step back"),
        pytest.param({"chunks": (offsets(7, 10), offsets(7, 10))}, "reads nothing", id="a step of nothing"),
        pytest.param({"chunks": (offsets(7),)}, "the same partitions", id="a step without a partition"),
        pytest.param({"chunks": (offsets(7, 10, 1),)}, "the same partitions", id="a step with one more"),
        pytest.param({"id": "../x"}, "id", id="an id that leaves its folder"),
        pytest.param({"before": datetime(2026, 3, 1)}, "time zone", id="a time without zone"),
    ],
)
def test_a_plan_that_leaves_out_or_repeats_can_not_be_built(changes, trouble):
    with pytest.raises(ValueError, match=trouble):
        a_plan(**changes)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="no object"),
        pytest.param(encode_plan(a_plan())[:-3], id="cut"),
        pytest.param(b'{"format":1,' + encode_plan(a_plan())[1:], id="a name twice"),
        pytest.param(written(table=...), id="no table"),
        pytest.param(written(is_redirected="no"), id="a truth value in words"),
        pytest.param(written(notes="One."), id="notes that are no list"),
        pytest.param(written(before="yesterday"), id="a time that is none"),
        pytest.param(written(at="2026-03-01T12:00:00"), id="a time without zone"),
        pytest.param(written(start={"orders": {"00": 5, "1": 3}}), id="a number that Kafka would not write"),
        pytest.param(written(start={"orders": {"0": True, "1": 3}}), id="an offset that is a truth value"),
        pytest.param(written(start={"orders": {"0": -2, "1": 3}}), id="earliest"),
        pytest.param(written(chunks=[{"orders": {"0": 7}}]), id="a step without a partition"),
        pytest.param(b"[" * 100_000, id="a pit"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_name_of_its_file(content):
    with pytest.raises(CorruptRecordError, match=ADDRESS):
        decode_plan(content, address=ADDRESS)


def test_a_plan_of_another_format_is_not_read_in_part():
    with pytest.raises(NewerRecordError, match=r"has format 3, this streamops reads formats 1 and 2"):
        decode_plan(written(format=3), address=ADDRESS)


@given(st.binary(max_size=200))
def test_no_bytes_make_another_error(content):
    with pytest.raises((CorruptRecordError, NewerRecordError)):
        decode_plan(content, address=ADDRESS)


def test_offsets_are_written_as_kafka_source_takes_them():
    places = Offsets.of({("orders", 10): 40, ("orders", 2): 23, ("audit", 0): 0})

    assert places.kafka_json() == '{"audit":{"0":0},"orders":{"2":23,"10":40}}'
    assert Offsets.from_kafka(places.kafka_json()) == places


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"orders":{}}', '{"orders":{"0":-1}}', '{"o":{"0":1},"o":{"1":1}}'])
def test_what_is_no_offsets_of_partitions_is_refused(text):
    with pytest.raises(ValueError, match="offsets"):
        Offsets.from_kafka(text)


def test_offsets_name_each_partition_once():
    place = PartitionOffset(topic="orders", partition=0, offset=1)

    with pytest.raises(ValueError, match="twice"):
        Offsets(positions=(place, replace(place, offset=2)))


def test_a_backfill_lies_beside_the_checkpoint_of_its_stream():
    own = backfill_checkpoint("file:///c/orders", "march")

    assert backfill_folder("file:///c/orders", "march") == "file:///c/orders.backfills/march"
    assert own == "file:///c/orders.backfills/march/checkpoint"
    assert control_folder(own) == "file:///c/orders.backfills/march/checkpoint.streamops"
    assert backfill_plan_address(own) == "file:///c/orders.backfills/march/plan.json"


@pytest.mark.parametrize("text", ["", "-a", "A", "a/b", "..", "a" * 65, "a\n"])
def test_an_id_is_the_name_of_a_folder(text):
    assert not is_backfill_id(text)
