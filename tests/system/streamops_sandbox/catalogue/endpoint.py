"""What the sandbox's HTTP endpoint has accepted from a stream, asked as the stream itself would: by the address and the token
that it is declared with."""

import json
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from streamops.spec import RestSink
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.rest_server import LEDGER

_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What one path of the endpoint holds."""

    bodies: dict[str, Any]
    """By idempotency key."""
    repeats: int
    """Requests beyond one for each key: those that came again, which changes nothing, and those that the endpoint failed."""


def accepted(sink: RestSink) -> Accepted:
    """Of the sink's own path; SandboxError when the endpoint does not answer."""
    address = urlsplit(sink.url)
    base = urlunsplit((address.scheme, address.netloc, LEDGER, f"path={quote(address.path)}", ""))
    token = Path(sink.token_file).read_text(encoding="utf-8").strip() if sink.token_file else ""
    request = urllib.request.Request(base, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            entries = [entry for entry in json.load(answer)["entries"] if entry["accepted"]]
    except (OSError, ValueError) as error:
        raise SandboxError(f"the endpoint does not tell what it has accepted, at {base}: {error}") from error
    return Accepted(
        bodies={entry["key"]: entry["body"] for entry in entries},
        repeats=sum(entry["requests"] - 1 for entry in entries),
    )
