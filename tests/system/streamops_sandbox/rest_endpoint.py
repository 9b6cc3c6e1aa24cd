"""The sandbox's HTTP endpoint: its process, and a client that reads the ledger and tells it to fail. See `rest_server`."""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any, ClassVar

from streamops_sandbox.daemon import Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.ports import LOOPBACK
from streamops_sandbox.rest_ledger import Entry
from streamops_sandbox.rest_script import Behaviour
from streamops_sandbox.rest_server import BEHAVIOUR, LEDGER
from streamops_sandbox.secret_file import kept_secret

START_LIMIT = timedelta(seconds=20)
STOP_GRACE = timedelta(seconds=10)

_ANSWER_SECONDS = 10.0


class RestEndpoint:
    """The sandbox's HTTP endpoint on the given port."""

    DAEMON: ClassVar[str] = "rest"

    def __init__(self, layout: SandboxLayout, daemons: Daemons, *, port: int) -> None:
        self._layout = layout
        self._daemons = daemons
        self._port = port

    @property
    def url(self) -> str:
        """Where streams write to, with a path of their own behind it."""
        return f"http://{LOOPBACK}:{self._port}"

    def start(self, environment: Mapping[str, str]) -> None:
        """Start the endpoint unless it runs, and return when it answers; SandboxError when it does not."""
        kept_secret(self._layout.rest_token)
        command = [sys.executable, "-m", "streamops_sandbox.rest_server", "--port", str(self._port)]
        command += ["--ledger", str(self._layout.rest_ledger), "--token-file", str(self._layout.rest_token)]
        self._daemons.start(self.DAEMON, command, environment=environment)
        self._daemons.wait_ready(
            self.DAEMON,
            missing=lambda: "" if self.is_answering() else f"an answer on {self.url}",
            what=self.DAEMON,
            limit=START_LIMIT,
        )

    def stop(self) -> None:
        """Stop the endpoint; its ledger stays, what it was told to do wrong is forgotten."""
        self._daemons.stop(self.DAEMON, grace=STOP_GRACE)

    def kill(self) -> bool:
        """SIGKILL, as in a crash; False when it was not alive."""
        return self._daemons.kill(self.DAEMON)

    def is_answering(self) -> bool:
        """Whether it answers, and takes this sandbox's token."""
        try:
            self._ask("GET", BEHAVIOUR)
        except SandboxError:
            return False
        return True

    def ledger(self, path: str = "") -> tuple[Entry, ...]:
        """What it knows of each key, of one path or of all; SandboxError when it does not answer."""
        found = self._ask("GET", f"{LEDGER}?path={path}" if path else LEDGER)
        return tuple(Entry(**entry) for entry in found["entries"])

    def behave(self, *behaviours: Behaviour) -> None:
        """Have the next requests fail like this, after what it was told before; SandboxError when it does not answer."""
        for behaviour in behaviours:
            self._ask("POST", BEHAVIOUR, asdict(behaviour))

    def behave_well(self) -> None:
        """Forget all it was told; SandboxError when it does not answer."""
        self._ask("DELETE", BEHAVIOUR)

    def _ask(self, method: str, path: str, content: Any = None) -> Any:
        try:
            token = self._layout.rest_token.read_text(encoding="utf-8")
            request = urllib.request.Request(
                self.url + path,
                method=method,
                data=None if content is None else json.dumps(content).encode(),
                headers={"Authorization": f"Bearer {token}"},
            )
            with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise SandboxError(f"{method} {self.url}{path}: {error.code} {error.read().decode()}") from error
        except (OSError, ValueError) as error:
            raise SandboxError(f"{method} {self.url}{path}: {error}") from error
