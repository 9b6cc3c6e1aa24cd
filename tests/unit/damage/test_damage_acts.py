"""What an act does to a file, as far as it needs no Spark."""

import json
from random import Random

import pytest

from damage.acts import Scene, edit_topic
from damage.bases import Base
from damage.queries import BY_NAME, KINDS

ENDS = {"topic": {"0": 5, "1": 6}}


def scene(folder, seed, ends=ENDS):
    log = folder / "checkpoint" / "offsets"
    log.mkdir(parents=True, exist_ok=True)
    (log / "5").write_text("\n".join(["v1", "{}", json.dumps(ends)]))
    base = Base(kind=BY_NAME["kafka-ledger"], folder=folder)
    return Scene(workshop=None, base=base, folder=folder, draw=Random(seed))


@pytest.mark.parametrize("seed", range(20))
def test_a_topic_or_a_partition_of_an_entry_is_another_one(tmp_path, seed):
    told = edit_topic(scene(tmp_path, seed))

    header, confs, ends = (tmp_path / "checkpoint" / "offsets" / "5").read_text().split("\n")
    assert (header, confs) == ("v1", "{}")
    assert json.loads(ends) != ENDS
    assert told.startswith("edit checkpoint/offsets/5: ")


def test_an_entry_without_a_topic_is_left_alone(tmp_path):
    assert edit_topic(scene(tmp_path, 1, ends={})) == "no topic to edit"


def test_kinds_that_a_version_can_run_need_no_jars_and_no_later_settings():
    names = {kind.name for kind in KINDS if kind.is_for("3.5.9", has_jars=False)}

    assert {"files-ledger", "counts-changelog-ledger"} <= names
    assert names.isdisjoint({"kafka-ledger", "files-delta", "counts-unique-ids-ledger", "files-v2-ledger"})
