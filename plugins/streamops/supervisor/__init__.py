"""Observe → decide → act: the same supervision for Airflow, for `streamops supervise` and for tests."""

from streamops.supervisor.decide import Action, Decision, decide
from streamops.supervisor.supervisor import Look, Supervisor

__all__ = ["Action", "Decision", "Look", "Supervisor", "decide"]
