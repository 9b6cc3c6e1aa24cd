"""What the sandbox looks like at one moment."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from streamops_sandbox.orders import OrdersState


class Condition(StrEnum):
    """How a daemon is."""

    STOPPED = "stopped"
    RUNNING = "running"
    """Its process lives; nothing else is asked of it."""

    HEALTHY = "healthy"
    """Its process lives and does its work."""

    UNHEALTHY = "unhealthy"
    """Its process lives but does not answer, or has not reported yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus:
    """One daemon; `pid` is None while it is stopped."""

    name: str
    condition: Condition
    pid: int | None
    log: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxStatus:
    """All daemons, where they answer, and how far the order generator has got.

    The addresses are those chosen at the last start, None before the first.
    """

    daemons: tuple[DaemonStatus, ...]
    kafka_bootstrap: str | None
    airflow_url: str | None
    airflow_passwords: Path
    orders: OrdersState | None

    @property
    def is_down(self) -> bool:
        """Whether no daemon lives."""
        return all(daemon.condition is Condition.STOPPED for daemon in self.daemons)
