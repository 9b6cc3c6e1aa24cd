"""A spec as the JSON text that a claim carries: what the driver runs, and what `status` compares with the declaration."""

import dataclasses
import hashlib
import json
from datetime import timedelta
from functools import lru_cache

from streamops.spec.sources import DeltaTableSource, FilesSource
from streamops.spec.stream import StreamSpec, Timings

_KINDS = {DeltaTableSource: "delta", FilesSource: "files"}
"""The word that tells a driver which source it is. A Kafka source bears none: claims had no other for long."""


def spec_text(spec: StreamSpec) -> str:
    """The spec as JSON with sorted keys; durations in seconds. Holds no secrets: a spec cannot."""
    fields = dataclasses.asdict(spec)
    if kind := _KINDS.get(type(spec.source)):
        fields["source"]["kind"] = kind
    return json.dumps(fields, default=_plain, sort_keys=True, ensure_ascii=False)


def spec_fingerprint(text: str) -> str:
    """A short name for a spec text, equal for equal declarations."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@lru_cache(maxsize=8192)
def timings_in(text: str) -> Timings | None:
    """The timings that a spec text holds; None where another release wrote it in another form."""
    try:
        timings = json.loads(text)["timings"]
        return Timings(**{name: timedelta(seconds=seconds) for name, seconds in timings.items()})
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None


def _plain(value: object) -> object:
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(f"{type(value).__name__} has no place in a spec")
