"""Compares what is declared with what runs, every minute: red while a stream is lost, doubled, unsupervised, parked or ill."""

from datetime import timedelta

from airflow.sdk import task

from streamops.airflow.declared_fleet import declared_fleet
from streamops.airflow.explicit_dag import URGENT, explicit_dag
from streamops.airflow.reconciling import run_reconciler

fleet = declared_fleet(__file__, "reconcile")

if fleet.has_streams:
    with explicit_dag(
        fleet.dag_id("streamops_reconcile"),
        description="Compares what is declared with what runs: red while a stream is lost, unsupervised, parked or ill",
        schedule=timedelta(minutes=1),
        # The next run comes in a minute; a task that hangs must not keep it from coming.
        slice_limit=timedelta(minutes=5),
        run_limit=timedelta(minutes=10),
        weight=URGENT,
    ):

        @task
        def reconcile() -> None:
            """Compare, repair what is safe, and fail while something critical is left."""
            run_reconciler(fleet.config)

        reconcile()
