"""The parts of the sandbox that only some streams need: they run once they were asked for, and have no address before."""

from typing import ClassVar, Protocol

from streamops.clock import Clock
from streamops_sandbox.daemon import Daemons
from streamops_sandbox.errors import SandboxError
from streamops_sandbox.layout import SandboxLayout
from streamops_sandbox.postgres import USER, Postgres
from streamops_sandbox.rest_endpoint import RestEndpoint
from streamops_sandbox.state import SandboxState


class Service(Protocol):
    """What a part can be asked for whatever it is."""

    DAEMON: ClassVar[str]

    def is_answering(self) -> bool:
        """Whether it does its work."""
        ...

    def stop(self) -> None:
        """Stop it; what it has written stays."""
        ...


class Services:
    """The database and the HTTP endpoint of one sandbox, on the ports of its state."""

    def __init__(self, layout: SandboxLayout, daemons: Daemons, *, state: SandboxState, clock: Clock) -> None:
        self._layout = layout
        self._daemons = daemons
        self._state = state
        self._clock = clock

    @property
    def postgres(self) -> Postgres:
        """The database server; SandboxError before it was first started."""
        port = _chosen(self._state.postgres_port, "database")
        return Postgres(self._layout, self._daemons, port=port, clock=self._clock)

    @property
    def rest_endpoint(self) -> RestEndpoint:
        """The HTTP endpoint; SandboxError before it was first started."""
        return RestEndpoint(self._layout, self._daemons, port=_chosen(self._state.rest_port, "HTTP endpoint"))

    def health(self) -> dict[str, bool]:
        """Whether each part that was ever started answers, by the name of its daemon."""
        return {
            part.DAEMON: self._daemons.running(part.DAEMON) is not None and part.is_answering()
            for part in self._started()
        }

    def environment(self) -> dict[str, str]:
        """What streams refer to: addresses, the database's user, and the files with password and token."""
        found: dict[str, str] = {}
        for server in self._databases():
            found["POSTGRES_URL"] = server.jdbc_url
            found["POSTGRES_USER"] = USER
            found["POSTGRES_PASSWORD_FILE"] = str(self._layout.postgres_password)
        for endpoint in self._endpoints():
            found["REST_URL"] = endpoint.url
            found["REST_TOKEN_FILE"] = str(self._layout.rest_token)
        return found

    def stop(self) -> None:
        """Stop what runs of them; data and ledger stay."""
        for part in self._started():
            part.stop()

    def _started(self) -> tuple[Service, ...]:
        return (*self._databases(), *self._endpoints())

    def _databases(self) -> tuple[Postgres, ...]:
        return () if self._state.postgres_port is None else (self.postgres,)

    def _endpoints(self) -> tuple[RestEndpoint, ...]:
        return () if self._state.rest_port is None else (self.rest_endpoint,)


def _chosen(port: int | None, what: str) -> int:
    if port is None:
        raise SandboxError(f"the sandbox's {what} was never started")
    return port
