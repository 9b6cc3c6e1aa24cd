"""Input records on a real broker: each key in its order, null is not empty, and a record that is lost is said to be."""

from collections import defaultdict
from datetime import timedelta

import pytest

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.inputs import InputRecord, Shares, customers, waves
from streamops_sandbox.inputs.sending import send
from support.topics import published

pytestmark = pytest.mark.kafka


def test_every_record_arrives_once_and_those_of_a_key_in_their_order_in_one_partition(cluster):
    cluster.create("customers", partitions=3)
    records = customers.records(seed=2, count=500, shares=Shares(duplicate=0.1, malformed=0.1))

    sent = [send(wave, bootstrap=cluster.bootstrap) for wave in waves(records)]

    found = published(cluster.bootstrap, "customers")
    assert sum(sent) == len(found) == 500
    wanted, values, partitions = defaultdict(list), defaultdict(list), defaultdict(set)
    for record in records:
        wanted[record.key].append(record.value)
    for record in found:
        values[record.key].append(record.value)
        partitions[record.key].add(record.partition)
    assert values == wanted
    assert {len(places) for places in partitions.values()} == {1}
    assert len(set.union(*partitions.values())) == 3


def test_null_and_empty_stay_different(cluster):
    cluster.create("nothing")

    send([InputRecord("nothing", b"a", None, 0), InputRecord("nothing", None, b"", 0)], bootstrap=cluster.bootstrap)

    assert [(record.key, record.value) for record in published(cluster.bootstrap, "nothing")] == [
        (b"a", None),
        (None, b""),
    ]


def test_records_that_are_not_acknowledged_are_counted_with_the_reason():
    records = [InputRecord("words", b"k", b"v", 0)] * 2

    with pytest.raises(SandboxError, match=r"2 of 2 records were not acknowledged by 127\.0\.0\.1:1: .*timed out"):
        send(records, bootstrap="127.0.0.1:1", limit=timedelta(seconds=1))
