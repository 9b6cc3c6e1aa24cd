"""The order generator: orders numbered from 0 without holes into a topic, every K-th followed by a malformed record.

Runs as `python -m streamops_sandbox.orders`. On SIGTERM and SIGINT it flushes, records how far it came and ends with
exit code 0; with 1 when a record was not acknowledged, with 2 when it refused to begin.
"""

import argparse
import json
import math
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.json_file import read_json, write_json
from streamops_sandbox.order_content import malformed, order

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

DEFAULT_RATE = 200
DEFAULT_MALFORMED_EVERY = 200

_QUEUE_LIMIT = 50_000
"""Records handed over and not yet acknowledged; the client's own limit is 100,000."""

_FLUSH_SECONDS = 30.0
_POLL_SECONDS = 0.02
_RECORD_EVERY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersState:
    """How far the generator has got, as its state file says. While it runs the file is about a second behind."""

    sent: int = 0
    """Orders the broker has acknowledged."""

    malformed: int = 0
    """Malformed records the broker has acknowledged; they are numbered from 0 too."""

    next_order_id: int = 0
    running: bool = False
    """Also true after a crash, when nobody knows which of the last orders arrived."""

    unacknowledged: int = 0
    """Records that were handed over and never acknowledged: the numbering may have holes."""


def load_orders_state(path: Path) -> OrdersState | None:
    """The recorded state, or None before the first order."""
    content = read_json(path)
    if content is None:
        return None
    try:
        return OrdersState(
            sent=int(content["sent"]),
            malformed=int(content["malformed"]),
            next_order_id=int(content["next_order_id"]),
            running=bool(content["running"]),
            unacknowledged=int(content.get("unacknowledged", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SandboxError(
            f"{path} is no state of the order generator ({error!r}): remove it with its topic"
        ) from error


class OrderGenerator:
    """Produces orders from a recorded state on; one use, one run."""

    def __init__(self, *, bootstrap: str, topic: str, state_file: Path, malformed_every: int) -> None:
        from confluent_kafka import Producer

        self._state_file = state_file
        self._state = _state_to_continue(state_file)
        self._topic = topic
        self._malformed_every = malformed_every
        self._next_malformed = self._state.malformed
        self._sent = self._state.sent
        self._malformed = self._state.malformed
        self._failed = 0
        # Idempotence keeps a retried record from arriving twice: the numbering has neither holes nor doubles.
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 20}
        )

    def run(self, *, rate: float, count: int | None, stop: threading.Event) -> OrdersState:
        """Send `rate` orders a second until `count` are sent or `stop` is set; the final state, also recorded."""
        first = self._state.next_order_id
        begin = time.monotonic()
        recorded = begin
        self._record(next_order_id=first, running=True)
        number = first
        end = math.inf if count is None else first + count
        while number < end and not stop.is_set():
            now = time.monotonic()
            due = first + int((now - begin) * rate)
            # While the broker is away numbers wait here rather than overflow the client's queue.
            while number < min(due, end) and len(self._producer) < _QUEUE_LIMIT:
                self._send(number)
                number += 1
            self._producer.poll(_POLL_SECONDS)
            if now - recorded >= _RECORD_EVERY_SECONDS:
                self._record(next_order_id=number, running=True)
                recorded = now
        left = self._producer.flush(_FLUSH_SECONDS)
        return self._record(next_order_id=number, running=False, unacknowledged=left + self._failed)

    def _send(self, number: int) -> None:
        content = order(number)
        self._producer.produce(
            self._topic, key=str(content["customer"]), value=json.dumps(content), on_delivery=self._order_delivered
        )
        if self._malformed_every and (number + 1) % self._malformed_every == 0:
            text = malformed(self._next_malformed)
            self._producer.produce(self._topic, key="malformed", value=text, on_delivery=self._malformed_delivered)
            self._next_malformed += 1

    def _order_delivered(self, error: "KafkaError | None", _message: "Message") -> None:
        self._sent += error is None
        self._count_failure(error)

    def _malformed_delivered(self, error: "KafkaError | None", _message: "Message") -> None:
        self._malformed += error is None
        self._count_failure(error)

    def _count_failure(self, error: "KafkaError | None") -> None:
        if error is not None:
            self._failed += 1
            print(f"not acknowledged: {error}", file=sys.stderr, flush=True)

    def _record(self, *, next_order_id: int, running: bool, unacknowledged: int = 0) -> OrdersState:
        state = replace(
            self._state,
            sent=self._sent,
            malformed=self._malformed,
            next_order_id=next_order_id,
            running=running,
            unacknowledged=unacknowledged,
        )
        write_json(self._state_file, asdict(state))
        return state


def _state_to_continue(path: Path) -> OrdersState:
    """The state to go on from; SandboxError when the last run left the numbering unknown."""
    state = load_orders_state(path) or OrdersState()
    remedy = f"begin anew with an empty topic: `streamops-sandbox reset`, or delete the topic and {path}"
    if state.running:
        raise SandboxError(
            f"{path} says that a generator is running. If it is, stop it. If it was killed, nobody knows which orders "
            f"from about {state.next_order_id} on arrived: {remedy}"
        )
    if state.unacknowledged:
        raise SandboxError(
            f"{path}: {state.unacknowledged} records of the last run were never acknowledged, the numbering may have "
            f"holes before {state.next_order_id}: {remedy}"
        )
    return state


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the generator; see the module for the exit codes."""
    parser = argparse.ArgumentParser(prog="python -m streamops_sandbox.orders", description=__doc__)
    parser.add_argument("--bootstrap", required=True, help="Kafka broker as host:port")
    parser.add_argument("--topic", required=True)
    parser.add_argument("--rate", type=float, default=DEFAULT_RATE, help="orders a second")
    parser.add_argument("--state", type=Path, required=True, help="file that records how far the generator has got")
    parser.add_argument(
        "--malformed-every", type=int, default=DEFAULT_MALFORMED_EVERY, help="orders for one malformed record; 0: none"
    )
    parser.add_argument("--count", type=int, help="end after so many orders; without it only a signal ends the run")
    asked = parser.parse_args(arguments)

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        generator = OrderGenerator(
            bootstrap=asked.bootstrap,
            topic=asked.topic,
            state_file=asked.state,
            malformed_every=asked.malformed_every,
        )
        final = generator.run(rate=asked.rate, count=asked.count, stop=stop)
    except SandboxError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"sent={final.sent} malformed={final.malformed} unacknowledged={final.unacknowledged}", flush=True)
    return 1 if final.unacknowledged else 0


if __name__ == "__main__":
    sys.exit(main())
