"""Positions as people and headers write them."""

import pytest

from streamops.dead_letters.letter import RecordPosition, positions_of


def test_positions_are_read_as_they_are_shown() -> None:
    first, second = (
        RecordPosition(topic="orders.v2", partition=0, offset=17),
        RecordPosition(topic="a", partition=12, offset=4),
    )

    assert str(first) == "orders.v2/0:17"
    assert positions_of(f"{first}, {second}") == {first, second}


@pytest.mark.parametrize(
    "text", ["", "orders", "orders/0", "orders/0:x", "orders/0:1,", "a b/0:1", "orders/-1:0", "o/0:१"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no position"):
        positions_of(text)


def test_headers_are_read_back() -> None:
    position = RecordPosition(topic="orders", partition=3, offset=9)

    assert position.header == "orders/3/9"
    assert RecordPosition.of_header("orders/3/9") == position
    assert RecordPosition.of_header("orders/3/9/1") is None
