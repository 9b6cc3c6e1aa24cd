"""What lies at an address that is said to be a checkpoint and has no logs."""

import pytest

from streamops.checkpoint.inspect import inspect_checkpoint
from streamops.checkpoint.place import read_place
from streamops.diagnosis.checkup import check
from streamops.diagnosis.restart_plan import Safety
from streamops.engines import PINNED
from streamops.storage import join
from streamops.storage.memory import MemoryStorage
from support.base_checkpoint import files
from support.plans import plan_of

ROOT = "file:///data/place"
PART_OF_STATE = "a part of a checkpoint's state, not the checkpoint itself: name the folder above `state`"


def holding(*names, root=ROOT):
    storage = MemoryStorage()
    for name in names:
        storage.write(join(root, name), b"x")
    return storage


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (("_delta_log/00000000000000000000.json", "part-0.parquet"), "a Delta table"),
        (("metadata/v1.metadata.json", "data/f.parquet"), "an Iceberg table"),
        (("metadata/00000-1.metadata.json", "notes"), "an Iceberg table"),
        (("_metadata/metadata", "0/1.delta", "1/1.delta"), PART_OF_STATE),
        (("_metadata/schema", "1.delta", "2.delta"), PART_OF_STATE),
        ((".hoodie/hoodie.properties",), "a Hudi table"),
        (("chk-12/_metadata", "shared/a"), "a checkpoint folder of Flink"),
        (("_metadata",), "a checkpoint of Flink"),
        (("0_0/rocksdb/a", "0_1/rocksdb/b"), "a state folder of Kafka Streams"),
        (("checkpoint-1700000000000", "receivedBlockMetadata/log"), "a checkpoint of Spark's DStreams"),
        (("0", "1", "2"), "a log of a checkpoint, not the checkpoint itself: name the folder above it"),
        (("_spark_metadata/0", "part-0.json"), "the output of Spark's file sink"),
        (("notes.txt",), ""),
        (("metadata",), ""),
    ],
)
def test_a_folder_is_told_by_what_is_in_it(names, what):
    assert read_place(holding(*names), ROOT).what == what


def test_a_stranger_in_a_folder_is_told_and_keeps_no_stream_from_beginning_there():
    storage = holding("notes.txt", "lost+found/x")

    assert read_place(storage, ROOT).strangers == ("notes.txt",)
    assert plan_of(inspect_checkpoint(storage, ROOT)).safety is Safety.SAFE
    assert "'notes.txt'" in check(storage, ROOT, engine=PINNED).restart.summary


def test_a_folder_of_checkpoints_names_them():
    place = read_place(holding("a/metadata", "a/offsets/0", "b/metadata", "b/offsets/0", "c/x"), ROOT)

    assert place.checkpoints == ("a", "b")


def test_a_mistyped_name_is_told_with_what_is_beside_it():
    place = read_place(holding("orders/metadata", root="file:///data"), "file:///data/ordres")

    assert (place.is_there, place.alike) == (False, ("orders",))


@pytest.mark.parametrize(
    "address",
    [
        "file:///data/${ENV}/cp",
        "file:///data/~/cp",
        "file:///data/$NAME",
        "file:///data/{env}/cp",
        "file:///data/%HOME%/cp",
        "file:///data/*/cp",
        'file:///data/"cp"',
    ],
)
def test_what_nobody_has_replaced_in_an_address_is_told(address):
    assert read_place(MemoryStorage(), address).is_unexpanded


def test_a_start_in_the_midst_of_something_else_is_never_safe():
    """A declared stream may begin in an empty folder, and not in a table."""
    table, empty = holding("_delta_log/00000000000000000000.json"), MemoryStorage()

    assert plan_of(inspect_checkpoint(table, ROOT)).safety is Safety.BLOCKED
    assert plan_of(inspect_checkpoint(empty, ROOT)).safety is Safety.SAFE
    assert plan_of(inspect_checkpoint(empty, ROOT).facts).safety is Safety.SAFE


def test_a_folder_that_nobody_has_declared_is_never_safe_without_a_checkpoint():
    nothing = check(MemoryStorage(), ROOT, engine=PINNED)
    whole = check(holding(), ROOT, engine=PINNED, is_declared=True)

    assert (nothing.restart.safety, whole.restart.safety) == (Safety.UNKNOWN, Safety.SAFE)
    assert "there is no such folder" in nothing.restart.summary


def test_a_checkpoint_is_not_asked_what_it_is():
    storage = MemoryStorage()
    for name, content in files().items():
        storage.write(join(ROOT, name), content)

    assert inspect_checkpoint(storage, ROOT).place is None
