"""The HTTP endpoint that streams write to: a small real server that can be told to fail.

Runs as `python -m streamops_sandbox.rest_server`; ends with exit code 0 on SIGTERM and SIGINT. Each request needs the header
`Authorization: Bearer <token>`.

POST /<any path>   a JSON value under the header Idempotency-Key: 201 the first time, 200 for a repeat, 422 for another body
GET /ledger        {"entries": [{path, key, body, accepted, requests}]}, with ?path=/alerts those of one path
POST /behaviour    {"next": 20, "status": 500}: the next 20 requests of the first kind get 500. Also "retry_after": 2 (seconds),
                   "status": "timeout" or "drop", and "accept": true, which accepts the request and fails only the answer.
                   Several are met one after the other
GET /behaviour     what of it is still to come
DELETE /behaviour  forget it
"""

import argparse
import hmac
import json
import signal
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from streamops_sandbox.ports import LOOPBACK
from streamops_sandbox.rest_ledger import Outcome, RestLedger
from streamops_sandbox.rest_script import TIMEOUT, Behaviour, Script

IDEMPOTENCY_KEY = "Idempotency-Key"
LEDGER = "/ledger"
BEHAVIOUR = "/behaviour"

_MOST_BYTES = 1_000_000
_HOLD_SECONDS = 300.0
"""How long a request without an answer is held; longer than a client should wait."""
_STATUS = {Outcome.ACCEPTED: 201, Outcome.REPEATED: 200, Outcome.CONFLICT: 422}


class _RefusedError(Exception):
    """A request that can't be taken; with the status and the reason for its answer."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class RestServer(ThreadingHTTPServer):
    """One ledger, one script, any number of connections."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, *, ledger: RestLedger, token: str) -> None:
        self.ledger = ledger
        self.script = Script()
        self.token = token
        self.lock = threading.Lock()
        """Held while ledger or script are used."""
        self.ended = threading.Event()
        """Set when requests need no longer be held."""
        super().__init__((LOOPBACK, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the server's: its request was not answered, it will come again."""


class _Handler(BaseHTTPRequestHandler):
    server: RestServer
    protocol_version = "HTTP/1.1"  # connections are kept
    # Head and body in one packet: in two, the second waits 40 ms for the first to be acknowledged (Nagle).
    wbufsize = -1

    def do_GET(self) -> None:  # the name is http.server's
        self._answer_with(self._get)

    def do_DELETE(self) -> None:
        self._answer_with(self._delete)

    def do_POST(self) -> None:
        self._answer_with(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the ledger tells of each request."""

    def _answer_with(self, answer: Any) -> None:
        try:
            body = self._body()
            self._check_token()
            answer(urlsplit(self.path), body)
        except _RefusedError as refused:
            self._tell(refused.status, {"error": str(refused)})

    def _get(self, url: Any, _body: bytes) -> None:
        with self.server.lock:
            if url.path == LEDGER:
                entries = self.server.ledger.entries()
            elif url.path == BEHAVIOUR:
                return self._tell(200, {"behaviour": self.server.script.left()})
            else:
                raise _RefusedError(404, f"GET knows {LEDGER} and {BEHAVIOUR}")
        wanted = parse_qs(url.query).get("path")
        return self._tell(200, {"entries": [entry for entry in entries if not wanted or entry["path"] in wanted]})

    def _delete(self, url: Any, _body: bytes) -> None:
        if url.path != BEHAVIOUR:
            raise _RefusedError(404, f"DELETE knows {BEHAVIOUR}")
        with self.server.lock:
            self.server.script.clear()
        self._tell(200, {"behaviour": []})

    def _post(self, url: Any, body: bytes) -> None:
        if url.path == LEDGER:
            raise _RefusedError(405, f"{LEDGER} can only be read")
        content = _json(body)
        if url.path == BEHAVIOUR:
            self._append_behaviour(content)
        else:
            self._receive(url.path, content)

    def _append_behaviour(self, content: Any) -> None:
        try:
            behaviour = Behaviour.of(content)
        except ValueError as error:
            raise _RefusedError(400, str(error)) from error
        with self.server.lock:
            self.server.script.append(behaviour)
            left = self.server.script.left()
        self._tell(201, {"behaviour": left})

    def _receive(self, path: str, content: Any) -> None:
        key = self.headers.get(IDEMPOTENCY_KEY, "")
        if not key:
            raise _RefusedError(400, f"the header {IDEMPOTENCY_KEY} is missing")
        with self.server.lock:
            behaviour = self.server.script.take()
            if behaviour is not None and not behaviour.accept:
                self.server.ledger.fail(path=path, key=key)
                outcome = Outcome.FAILED
            else:
                outcome = self.server.ledger.receive(path=path, key=key, body=content)
        if behaviour is not None:
            self._misbehave(behaviour)
        else:
            self._tell(_STATUS[outcome], {"outcome": outcome.value})

    def _misbehave(self, behaviour: Behaviour) -> None:
        if behaviour.status == TIMEOUT:
            self.server.ended.wait(_HOLD_SECONDS)
        if isinstance(behaviour.status, int):
            headers = {} if behaviour.retry_after is None else {"Retry-After": str(behaviour.retry_after)}
            self._tell(behaviour.status, {"error": "as it was told to"}, headers)
        else:
            self.close_connection = True

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > _MOST_BYTES:
            self.close_connection = True
            raise _RefusedError(413, f"a body has a Content-Length, at most {_MOST_BYTES}")
        return self.rfile.read(int(length))

    def _check_token(self) -> None:
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            raise _RefusedError(401, "the header Authorization does not hold this endpoint's bearer token")

    def _tell(self, status: int, content: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        text = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise _RefusedError(400, "the body is not JSON") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(prog="python -m streamops_sandbox.rest_server", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help=f"port on {LOOPBACK}")
    parser.add_argument("--ledger", type=Path, required=True, help="file of requests, one JSON object a line")
    parser.add_argument("--token-file", type=Path, required=True, help="file with the bearer token")
    asked = parser.parse_args(arguments)

    ledger = RestLedger(asked.ledger)
    server = RestServer(asked.port, ledger=ledger, token=asked.token_file.read_text(encoding="utf-8").strip())
    for number in (signal.SIGTERM, signal.SIGINT):
        # From a thread of its own: shutdown waits for the loop that the signal has interrupted.
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever(poll_interval=0.1)
    server.ended.set()
    with server.lock:
        ledger.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
