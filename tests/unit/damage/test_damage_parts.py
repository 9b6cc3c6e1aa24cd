"""The parts of the damage run that need no Spark: checksums, rows of a sink, repairs by their words."""

import json

import pytest

from damage.checksums import checksum
from damage.queries import BY_NAME, portion
from damage.repairs import ways_of
from damage.sinks import Rows
from support.recordings import RECORDINGS


def ledger(folder, *batches):
    lines = [json.dumps({"batch": batch, "rows": rows}) for batch, rows in batches]
    (folder / "ledger.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return Rows.of(BY_NAME["files-ledger"], folder, spark=None)


def test_a_checksum_is_the_one_that_hadoop_wrote():
    side = next(RECORDINGS.rglob("checkpoint/offsets/.0.crc"))

    assert checksum(side.with_name("0").read_bytes()) == side.read_bytes()


def test_a_batch_that_comes_again_with_the_same_rows_counts_once(tmp_path):
    before = ledger(tmp_path, (4, [[8, "a"]]))
    after = ledger(tmp_path, (4, [[8, "a"]]), (4, [[8, "a"]]), (5, [[10, "a"]]))

    assert (after.repeated(before), after.changed()) == ((4,), ())
    assert after.adds(before) == ['[10, "a"]']
    assert after.lacks(before) == []


def test_a_batch_that_comes_again_with_other_rows_is_seen(tmp_path):
    assert ledger(tmp_path, (4, [[8, "a"]]), (4, [[8, "a"], [9, "b"]])).changed() == (4,)


@pytest.mark.parametrize("kind", BY_NAME.values(), ids=BY_NAME)
def test_each_row_of_the_input_has_a_number_of_its_own(kind):
    numbers = [row["n"] for number in range(9) for row in portion(kind, number, "in")]

    assert len(set(numbers)) == 18
    assert max(numbers) < 62


def test_a_repair_whose_words_have_changed_is_not_understood():
    known = {"rule": "unreadable-metadata", "repair": 'write `{"id":"<the query id>"}` into it'}

    assert [way.name for way in ways_of(known)] == ["write the id"]
    assert ways_of(known | {"repair": "pray"}) == []
