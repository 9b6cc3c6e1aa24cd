"""The choices that are made once and stay: ports, secrets, the Airflow password.

A restarted sandbox answers on the addresses that running streams already know, and tokens stay valid.
"""

import base64
import secrets
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from streamops_sandbox.errors import SandboxError
from streamops_sandbox.json_file import read_json, write_json
from streamops_sandbox.ports import free_port, is_free

ADMIN = "admin"
"""Name of the only Airflow user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxState:
    """What `state.json` holds; secrets are kept out of the repr."""

    kafka_port: int
    controller_port: int
    airflow_port: int
    admin_password: str = field(repr=False)
    fernet_key: str = field(repr=False)
    api_secret_key: str = field(repr=False)
    jwt_secret: str = field(repr=False)
    postgres_port: int | None = None
    """None until the database is asked for."""
    rest_port: int | None = None
    """None until the HTTP endpoint is asked for."""

    @classmethod
    def choose(cls) -> "SandboxState":
        """Free ports and new secrets."""
        kafka = free_port()
        controller = free_port(taken=frozenset({kafka}))
        return cls(
            kafka_port=kafka,
            controller_port=controller,
            airflow_port=free_port(taken=frozenset({kafka, controller})),
            admin_password=secrets.token_urlsafe(16),
            # Fernet asks for 32 bytes in URL-safe base64.
            fernet_key=base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            # Airflow signs with HS512, which asks for 64 bytes.
            api_secret_key=secrets.token_urlsafe(64),
            jwt_secret=secrets.token_urlsafe(64),
        )

    def with_free_broker_ports(self) -> "SandboxState":
        """The same state where its broker ports are free, else with others. Ask only while the broker is down."""
        return self._with_free("kafka_port")._with_free("controller_port")

    def with_free_airflow_port(self) -> "SandboxState":
        """The same state where its Airflow port is free, else with another. Ask only while the API server is down."""
        return self._with_free("airflow_port")

    def with_free_postgres_port(self) -> "SandboxState":
        """The same state where its database port is chosen and free, else with another. Ask only while the database is down."""
        return self._with_free("postgres_port")

    def with_free_rest_port(self) -> "SandboxState":
        """The same state where its endpoint's port is chosen and free, else with another. Ask only while the endpoint is down."""
        return self._with_free("rest_port")

    def _with_free(self, name: str) -> "SandboxState":
        port: int | None = getattr(self, name)
        if port is not None and is_free(port):
            return self
        chosen = (self.kafka_port, self.controller_port, self.airflow_port, self.postgres_port, self.rest_port)
        taken = frozenset(port for port in chosen if port is not None)
        # mypy cannot know that the names above are those of integer fields.
        return replace(self, **{name: free_port(taken=taken)})  # type: ignore[arg-type]


def load_state(path: Path) -> SandboxState | None:
    """The recorded choices, or None before the first start; keys of a newer version are skipped."""
    content = read_json(path)
    if content is None:
        return None
    known = {f.name: content[f.name] for f in fields(SandboxState) if f.name in content}
    try:
        return SandboxState(**known)
    except TypeError as error:
        raise SandboxError(f"{path} is incomplete ({error}): run `streamops-sandbox reset`") from error


def save_state(path: Path, state: SandboxState) -> None:
    """Record the choices, readable by the owner only."""
    write_json(path, asdict(state))
