"""Observe → decide → act: the same supervision for Airflow, for `streamops supervise` and for tests."""

from streamops.supervision.decide import decide
from streamops.supervision.decision import Action, Decision
from streamops.supervision.supervisor import Look, Supervisor

__all__ = ["Action", "Decision", "Look", "Supervisor", "decide"]
