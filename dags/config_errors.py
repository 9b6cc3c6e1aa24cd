"""What is wrong in the settings file: red as long as anything is, and the one place where that is red. No stream stops for it."""

from datetime import timedelta

from airflow.sdk import task

from streamops.airflow.config_errors import doc_of, fail_with
from streamops.airflow.declared_fleet import declared_fleet
from streamops.airflow.explicit_dag import explicit_dag

fleet = declared_fleet(__file__, "config_errors")

# The DAG goes away by itself.
if fleet.has_problems:
    with explicit_dag(
        fleet.dag_id("streamops_config_errors"),
        description="What is wrong in the settings file",
        schedule=timedelta(minutes=5),
        doc=doc_of(fleet.settings),
    ):

        @task
        def report() -> None:
            """Fail with everything that is wrong."""
            fail_with(fleet.settings)

        report()
