"""Where `ActTrigger` lay before: rows in Airflow's database name this place, and a task of theirs may wait for days."""

from streamops.airflow.triggers.act import ActTrigger

__all__ = ["ActTrigger"]
