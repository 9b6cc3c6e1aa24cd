"""A topic's settings as DescribeConfigs of a Kafka 4.3 broker gives them."""

from datetime import timedelta

import pytest

from streamops.kafka import TopicRetention
from streamops.kafka.confluent import retention_of

DEFAULTS = {
    "cleanup.policy": "delete",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "segment.ms": "604800000",
    "segment.bytes": "1073741824",
    "delete.retention.ms": "86400000",
}


def test_the_defaults_of_a_broker():
    assert retention_of(DEFAULTS) == TopicRetention(
        is_deleting=True,
        is_compacting=False,
        time=timedelta(days=7),
        size=None,
        segment_time=timedelta(days=7),
        segment_size=1 << 30,
        tombstone_time=timedelta(days=1),
    )


@pytest.mark.parametrize(
    ("policy", "deleting", "compacting"),
    [
        ("compact", False, True),
        ("compact,delete", True, True),
        ("compact, delete", True, True),
        ("delete", True, False),
    ],
)
def test_the_policies(policy, deleting, compacting):
    found = retention_of(DEFAULTS | {"cleanup.policy": policy})

    assert (found.is_deleting, found.is_compacting) == (deleting, compacting)


def test_no_limit_and_a_limit_of_size():
    found = retention_of(DEFAULTS | {"retention.ms": "-1", "retention.bytes": "5000"})

    assert (found.time, found.size) == (None, 5000)


def test_as_good_as_never_is_no_overflow():
    assert retention_of(DEFAULTS | {"segment.ms": str(2**63 - 1)}).segment_time == timedelta(days=365_000)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param({"retention.ms": "soon"}, "retention.ms is 'soon', a whole number is expected", id="no number"),
        pytest.param({"segment.bytes": None}, "the cluster does not tell segment.bytes", id="missing"),
    ],
)
def test_a_setting_that_can_not_be_read_is_named(config, message):
    with pytest.raises(ValueError, match=message):
        retention_of(DEFAULTS | config)
