"""Declared against real: what runs that should not, what should run and does not, and what nobody looks after."""

from streamops.reconcile.facts import DeclaredStreams
from streamops.reconcile.finding import FindingKind, ReconcileFinding, ReconcileSeverity
from streamops.reconcile.observe import ReconcilePorts
from streamops.reconcile.pruner import Pruner
from streamops.reconcile.reconciler import Reconciler, Report
from streamops.reconcile.rules import reconcile

__all__ = [
    "DeclaredStreams",
    "FindingKind",
    "Pruner",
    "ReconcileFinding",
    "ReconcilePorts",
    "ReconcileSeverity",
    "Reconciler",
    "Report",
    "reconcile",
]
