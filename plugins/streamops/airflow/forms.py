"""What the forms of several DAGs ask."""

from typing import Any

from airflow.sdk import Param

from streamops.settings import Settings


def stream_param(settings: Settings) -> Param:
    """One of the declared streams. A JSON schema knows no empty enum: without streams any name is taken, and refused later."""
    streams = [spec.name for spec in settings.streams]
    choice: dict[str, Any] = {"enum": streams} if streams else {"minLength": 1}
    return Param(type="string", title="Stream", **choice)


def reason_param() -> Param:
    """Why."""
    return Param(type="string", title="Reason", minLength=1, description="Why, for the record: others will read it.")
