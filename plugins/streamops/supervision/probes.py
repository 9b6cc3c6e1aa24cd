"""Whether what a failed stream waits for answers again."""

import os
import queue
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from urllib.parse import urlsplit

from streamops.clock import Clock
from streamops.failures.failure_class import Remedy
from streamops.spec import (
    CustomSource,
    DeltaTableSource,
    FilesSink,
    JdbcSink,
    KafkaSink,
    KafkaSource,
    RestSink,
    StreamSpec,
)
from streamops.spec.sinks import FurtherSink
from streamops.storage.address import local_path
from streamops.supervision.observation import Reachability

PROBE_INTERVAL = timedelta(seconds=10)
"""Between two probes of one stream's dependency; a look in between uses the last answer."""
CONNECT_LIMIT = timedelta(seconds=3)
"""For one server that does not even refuse, all its addresses together."""
PROBE_LIMIT = timedelta(seconds=6)
"""For a whole probe: it runs inside a look, and a name service may take as long as it likes."""
_REASONS_SHOWN = 3
_SERVER = re.compile(r"(?:[A-Za-z][A-Za-z0-9_]*://)?(?:\[([0-9A-Fa-f:.%\w-]+)\]|([\w.:%-]+)):(\d{1,5})", re.ASCII)
"""As Kafka's clients read it (Utils.HOST_PORT_PATTERN, 3.9): `host:port`, `SASL_SSL://host:port`, `[::1]:port`."""


class Prober(Protocol):
    """Asks the outside world, briefly."""

    def probe(self, remedy: Remedy, spec: StreamSpec) -> Reachability:
        """Whether the source (`wait-for-source`) or the sink (`wait-for-sink`) of a stream answers. Never raises."""
        ...


class NetworkProber:
    """A connection for a server, a writable folder for a local table; anything else can't be told from here.

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
        answer = _probe_source(spec) if remedy is Remedy.WAIT_FOR_SOURCE else _probe_sink(spec)
        self._known[spec.name, remedy] = (now, answer)
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Knock:
    """What came of one server; `is_open` None where nobody was asked."""

    server: str
    is_open: bool | None
    reason: str


def _probe_source(spec: StreamSpec) -> Reachability:
    source = spec.source
    if isinstance(source, KafkaSource):
        return _probe_broker(source.bootstrap_servers)
    if isinstance(source, CustomSource):
        return Reachability(target=str(source), is_reachable=None, evidence="only Spark knows where it is, not probed")
    return _probe_input(source.table if isinstance(source, DeltaTableSource) else source.path)


def _probe_input(target: str) -> Reachability:
    """A folder that can be listed answers; one that is not there may be of another host."""
    path = local_path(target)
    if path is None:
        return Reachability(target=target, is_reachable=None, evidence="not a local folder, not probed")
    if not os.path.isdir(path):
        evidence = f"{path} is not there: not mounted here, not made yet, or of another host"
        return Reachability(target=target, is_reachable=None, evidence=evidence)
    if not os.access(path, os.R_OK | os.X_OK):
        return Reachability(target=target, is_reachable=False, evidence=f"{path} can't be read")
    return Reachability(target=target, is_reachable=True, evidence=f"{path} is a folder that can be read")


def _probe_broker(target: str) -> Reachability:
    """One server that accepts is enough; only where each has been asked in vain is the broker known to be away."""
    servers = {server.strip() for server in target.split(",") if server.strip()}
    knocks = _knock_at_all(servers)
    reasons = [f"{knock.server}: {knock.reason}" for knock in knocks]
    if knocks and knocks[-1].is_open:
        return Reachability(target=target, is_reachable=True, evidence=reasons[-1])
    reasons += [f"{server}: no answer yet" for server in sorted(servers - {knock.server for knock in knocks})]
    is_known = bool(knocks) and len(knocks) == len(servers) and all(knock.is_open is False for knock in knocks)
    evidence = "; ".join(reasons[:_REASONS_SHOWN]) or "no server is named"
    return Reachability(target=target, is_reachable=False if is_known else None, evidence=evidence)


def _knock_at_all(servers: set[str]) -> list[_Knock]:
    """The answers that came within the limit, up to the first server that accepts.

    A thread each, as nothing else bounds a name service that hangs; what is late is left to end by itself.
    """
    answers: queue.SimpleQueue[_Knock] = queue.SimpleQueue()
    for server in servers:
        threading.Thread(target=lambda server: answers.put(_knock(server)), args=(server,), daemon=True).start()
    deadline = time.monotonic() + PROBE_LIMIT.total_seconds()
    knocks: list[_Knock] = []
    while len(knocks) < len(servers):
        try:
            knocks.append(answers.get(timeout=max(0, deadline - time.monotonic())))
        except queue.Empty:
            break
        if knocks[-1].is_open:
            break
    return knocks


def _knock(server: str) -> _Knock:
    address = _SERVER.fullmatch(server)
    if address is None or int(address[3]) not in range(1, 65536):
        return _Knock(server=server, is_open=None, reason="not host:port")
    try:
        _connect(address[1] or address[2], int(address[3]))
    except UnicodeError:
        return _Knock(server=server, is_open=None, reason="not a name of a host")
    except OSError as error:
        return _Knock(server=server, is_open=False, reason=str(error))
    return _Knock(server=server, is_open=True, reason="accepts connections")


def _connect(host: str, port: int) -> None:
    """Raises what the last of the host's addresses answered, where none accepts."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    refusal = OSError("its name has no address")
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as connection:
                connection.settimeout(CONNECT_LIMIT.total_seconds() / len(found))
                connection.connect(address)
            return
        except OSError as error:
            refusal = error
    raise refusal


def _probe_sink(spec: StreamSpec) -> Reachability:
    """All places of the sink: a batch needs each of them. One that is away is the answer, then one that can't be told.

    They are asked at once, since each may take the whole time that a probe has.
    """
    sink = spec.sink
    answers = [_probe_table(sink.table)] if sink.table else []
    with ThreadPoolExecutor(max_workers=_MOST_PLACES) as asking:
        answers += asking.map(_probe_further, sink.further)
    return min(answers, key=lambda answer: _ORDER.index(answer.is_reachable))


_MOST_PLACES = 5
"""Kinds of sinks besides Delta tables."""
_ORDER = (False, None, True)


def _probe_further(place: FurtherSink) -> Reachability:
    if isinstance(place, KafkaSink):
        return _probe_broker(place.bootstrap_servers)
    if isinstance(place, FilesSink):
        return _probe_table(place.path)
    server = server_of(place.url) if isinstance(place, JdbcSink | RestSink) else ""
    if server:
        return _probe_broker(server)
    return Reachability(
        target=place.address, is_reachable=None, evidence="no server is named in its address, not probed"
    )


def server_of(url: str) -> str:
    """`host:port` in an address of JDBC or HTTP, with the port that its scheme has by default; empty where there is none."""
    try:
        parts = urlsplit(url.removeprefix("jdbc:"))
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{port}" if host and port else ""


_PORTS = {"http": 80, "https": 443, "postgresql": 5432, "mysql": 3306, "mariadb": 3306, "sqlserver": 1433}


def _probe_table(target: str) -> Reachability:
    """The table's own folder is judged, or the one in which it would be made; further up lies another file system."""
    path = local_path(target)
    if path is None:
        return Reachability(target=target, is_reachable=None, evidence="not a local folder, not probed")
    folder = path if os.path.exists(path) else os.path.dirname(path)
    try:
        is_writable, evidence = _judge_folder(folder)
    except OSError as error:
        is_writable, evidence = None, f"{folder} can't be told from here: {error.strerror}"
    return Reachability(target=target, is_reachable=is_writable, evidence=evidence)


def _judge_folder(folder: str) -> tuple[bool | None, str]:
    if not os.path.exists(folder):
        return None, f"{folder} is not there: not mounted here, or of another host"
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        return False, f"{folder} is no folder that can be written"
    room = os.statvfs(folder)
    # Some file systems tell of no blocks at all.
    if room.f_blocks and not room.f_bavail:
        return False, f"{folder}: no space left"
    return True, f"{folder} is a folder that can be written"
