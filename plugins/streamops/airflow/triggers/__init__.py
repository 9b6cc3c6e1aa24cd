"""What tasks and DAGs wait for. The triggers look and never act.

Airflow keeps the place of a trigger's class in its database, `streamops.airflow.triggers.StreamTrigger` among them.
"""

from streamops.airflow.triggers.stream import StreamTrigger

__all__ = ["StreamTrigger"]
