"""Whether what a failed stream waits for answers again."""

import os
import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from streamops.clock import Clock
from streamops.restart import Remedy
from streamops.spec import StreamSpec
from streamops.storage.address import local_path

PROBE_INTERVAL = timedelta(seconds=10)
"""Between two probes of one stream's dependency; a look in between uses the last answer."""
CONNECT_LIMIT = timedelta(seconds=3)
"""For one server that does not even refuse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachability:
    """The answer of a probe."""

    target: str
    is_reachable: bool | None
    """None where this place can't tell; then only the back-off counts."""
    evidence: str


class Prober(Protocol):
    """Asks the outside world, briefly."""

    def probe(self, remedy: Remedy, spec: StreamSpec) -> Reachability:
        """Whether the source (`wait-for-source`) or the sink (`wait-for-sink`) of a stream answers. Never raises."""
        ...


class NetworkProber:
    """A connection for a broker, a writable folder for a local table; anything else can't be told from here.

    A port that answers is no proof of a healthy broker: it says that a start is worth trying.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[tuple[str, Remedy], tuple[timedelta, Reachability]] = {}

    def probe(self, remedy: Remedy, spec: StreamSpec) -> Reachability:
        now = self._clock.monotonic()
        known = self._known.get((spec.name, remedy))
        if known and now - known[0] < PROBE_INTERVAL:
            return known[1]
        answer = _probe_broker(spec) if remedy is Remedy.WAIT_FOR_SOURCE else _probe_table(spec)
        self._known[spec.name, remedy] = (now, answer)
        return answer


def _probe_broker(spec: StreamSpec) -> Reachability:
    target, evidence = spec.source.bootstrap_servers, ""
    for server in target.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_LIMIT.total_seconds()):
                return Reachability(target=target, is_reachable=True, evidence=f"{server.strip()} accepts connections")
        except (OSError, ValueError) as error:
            evidence = f"{server.strip()}: {error}"
    return Reachability(target=target, is_reachable=False, evidence=evidence)


def _probe_table(spec: StreamSpec) -> Reachability:
    target = spec.sink.table
    path = local_path(target)
    if path is None:
        return Reachability(target=target, is_reachable=None, evidence="not a local folder, not probed")
    while not os.path.exists(path) and path != "/":
        path = os.path.dirname(path)
    is_writable = os.path.isdir(path) and os.access(path, os.W_OK)
    evidence = f"{path} is {'a' if is_writable else 'no'} folder that can be written"
    return Reachability(target=target, is_reachable=is_writable, evidence=evidence)
