"""Topics made anew for a trial, and what lies in them, on a real broker."""

import pytest

from streamops_sandbox.catalogue.topics import Published, counting, ends, exists, make_anew, published
from streamops_sandbox.inputs import InputRecord
from streamops_sandbox.inputs.sending import send
from support.cluster import Cluster

pytestmark = pytest.mark.kafka

TOPIC = "catalogue_anew"


def a_record(value: bytes | None) -> InputRecord:
    return InputRecord(TOPIC, b"k", value, 0)


def test_a_topic_made_anew_is_empty_takes_records_and_counts_from_zero(cluster: Cluster) -> None:
    make_anew(cluster.bootstrap, TOPIC, partitions=1)
    send([a_record(b"a"), a_record(None)], bootstrap=cluster.bootstrap)
    assert ends(cluster.bootstrap, TOPIC) == {(TOPIC, 0): 2}

    make_anew(cluster.bootstrap, TOPIC, partitions=2)

    assert ends(cluster.bootstrap, TOPIC) == {(TOPIC, 0): 0, (TOPIC, 1): 0}
    send([a_record(b"c")], bootstrap=cluster.bootstrap)
    assert sum(ends(cluster.bootstrap, TOPIC).values()) == 1


def test_a_topic_that_never_was_is_made(cluster: Cluster) -> None:
    assert not exists(cluster.bootstrap, "catalogue_new")

    make_anew(cluster.bootstrap, "catalogue_new", partitions=3)

    assert exists(cluster.bootstrap, "catalogue_new")
    assert published(cluster.bootstrap, "catalogue_new") == ()


def test_what_lies_in_a_topic_is_read_and_counted_while_it_comes(cluster: Cluster) -> None:
    make_anew(cluster.bootstrap, TOPIC, partitions=1)

    with counting(cluster.bootstrap, TOPIC) as written:
        assert written() == 0
        send([a_record(b"a"), a_record(None)], bootstrap=cluster.bootstrap)
        assert written() == 2

    assert published(cluster.bootstrap, TOPIC) == (
        Published(partition=0, offset=0, key=b"k", value=b"a"),
        Published(partition=0, offset=1, key=b"k", value=None),
    )
