"""A spec as the JSON text that a claim carries, and the names that follow from a stream and its settings file."""

import dataclasses
import hashlib
import json
from datetime import timedelta
from functools import lru_cache

from streamops.spec.sources import CustomSource, DeltaTableSource, FilesSource
from streamops.spec.state import StateSpec
from streamops.spec.stream import Mode, StreamSpec, Timings


def namespaced(namespace: str, name: str) -> str:
    """The id of a DAG: `team_b__streamops_reconcile`. Every id of ours is made here; one Airflow knows each id once."""
    return f"{namespace}__{name}" if namespace else name


def dag_id_of(spec: StreamSpec) -> str:
    """The id of the Airflow DAG that runs a declared stream."""
    own = catchup_dag_id if spec.mode is Mode.SCHEDULED else stream_dag_id
    return own(spec.name, namespace=spec.namespace)


def catchup_dag_id(stream: str, *, namespace: str = "") -> str:
    """The id of the Airflow DAG that runs a scheduled stream."""
    return namespaced(namespace, f"catchup__{stream}")


def stream_dag_id(stream: str, *, namespace: str = "") -> str:
    """The id of the Airflow DAG that keeps a live stream running."""
    return namespaced(namespace, f"stream__{stream}")


_KINDS = {DeltaTableSource: "delta", FilesSource: "files", CustomSource: "custom"}
"""The word that tells a driver which source it is. A Kafka source bears none: claims had no other for long."""

_LATER = {"state": dataclasses.asdict(StateSpec()), "metrics": False, "parameters": ()}
"""Fields that came after the first claims, with their defaults: left out, so that an upgrade is no other declaration.

So are those inside of others, below.
"""
_UNTOLD = frozenset({"airflow", "file_access", "keep", "namespace"})
"""What concerns neither a driver nor its claim: pruning and the rights of new files go by the declaration of the moment, and so
does where Airflow shows the stream."""


def spec_text(spec: StreamSpec) -> str:
    """The spec as JSON with sorted keys; durations in seconds. Holds no secrets: a spec cannot."""
    told = {name: value for name, value in dataclasses.asdict(spec).items() if name not in _UNTOLD}
    fields = {name: value for name, value in told.items() if value != _LATER.get(name, ...)}
    fields["sink"] = {name: value for name, value in fields["sink"].items() if value is not None}
    if not spec.launch.environment:
        del fields["launch"]["environment"]
    if spec.sink.rest and not spec.sink.rest.url_file:
        del fields["sink"]["rest"]["url_file"]
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
