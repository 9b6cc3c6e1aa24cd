"""The state of a whole checkpoint at one version: partitions, stores and what they miss."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamops.checkpoint.state import JOIN_STORES, SCHEMA, SHOWN_UNLOADABLE, read_state
from streamops.checkpoint.state_files import Provider
from streamops.errors import StorageError
from streamops.storage.memory import MemoryStorage
from support.state_files import schema

CHECKPOINT = "file:///c/orders"
U = "0a1b2c3d-0000-4000-8000-00000000000a"
V = "0a1b2c3d-0000-4000-8000-00000000000b"


def operator_metadata(*stores, partitions, name="stateStoreSave"):
    told = [{"storeName": store, "numColsPrefixKey": 0, "numPartitions": partitions} for store in stores]
    return json.dumps({"operatorInfo": {"operatorId": 0, "operatorName": name}, "stateStoreInfo": told}).encode()


class Counting(MemoryStorage):
    """Remembers what was asked."""

    def __init__(self):
        super().__init__()
        self.listed = []
        self.read_files = []

    def list(self, directory, *, after=""):
        self.listed.append(directory)
        return super().list(directory, after=after)

    def read(self, address, **limit):
        self.read_files.append(address)
        return super().read(address, **limit)


def checkpoint(partitions, *, store="", operator=0, files=("1.delta", "2.delta", "3.delta"), storage=None):
    storage = storage or Counting()
    for partition in partitions:
        for name in files:
            storage.write("/".join(filter(None, (f"{CHECKPOINT}/state/{operator}/{partition}", store, name))), b"x")
    return storage


def put(storage, name, content=b"x"):
    storage.write(f"{CHECKPOINT}/state/{name}", content)


def put_metadata(storage, *stores, partitions, operator=0, **more):
    content = b"v1\n" + operator_metadata(*stores or ("default",), partitions=partitions, **more)
    put(storage, f"{operator}/_metadata/metadata", content)


def read(storage, version=3, **more):
    return read_state(storage, CHECKPOINT, version=version, **more)


def missed(facts):
    return [(store.operator, store.partition, store.store, *store.missing.names) for store in facts.unloadable]


def test_a_stateless_checkpoint_has_no_state():
    facts = read(Counting())

    assert (facts.operators, facts.stores_checked, facts.unloadable_total) == ((), 0, 0)


def test_a_healthy_operator_that_tells_of_itself():
    storage = checkpoint(range(4))
    put_metadata(storage, partitions=4)
    put(storage, "0/0/_metadata/schema")

    facts = read(storage)

    (operator,) = facts.operators
    assert (operator.name, operator.stores, operator.provider) == ("stateStoreSave", ("default",), Provider.HDFS)
    assert (operator.partitions_expected, operator.partitions_present, operator.partitions_beyond) == (4, 4, 0)
    assert (facts.stores_checked, facts.unloadable_total, facts.foreign, operator.foreign) == (4, 0, 0, 0)


def test_a_missing_delta_is_named_with_its_operator_and_partition():
    storage = checkpoint(range(4))
    put_metadata(storage, partitions=4)
    storage.delete(f"{CHECKPOINT}/state/0/3/2.delta")

    assert missed(read(storage)) == [(0, 3, "default", "2.delta")]


def test_a_missing_file_that_lies_there_under_a_temporary_name():
    storage = checkpoint(range(2))
    storage.delete(f"{CHECKPOINT}/state/0/1/3.delta")
    put(storage, f"0/1/.3.delta.{U}.TID7.tmp")

    (store,) = read(storage).unloadable

    assert (store.missing.names, store.left_as_temporary) == (("3.delta",), ("3.delta",))


@pytest.mark.parametrize("present", [[0, 1, 3], [0, 1]], ids=["a hole", "the end"])
def test_a_missing_partition_is_expected_by_the_hint_or_the_metadata(present):
    """A start takes the pinned shuffle partitions, whatever the state was written with (tried on 4.2.0)."""
    told, hinted, both = checkpoint(present), checkpoint(present), checkpoint(present)
    put_metadata(told, partitions=4)
    put_metadata(both, partitions=3)

    for facts in (read(told), read(hinted, partitions_hint=4), read(both, partitions_hint=4)):
        assert [store.partition for store in facts.unloadable] == sorted({0, 1, 2, 3} - set(present))
        assert facts.operators[0].partitions_expected == 4


def test_without_metadata_and_hint_only_what_is_there_is_checked():
    facts = read(checkpoint([0, 3]))

    assert (facts.operators[0].partitions_expected, facts.stores_checked, facts.unloadable_total) == (None, 2, 0)


def test_an_operator_without_keys_has_one_partition_whatever_the_metadata_repeat():
    storage = checkpoint([0])
    put_metadata(storage, partitions=200)

    facts = read(storage, partitions_hint=200)

    assert (facts.unloadable_total, facts.stores_checked) == (0, 1)
    assert (facts.operators[0].partitions_expected, facts.operators[0].is_keyless) == (1, True)


def test_partitions_that_the_operator_does_not_have_are_not_looked_into():
    storage = checkpoint(range(6))

    facts = read(storage, partitions_hint=4)

    assert facts.operators[0].partitions_beyond == 2
    assert f"{CHECKPOINT}/state/0/5" not in storage.listed


def test_the_first_version_needs_no_file():
    storage = checkpoint([0], files=())
    put_metadata(storage, partitions=4)

    assert read(storage, version=0).unloadable_total == 0


def test_a_join_has_four_stores_told_by_the_metadata():
    storage = Counting()
    for store in JOIN_STORES:
        checkpoint(range(2), store=store, storage=storage)
    put_metadata(storage, *JOIN_STORES, partitions=2, name="symmetricHashJoin")
    storage.delete(f"{CHECKPOINT}/state/0/1/right-keyToNumValues/3.delta")

    facts = read(storage)

    assert facts.operators[0].stores == JOIN_STORES
    assert (facts.stores_checked, missed(facts)) == (8, [(0, 1, "right-keyToNumValues", "3.delta")])


def test_a_join_of_spark_3_5_is_told_by_its_folders():
    storage = Counting()
    for store in JOIN_STORES[:3]:
        checkpoint(range(2), store=store, storage=storage)

    facts = read(storage, partitions_hint=2)

    assert facts.operators[0].foreign == 0
    assert missed(facts) == [(0, p, JOIN_STORES[3], "1.delta", "2.delta", "3.delta") for p in (0, 1)]


def test_unique_ids_pick_the_files_and_count_the_partitions():
    storage = checkpoint([0], files=[f"3_{U}.zip"])
    checkpoint([1], files=[f"2_{U}.zip", f"3_{V}.changelog"], storage=storage)
    put_metadata(storage, partitions=8)

    facts = read(storage, unique_ids={0: [[U], [U], [U]]})

    assert facts.operators[0].partitions_expected == 3
    assert facts.operators[0].has_unique_ids
    assert missed(facts) == [
        (0, 1, "default", f"3_{U}.changelog"),
        (0, 2, "default", "1_*.changelog", "2_*.changelog", f"3_{U}.changelog"),
    ]


def test_the_ids_of_a_join_come_in_the_order_of_its_stores():
    storage = Counting()
    ids = [f"{U[:-1]}{number}" for number in range(4)]
    for store, unique_id in zip(JOIN_STORES, ids, strict=True):
        checkpoint([0], store=store, files=[f"3_{unique_id}.zip"], storage=storage)

    assert read(storage, unique_ids={0: [ids]}).unloadable_total == 0


def test_an_operator_that_only_the_commit_knows_is_missing():
    facts = read(checkpoint([0], files=[f"3_{U}.zip"]), unique_ids={0: [[U]], 1: [[U]]})

    assert [(store.operator, store.partition) for store in facts.unloadable] == [(1, 0)]


def test_an_empty_partition_misses_files_of_the_operators_provider():
    storage = checkpoint(range(3), files=["3.zip"])

    assert missed(read(storage, partitions_hint=4)) == [(0, 3, "default", "1.changelog", "2.changelog", "3.changelog")]


def test_metadata_of_the_second_version_is_read_from_its_newest_file():
    storage = checkpoint(range(2))
    put(storage, "0/_metadata/v2/0", b"v2\n" + operator_metadata("default", partitions=9))
    put(
        storage, "0/_metadata/v2/4", b"v2\n" + operator_metadata("default", partitions=2, name="transformWithStateExec")
    )

    facts = read(storage)

    assert (facts.operators[0].name, facts.operators[0].partitions_expected) == ("transformWithStateExec", 2)


def test_broken_metadata_is_a_fact_and_the_hint_steps_in():
    storage = checkpoint(range(2))
    put(storage, "0/_metadata/metadata", b"v1\n{")

    facts = read(storage, partitions_hint=3)

    assert facts.operators[0].metadata_problem == f"{CHECKPOINT}/state/0/_metadata/metadata line 2: cut or not JSON"
    assert [store.partition for store in facts.unloadable] == [2]


def test_findings_are_counted_and_the_first_are_shown():
    storage = checkpoint(range(30), files=["1.delta"])
    put_metadata(storage, partitions=10**12)

    facts = read(storage)

    assert (facts.unloadable_total, facts.stores_checked) == (10**12, 10**12)
    assert [store.partition for store in facts.unloadable] == list(range(SHOWN_UNLOADABLE))


def test_each_folder_is_listed_once_and_of_each_operator_only_what_describes_it_is_read():
    storage = checkpoint(range(5))
    checkpoint(range(5), operator=1, store=JOIN_STORES[0], storage=storage)
    put_metadata(storage, partitions=5)

    read(storage, partitions_hint=5)

    assert len(storage.listed) == len(set(storage.listed))
    schemas = [f"0/{SCHEMA}", *(f"{store}/{SCHEMA}" for store in JOIN_STORES)]
    assert storage.read_files == [
        f"{CHECKPOINT}/state/0/_metadata/metadata",
        f"{CHECKPOINT}/state/0/{schemas[0]}",
        *(f"{CHECKPOINT}/state/1/0/{schema}" for schema in schemas[1:]),
    ]


def test_strangers_are_counted():
    storage = checkpoint(range(2), files=["1.delta", "2.delta", "3.delta", "foo"])
    put(storage, "0/00001/3.delta")
    put(storage, "junk/0")

    facts = read(storage)

    assert (facts.foreign, facts.operators[0].foreign) == (1, 3)


def test_state_that_cannot_be_asked_is_not_empty():
    storage = Counting()
    storage.write(f"{CHECKPOINT}/state", b"")

    with pytest.raises(StorageError):
        read(storage)


class Hostile:
    """A storage that gives any names and any content, and no way out of the checkpoint."""

    def __init__(self, names, content):
        self._names = tuple(names)
        self._content = content

    def list(self, directory, *, after=""):
        self._refuse_escape(directory)
        return self._names

    def read(self, address, *, limit=0):
        self._refuse_escape(address)
        return self._content

    def _refuse_escape(self, address):
        assert address.startswith(f"{CHECKPOINT}/state")
        assert ".." not in address.split("/")
        assert address.isprintable()


NAMES = st.lists(
    st.text()
    | st.integers(0, 3).map(str)
    | st.integers(0, 9).map("{}.delta".format)
    | st.sampled_from(["..", "../../etc", "_metadata", "left-keyToNumValues", "0.zip", f"3_{U}.zip", "a\x1b[2J"])
)
STORES = st.lists(st.text() | st.sampled_from(["default", "../../etc", "left-keyToNumValues"]), max_size=5)
CONTENTS = st.binary() | st.tuples(STORES, st.integers(-1, 10**18)).map(
    lambda told: b"v1\n" + operator_metadata(*told[0], partitions=told[1])
)


@given(NAMES, CONTENTS, st.integers(0, 2**63), st.none() | st.integers(0, 2**63), st.lists(st.lists(st.text())))
def test_hostile_state_gives_facts_of_bounded_size(names, content, version, hint, ids):
    facts = read(Hostile(names, content), version, partitions_hint=hint, unique_ids={0: ids})

    assert len(facts.unloadable) <= SHOWN_UNLOADABLE
    assert len(facts.unloadable) <= facts.unloadable_total <= facts.stores_checked


def test_the_files_of_all_versions_and_stores_are_counted():
    storage = checkpoint(range(2), files=("1.delta", "2.delta", "2.snapshot", ".2.delta.crc", "2.delta.crc"))
    checkpoint([0], operator=1, files=("1.changelog", "1.zip"), storage=storage)

    assert read(storage, version=2).files == 8


@pytest.mark.parametrize(("columns", "lost"), [((), 0), (("n",), 3)])
def test_partition_0_alone_is_whole_only_where_the_state_has_no_key(columns, lost):
    storage = checkpoint([0])
    put_metadata(storage, partitions=4)
    put(storage, "0/0/_metadata/schema", schema(*columns))

    assert read(storage).unloadable_total == lost


def test_partition_0_alone_is_never_whole_for_a_join():
    storage = checkpoint([0], store=JOIN_STORES[0])
    put_metadata(storage, *JOIN_STORES, partitions=2, name="symmetricHashJoin")

    assert {store.partition for store in read(storage).unloadable} >= {1}


NO_COLUMNS = b'{"type":"struct","fields":[]}'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (schema("n"), None),
        (b"", "it is empty"),
        (schema("n")[:40], "it is cut"),
        (schema("n")[:-1], "it is cut"),
        (b"\x00\x02v1" + (len(NO_COLUMNS).to_bytes(2) + NO_COLUMNS) * 2, None),
        (schema("n").replace(b"metadata", b"metatata"), "the schema of its key is none"),
        (schema("n").replace(b'"fields":[]', b'"fields":[}'), "the schema of its value is none"),
        (b"\x00\x02v3\x00", None),
    ],
)
def test_a_schema_that_can_not_be_read_is_told(content, reason):
    storage = checkpoint([0, 1])
    put_metadata(storage, partitions=2)
    put(storage, "0/0/_metadata/schema", content)

    assert [broken.reason for broken in read(storage).broken] == ([reason] if reason else [])
