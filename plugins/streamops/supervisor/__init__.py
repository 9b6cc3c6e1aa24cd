"""Observe → decide → act: the same supervision for Airflow, for `streamops supervise` and for tests."""

from streamops.supervisor.decide import decide
from streamops.supervisor.decision import Action, Decision
from streamops.supervisor.supervisor import Look, Supervisor

__all__ = ["Action", "Decision", "Look", "Supervisor", "decide"]
