"""A topic's settings as DescribeConfigs gives them: texts, with the broker's defaults where the topic has none."""

from collections.abc import Mapping
from datetime import timedelta

from streamops.kafka.facts import TopicRetention

_LONGEST = timedelta(days=365_000)
"""A thousand years: `segment.ms` may be Long.MAX_VALUE, and a date has to come out when it is added to now."""


def retention_of(config: Mapping[str, str]) -> TopicRetention:
    """The retention that they describe; ValueError naming the setting that is missing or no number."""
    policies = {policy.strip() for policy in _text(config, "cleanup.policy").split(",")}
    time, size = _number(config, "retention.ms"), _number(config, "retention.bytes")
    return TopicRetention(
        is_deleting="delete" in policies,
        is_compacting="compact" in policies,
        time=_milliseconds(time) if time >= 0 else None,
        size=size if size >= 0 else None,
        segment_time=_milliseconds(_number(config, "segment.ms")),
        segment_size=_number(config, "segment.bytes"),
        tombstone_time=_milliseconds(_number(config, "delete.retention.ms")),
    )


def _text(config: Mapping[str, str], name: str) -> str:
    value = config.get(name)
    if value is None:
        raise ValueError(f"the cluster does not tell {name}")
    return value


def _number(config: Mapping[str, str], name: str) -> int:
    text = _text(config, name)
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}, a whole number is expected") from None


def _milliseconds(number: int) -> timedelta:
    return timedelta(milliseconds=min(number, _LONGEST // timedelta(milliseconds=1)))
