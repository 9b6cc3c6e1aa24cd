"""Where `RunDueTrigger` lay before: rows in Airflow's database name this place until the DAGs are parsed again."""

from streamops.airflow.triggers.run_due import RunDueTrigger

__all__ = ["RunDueTrigger"]
