"""Where `RunTrigger` lay before: rows in Airflow's database name this place, and a task of theirs may wait for days."""

from streamops.airflow.triggers.run import RunTrigger

__all__ = ["RunTrigger"]
