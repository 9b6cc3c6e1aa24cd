"""Which addresses are a stream's own."""

import pytest

from streamops.control.layout import (
    backfill_checkpoint,
    companion_checkpoint,
    control_folder,
    own_places_around,
    record_address,
    replays_folder,
)

CHECKPOINT = "file:///cp/orders"


@pytest.mark.parametrize(
    ("address", "what"),
    [
        (CHECKPOINT, "checkpoint"),
        (f"{CHECKPOINT}/offsets/7", "checkpoint"),
        (record_address(control_folder(CHECKPOINT), 17), "control folder"),
        (replays_folder(CHECKPOINT), "control folder"),
        (companion_checkpoint(CHECKPOINT, 12), "companion's checkpoint"),
        (backfill_checkpoint(CHECKPOINT, "march"), "folder of backfills"),
        (control_folder(backfill_checkpoint(CHECKPOINT, "march")), "folder of backfills"),
    ],
)
def test_whatever_the_suite_makes_for_a_stream_is_the_streams_own(address, what):
    assert what in [place.what for place in own_places_around(address) if place.checkpoint == CHECKPOINT]


@pytest.mark.parametrize(
    "name", ["orders_2", "orders.companion-", "orders.companion-x", "orders.bak", "orders.streamops2"]
)
def test_a_neighbour_with_a_similar_name_is_not(name):
    assert CHECKPOINT not in [place.checkpoint for place in own_places_around(f"file:///cp/{name}")]


@pytest.mark.parametrize("root", ["file://", "s3://bucket"])
def test_the_steps_grow_with_the_depth_of_the_address_alone(root):
    assert len(list(own_places_around(f"{root}/a/b/c"))) == 4
