"""Sources whose offsets nobody here knows: what moved in them is shown, and a start says that they are not judged."""

import json

import pytest

from support.base_checkpoint import entry, files
from support.checked import checked

ICEBERG = {"version": 1, "snapshot_id": 7, "position": 0, "table": "a"}


def reading(before, now):
    texts = {**dict.fromkeys(range(4), before), 4: now}
    found = files(**{f"offsets_{batch}": entry(batch, source=text) for batch, text in texts.items()})
    return {name: content for name, content in found.items() if not name.startswith("sources/")}


def offset(**changed):
    return json.dumps(ICEBERG | changed)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        pytest.param(offset(position=3), "moved since the entry below: position 0 → 3", id="on"),
        pytest.param(offset(snapshot_id=5), "snapshot_id 7 → 5 (goes back)", id="back"),
        pytest.param(offset(table="b"), "table 'a' → 'b'", id="another table"),
        pytest.param(offset(position=3, table="b"), "table 'a' → 'b', position 0 → 3", id="what is odd comes first"),
        pytest.param(offset(shards=[{"id": 1}]), "shards.0.id nothing → 1", id="what is new"),
    ],
)
def test_what_moved_in_offsets_of_an_unknown_form_is_shown(now, told):
    found = checked(reading(offset(), now))

    assert told in found.findings[0].evidence
    assert found.findings[0].evidence.isprintable()


def test_what_did_not_move_is_not_shown():
    assert "moved" not in checked(reading(offset(), offset())).findings[0].evidence


def test_a_start_is_safe_as_far_as_the_logs_tell():
    assert "as far as Spark's own logs tell" in checked(reading(offset(), offset(position=3))).restart.summary
    assert "as far as" not in checked(files()).restart.summary


def test_a_list_is_compared_place_by_place():
    found = checked(reading("[1, 2]", "[1, 3]"))

    assert "1 2 → 3" in found.findings[0].evidence
