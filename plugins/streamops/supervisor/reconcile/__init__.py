"""Declared against real: what runs that should not, what should run and does not, and what nobody looks after."""

from streamops.supervisor.reconcile.facts import Declared
from streamops.supervisor.reconcile.finding import Finding, FindingKind, Severity
from streamops.supervisor.reconcile.look import Doors
from streamops.supervisor.reconcile.pruner import Pruner
from streamops.supervisor.reconcile.reconciler import Reconciler, Report
from streamops.supervisor.reconcile.rules import reconcile

__all__ = ["Declared", "Doors", "Finding", "FindingKind", "Pruner", "Reconciler", "Report", "Severity", "reconcile"]
